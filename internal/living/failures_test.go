package living

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// The success of a part of publishing does not hide the failure of the other.
func TestFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var all failures
		if all.latest() != nil || all.stuck() || all.hopelessAfter(0) {
			t.Error("a failure of nothing")
		}
		all.record(indexing, 1, errBroken)
		all.record(publishing, 2, ErrFull)
		all.record(publishing, 3, nil)
		if f := all.latest(); f == nil || !errors.Is(f.err, errBroken) || all.stuck() {
			t.Errorf("%+v fails, want the first attempt", f)
		}
		time.Sleep(maxPublishWait + 1)
		all.record(publishing, 4, ErrFull)
		all.record(indexing, 5, errBroken)
		if f := all.latest(); f == nil || f.last != 5 || !all.stuck() {
			t.Errorf("%+v fails, want the last attempt since %v", f, maxPublishWait)
		}
		all.record(indexing, 6, nil)
		if f := all.latest(); f == nil || f.last != 4 || all.stuck() || !all.hopelessAfter(3) || all.hopelessAfter(4) {
			t.Errorf("%+v fails, want the attempt on a full disk", f)
		}
	})
}

// blocked makes the creation of folders fail, with which batches and segments begin, and counts the failures.
type blocked struct {
	vfs.FS
	on     atomic.Bool
	failed atomic.Int64
}

func (b *blocked) Mkdir(dir string) error {
	if b.on.Load() {
		b.failed.Add(1)
		return errBroken
	}
	return b.FS.Mkdir(dir)
}

// A refresh repeats both the opening of a batch and the publishing of another soon, but many refreshes do not repeat them
// much more often.
func TestRefreshRepeatsWhatFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &blocked{FS: vfstest.NewMem()}
		ix := create(t, b, "ix")
		s, err := Open(t.Context(), b, ix, Options{RefreshInterval: -1, OnError: func(error) {}})
		check(t, err)
		refresh := func(most time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), most)
			defer cancel()
			if err := s.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrBusy) {
				t.Fatalf("a refresh: %v", err)
			}
		}
		write := func(id string) {
			_, err := s.Apply(t.Context(), []Op{put(id)})
			check(t, err)
			synctest.Wait()
		}
		write("a")
		b.on.Store(true)
		refresh(time.Millisecond)
		write("b")
		time.Sleep(10 * time.Second)
		for range 5 {
			time.Sleep(maxPublishWait + 17*time.Millisecond)
			began, before := time.Now(), b.failed.Load()
			refresh(minAgainWait + time.Millisecond)
			time.Sleep(minAgainWait + time.Millisecond - time.Since(began))
			synctest.Wait()
			if n := b.failed.Load() - before; n != numParts {
				t.Errorf("%d attempts after a refresh, want one of each part", n)
			}
		}
		before := b.failed.Load()
		const many = 1000
		for range many {
			refresh(time.Millisecond)
		}
		if n, most := b.failed.Load()-before, int64(numParts*(many*time.Millisecond/minAgainWait+1)); n < most/2 || n > most {
			t.Errorf("%d attempts in %d refreshes, want about %d", n, many, most)
		}
		b.on.Store(false)
		time.Sleep(2 * maxPublishWait)
		check(t, s.Refresh(t.Context()))
		if n := visibleDocs(t, ix); n != 2 {
			t.Errorf("%d documents, want 2", n)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}
