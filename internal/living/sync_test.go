package living

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func visibleDocs(t testing.TB, ix *index.Index) int {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	return s.NumLive
}

func put(id string) Op { return Op{Doc: &corpus.Document{ID: id, Text: "griffin"}} }

// A write is visible at the next tick of the refresh interval, not before.
func TestRefreshInterval(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		s := open(t, mem, ix, Options{}) // a second
		for i := range 5 {
			time.Sleep(300 * time.Millisecond)
			_, err := s.Apply(t.Context(), []Op{put(fmt.Sprint(i))})
			check(t, err)
			time.Sleep(699 * time.Millisecond)
			if n := visibleDocs(t, ix); n != i {
				t.Errorf("before tick %d: %d documents", i, n)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if n := visibleDocs(t, ix); n != i+1 {
				t.Errorf("at tick %d: %d documents", i, n)
			}
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

// Without an interval, a full batch and Refresh make writes visible, and nothing else.
func TestRefreshOnRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		s := open(t, mem, ix, Options{RefreshInterval: -1, MemoryBytes: 40_000})
		_, err := s.Apply(t.Context(), []Op{put("a")})
		check(t, err)
		time.Sleep(time.Hour)
		if n := visibleDocs(t, ix); n != 0 {
			t.Errorf("%d documents after an hour", n)
		}
		check(t, s.Refresh(t.Context()))
		if n := visibleDocs(t, ix); n != 1 {
			t.Errorf("%d documents after Refresh", n)
		}
		large := put("b")
		large.Doc.Text = strings.Repeat("griffin ", 3000) // more than half of the memory
		_, err = s.Apply(t.Context(), []Op{large})
		check(t, err)
		synctest.Wait()
		if n := visibleDocs(t, ix); n != 2 {
			t.Errorf("%d documents after a full batch", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Apply(t.Context(), []Op{put("c")})
		check(t, err)
		if err := s.Refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Refresh with a cancelled context: %v", err)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

// broken makes the creation of files fail.
type broken struct {
	vfs.FS
	files  string // a part of their names
	mu     sync.Mutex
	fail   error
	failed []time.Time
}

func (b *broken) Create(name string) (vfs.File, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil && strings.Contains(name, b.files) {
		if n := len(b.failed); n == 0 || !b.failed[n-1].Equal(time.Now()) { // else of the same attempt
			b.failed = append(b.failed, time.Now())
		}
		return nil, b.fail
	}
	return b.FS.Create(name)
}

func (b *broken) set(fail error) (failed []time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed, b.failed, b.fail = b.failed, nil, fail
	return failed
}

// While publishing takes long, writes are accepted up to MemoryBytes, then wait, and after MaxWait are
// refused; when it is done, those that wait go on.
func TestBackPressure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &broken{FS: vfstest.NewMem(), files: "seg-"}
		ix := create(t, b, "ix")
		const maxWait = maxPublishWait / 2
		release := make(chan struct{})
		opts := Options{RefreshInterval: -1, MemoryBytes: 20 * itemBytes, MaxWait: maxWait, OnError: func(error) { <-release }}
		s, err := Open(t.Context(), b, ix, opts)
		check(t, err)
		b.set(errBroken) // once
		apply := func(id int) (time.Duration, error) {
			began := time.Now()
			_, err := s.Apply(t.Context(), []Op{put(fmt.Sprint(id))})
			return time.Since(began), err
		}
		accepted := 0
		for {
			took, err := apply(accepted)
			if errors.Is(err, ErrBusy) {
				if took < maxWait || took > maxWait+10*time.Millisecond {
					t.Errorf("refused after %v, want %v", took, maxWait)
				}
				break
			}
			check(t, err)
			if accepted++; took != 0 || accepted > 20 {
				t.Fatalf("write %d was accepted after %v", accepted, took)
			}
		}
		if accepted < 15 { // a document takes few more bytes than itemBytes
			t.Errorf("%d writes were accepted", accepted)
		}
		ctx, cancel := context.WithTimeout(t.Context(), maxWait/4)
		defer cancel()
		if _, err := s.Apply(ctx, []Op{put("x")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a write with a deadline: %v", err)
		}
		b.set(nil)
		time.AfterFunc(maxWait/4, func() { close(release) })
		took, err := apply(accepted)
		if err != nil || took < maxWait/4 || took > maxWait/4+30*time.Millisecond {
			t.Errorf("a write when publishing goes on: %v after %v, want after %v", err, took, maxWait/4)
		}
		check(t, s.Refresh(t.Context()))
		if n := visibleDocs(t, ix); n != accepted+1 {
			t.Errorf("%d documents, %d writes were accepted", n, accepted+1)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

var errBroken = errors.New("broken")

// A merge that fails for ever is repeated at growing intervals up to a minute and seldom reported;
// while writes wait for it, every second.
func TestMergeBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := &broken{FS: vfstest.NewMem(), files: "seg-"}
		ix := create(t, g, "ix")
		w, err := ix.Writer(index.WriterOptions{})
		check(t, err)
		for i := range segmentsPerLevel + 1 {
			check(t, errors.Join(w.Add(put(fmt.Sprint(i)).Doc), w.Commit(t.Context())))
		}
		check(t, w.Close())
		var reported errorLog
		g.set(errBroken)
		s, err := Open(t.Context(), g, ix, Options{RefreshInterval: -1, MaxSegments: 3, MaxWait: 10 * time.Second, OnError: reported.add})
		check(t, err)
		time.Sleep(time.Hour)
		failed := g.set(errBroken)
		if n := len(failed); n < 60 || n > 75 {
			t.Errorf("%d attempts in an hour", n)
		}
		if pause := failed[len(failed)-1].Sub(failed[len(failed)-2]); pause != maxWorkWait {
			t.Errorf("%v between the last attempts, want %v", pause, maxWorkWait)
		}
		reports := reported.all()
		if n := len(reports); n < 10 || n > 20 || !strings.Contains(fmt.Sprint(reports[n-1]), "failures in") || !errors.Is(reports[n-1], errBroken) {
			t.Errorf("%d reports in an hour, the last: %v", n, reports[n-1])
		}
		n := len(reports)
		g.set(errors.New("another problem"))
		time.Sleep(2 * maxWorkWait)
		if reports = reported.all(); len(reports) == n || !strings.Contains(fmt.Sprint(reports[n]), "another problem") {
			t.Errorf("another error was not reported: %v", reports[n:])
		}
		g.set(errBroken)
		if _, err := s.Apply(t.Context(), []Op{put("a")}); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "9 segments wait to be merged") {
			t.Errorf("a write: %v, want ErrBusy", err)
		}
		if n := len(g.set(errBroken)); n < 9 || n > 11 {
			t.Errorf("%d attempts while a write waited for 10 s", n)
		}
		time.AfterFunc(5*time.Second, func() { g.set(nil) })
		began := time.Now()
		_, err = s.Apply(t.Context(), []Op{put("a")})
		check(t, err)
		if took := time.Since(began); took > 5*time.Second+2*hurriedWait {
			t.Errorf("a write went on %v after merges did", took-5*time.Second)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

// The store merges neighbours of a level when it has too many, and segments with many deletions, at
// once and without a request.
func TestMergesInBackground(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		s := open(t, mem, ix, Options{RefreshInterval: -1})
		write := func(ops ...Op) {
			t.Helper()
			_, err := s.Apply(t.Context(), ops)
			check(t, err)
			check(t, s.Refresh(t.Context()))
			time.Sleep(time.Second)
		}
		for i := range segmentsPerLevel {
			write(put(fmt.Sprint(i)))
		}
		if n := numSegments(s.ix); n != segmentsPerLevel {
			t.Errorf("%d segments, want %d", n, segmentsPerLevel)
		}
		write(put("last"))
		if n := numSegments(s.ix); n != 1 {
			t.Errorf("%d segments after one too many, want 1", n)
		}
		write(Op{Kind: Delete, Doc: put("0").Doc})
		if docs := s.sizes(t); docs[0].NumDocs != 9 {
			t.Errorf("%+v after a deletion of 11 %%: want no merge", docs)
		}
		write(Op{Kind: Delete, Doc: put("1").Doc})
		if docs := s.sizes(t); docs[0].NumDocs != 7 {
			t.Errorf("%+v after a deletion of 22 %%: want a merge", docs)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

func (s *Store) sizes(t testing.TB) (sizes []index.SegmentSize) {
	t.Helper()
	snapshot, err := s.ix.Snapshot()
	check(t, err)
	defer snapshot.Release()
	for i := range snapshot.Segments {
		v := &snapshot.Segments[i]
		size := index.SegmentSize{NumDocs: v.NumDocs(), NumLive: v.NumDocs()}
		if v.Live != nil {
			size.NumLive = v.Live.Count()
		}
		sizes = append(sizes, size)
	}
	return sizes
}

// A log of FlushBytes is committed in the background. A commit that fails is repeated at growing
// intervals.
func TestFlushInBackground(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := &broken{FS: vfstest.NewMem(), files: "MANIFEST"}
		ix := create(t, b, "ix")
		var reported errorLog
		s, err := Open(t.Context(), b, ix, Options{RefreshInterval: -1, FlushBytes: 2000, OnError: reported.add})
		check(t, err)
		durable := func() uint64 {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.flushed
		}
		write := func(n int) {
			t.Helper()
			for i := range n {
				_, err := s.Apply(t.Context(), []Op{put(fmt.Sprint(i))})
				check(t, err)
			}
			check(t, s.Refresh(t.Context()))
		}
		write(5)
		if n := durable(); n != 0 {
			t.Errorf("committed to %d before the log is long", n)
		}
		write(100)
		if n := durable(); n != 105 {
			t.Errorf("committed to %d, want 105", n)
		}
		b.set(errBroken)
		before := durable()
		write(100)
		time.Sleep(time.Hour)
		if n, reports := durable(), len(reported.all()); n != before || reports < 5 || reports > 25 {
			t.Errorf("committed to %d, then %d; %d reports", before, n, reports)
		}
		if n := len(b.set(nil)); n < 60 || n > 75 {
			t.Errorf("%d attempts in an hour", n)
		}
		time.Sleep(maxWorkWait)
		if n := durable(); n != 205 {
			t.Errorf("committed to %d after it works again, want 205", n)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}
