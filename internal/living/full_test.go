package living

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// fill writes documents until one is refused, and returns the error.
func fill(t *testing.T, s *Store, m *model, most int) error {
	t.Helper()
	for range most {
		op := Op{Doc: &corpus.Document{ID: fmt.Sprint(len(m.states)), Text: strings.Repeat("griffin ", 20)}}
		began := time.Now()
		r, err := s.Apply(t.Context(), []Op{op})
		if took := time.Since(began); took > 2*maxPublishWait {
			t.Errorf("a write took %v: %v", took, err)
		}
		if err != nil {
			return err
		}
		m.apply(op, r[0].Version.Seq)
	}
	return nil
}

// The disk is full, or read-only, for ten minutes: writes are refused at once with what to do, searches
// go on, few errors are reported, and writes go on by themselves afterwards. Nothing that was
// acknowledged is lost, and nothing that was refused is there.
func TestNoRoom(t *testing.T) {
	for _, test := range []struct {
		room     int // bytes
		readOnly bool
		denied   bool
		want     error
		system   error
		advice   string
	}{
		{room: 1, want: ErrFull, system: syscall.ENOSPC, advice: "free space"},
		{room: 1000, want: ErrFull, system: syscall.ENOSPC, advice: "free space"},
		{room: 20_000, want: ErrFull, system: syscall.ENOSPC, advice: "free space"},
		{room: 100_000, want: ErrFull, system: syscall.ENOSPC, advice: "free space"},
		{readOnly: true, want: ErrReadOnly, system: syscall.EROFS, advice: "make it writable"},
		{denied: true, want: ErrDenied, system: syscall.EACCES, advice: "change the owner or mode"},
	} {
		bubble(t, func(t *testing.T) {
			d := vfstest.NewDisk()
			ix := create(t, d, "ix")
			var reported errorLog
			opts := Options{RefreshInterval: 20 * time.Millisecond, MemoryBytes: 16 << 10, FlushBytes: 64 << 10, OnError: reported.add}
			s, err := Open(t.Context(), d, ix, opts)
			check(t, err)
			m := &model{states: map[string]state{}}
			check(t, fill(t, s, m, 100))
			check(t, s.Flush(t.Context()))
			visible := len(m.ids())
			capacity := d.Used() + test.room
			d.Change(func(f *vfstest.DiskFaults) { f.Capacity, f.ReadOnly, f.Denied = capacity, test.readOnly, test.denied })
			for range 60 {
				err := fill(t, s, m, 2000)
				if !errors.Is(err, test.want) || !errors.Is(err, test.system) || !strings.Contains(err.Error(), test.advice) || !strings.Contains(err.Error(), "index ix") {
					t.Fatalf("room %d: %v", test.room, err)
				}
				time.Sleep(10 * time.Second)
			}
			found := 0
			answer := ranking(t, ix, "griffin", plan.Options{K: 1, Count: true})
			if _, err := fmt.Sscanf(answer, "%d matches", &found); err != nil || found < visible || found > len(m.ids()) {
				t.Errorf("room %d: %s, want %d to %d: %v", test.room, answer, visible, len(m.ids()), err)
			}
			if err := s.Refresh(t.Context()); err != nil && !errors.Is(err, test.want) {
				t.Errorf("room %d: Refresh: %v", test.room, err)
			}
			if n := len(reported.all()); n > 40 {
				t.Errorf("room %d: %d errors reported", test.room, n)
			}
			began := time.Now()
			if err := s.Flush(t.Context()); err != nil && !errors.Is(err, test.want) || time.Since(began) > maxPublishWait/10 {
				t.Errorf("room %d: Flush after %v: %v", test.room, time.Since(began), err)
			}
			d.Change(func(f *vfstest.DiskFaults) { f.Capacity, f.ReadOnly, f.Denied = 0, false, false })
			time.Sleep(2 * maxPublishWait)
			if err := fill(t, s, m, 100); err != nil {
				t.Errorf("room %d: with room again: %v", test.room, err)
			}
			check(t, s.Refresh(t.Context()))
			m.same(t, ix)
			check(t, s.Flush(t.Context()))
			check(t, s.Close(t.Context()))
			check(t, ix.Close())
			ix, err = index.Open(d.AfterCrash(rand.New(rand.NewPCG(1, 1))), "ix")
			check(t, err)
			m.same(t, ix)
			check(t, ix.Close())
		})
	}
}

// A store whose log has more than is committed does not open on a full disk, and does when there is
// room.
func TestOpenWithoutRoom(t *testing.T) {
	for _, want := range []error{ErrFull, ErrReadOnly, ErrDenied} {
		bubble(t, func(t *testing.T) {
			d := vfstest.NewDisk()
			ix := create(t, d, "ix")
			s := open(t, d, ix, Options{RefreshInterval: -1})
			m := &model{states: map[string]state{}}
			check(t, fill(t, s, m, 100))
			killed := d.AfterKill()
			check(t, s.Close(t.Context()))
			check(t, ix.Close())
			ix, err := index.Open(killed, "ix")
			check(t, err)
			capacity := killed.Used()
			killed.Change(func(f *vfstest.DiskFaults) {
				f.Capacity, f.ReadOnly, f.Denied = capacity, errors.Is(want, ErrReadOnly), errors.Is(want, ErrDenied)
			})
			began := time.Now()
			if _, err := Open(t.Context(), killed, ix, Options{}); !errors.Is(err, want) {
				t.Errorf("Open: %v, want %v", err, want)
			}
			if took := time.Since(began); took > 3*maxPublishWait {
				t.Errorf("Open took %v", took)
			}
			killed.Change(func(f *vfstest.DiskFaults) { f.Capacity, f.ReadOnly, f.Denied = 0, false, false })
			s = open(t, killed, ix, Options{})
			m.same(t, ix)
			check(t, s.Close(t.Context()))
			check(t, ix.Close())
		})
	}
}

// A flush, and a refresh, of a disk that takes no writes fail with the first attempt, although earlier ones have been
// repeated at longer and longer intervals. They succeed at once when there is room again.
func TestFlushWithoutRoom(t *testing.T) {
	for _, want := range []error{ErrFull, ErrReadOnly, ErrDenied} {
		bubble(t, func(t *testing.T) {
			d := vfstest.NewDisk()
			ix := create(t, d, "ix")
			var reported errorLog
			s, err := Open(t.Context(), d, ix, Options{RefreshInterval: -1, OnError: reported.add})
			check(t, err)
			m := &model{states: map[string]state{}}
			check(t, fill(t, s, m, 100))
			capacity := d.Used()
			d.Change(func(f *vfstest.DiskFaults) {
				f.Capacity, f.ReadOnly, f.Denied = capacity, errors.Is(want, ErrReadOnly), errors.Is(want, ErrDenied)
			})
			for range 5 {
				for _, do := range []func(context.Context) error{s.Flush, s.Refresh} {
					began := time.Now()
					if err := do(t.Context()); !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
					if took := time.Since(began); took > maxPublishWait/10 {
						t.Errorf("%v took %v", want, took)
					}
				}
				time.Sleep(time.Minute + 300*time.Millisecond)
			}
			d.Change(func(f *vfstest.DiskFaults) { f.Capacity, f.ReadOnly, f.Denied = 0, false, false })
			began := time.Now()
			check(t, s.Flush(t.Context()))
			if took := time.Since(began); took > maxPublishWait/10 {
				t.Errorf("with room again, Flush took %v", took)
			}
			m.same(t, ix)
			check(t, s.Close(t.Context()))
			check(t, ix.Close())
		})
	}
}

// The disk has no room for the manifest of a commit whose segments are synced already. Attempts leave nothing behind,
// and with room again the commit succeeds.
func TestManifestWithoutRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := vfstest.NewDisk()
		ix := create(t, d, "ix")
		s := open(t, d, ix, Options{RefreshInterval: -1})
		m := &model{states: map[string]state{}}
		for range 3 {
			check(t, fill(t, s, m, 100))
			check(t, s.Refresh(t.Context()))
		}
		used := d.Used()
		d.Change(func(f *vfstest.DiskFaults) { f.Capacity = used + 10 })
		for range 5 {
			if err := s.Flush(t.Context()); !errors.Is(err, ErrFull) {
				t.Fatalf("Flush: %v", err)
			}
			if d.Used() > used {
				t.Errorf("%d bytes used, before %d", d.Used(), used)
			}
			m.same(t, ix)
			time.Sleep(time.Minute)
		}
		killed := d.AfterCrash(rand.New(rand.NewPCG(1, 1)))
		killed.Change(func(f *vfstest.DiskFaults) { f.Capacity = 0 })
		beforeCrash := model{states: maps.Clone(m.states)}
		d.Change(func(f *vfstest.DiskFaults) { f.Capacity = 0 })
		check(t, s.Flush(t.Context()))
		check(t, fill(t, s, m, 100))
		check(t, s.Refresh(t.Context()))
		m.same(t, ix)
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
		again, err := index.Open(killed, "ix")
		check(t, err)
		s = open(t, killed, again, Options{})
		beforeCrash.same(t, again)
		check(t, s.Close(t.Context()))
		check(t, again.Close())
	})
}
