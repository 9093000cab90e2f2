package living

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/internal/wal"
)

func (m *model) put(t testing.TB, k *Kept, id string) error {
	t.Helper()
	op := put(id)
	r, err := k.Apply(t.Context(), []Op{op})
	if err == nil {
		m.apply(op, r[0].Version.Seq)
	}
	return err
}

// After a failed sync of the log, or of a segment, a Kept is down for a moment, and goes on by itself.
// All acknowledged writes are there.
func TestKeepAfterFailedSync(t *testing.T) {
	for _, ofLog := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			d := vfstest.NewDisk()
			ix := create(t, d, "ix")
			k, err := Keep(t.Context(), d, ix, Options{RefreshInterval: -1})
			check(t, err)
			m := &model{states: map[string]state{}}
			check(t, m.put(t, k, "a"))
			check(t, k.Flush(t.Context()))
			check(t, m.put(t, k, "b"))
			d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs = 1 })
			if ofLog {
				if err := m.put(t, k, "unknown"); !errors.Is(err, wal.ErrFailed) || !errors.Is(err, syscall.EIO) {
					t.Errorf("a write whose sync failed: %v", err)
				}
			} else if err := k.Flush(t.Context()); !errors.Is(err, index.ErrSyncFailed) {
				t.Errorf("Flush: %v", err)
			}
			if err := m.put(t, k, "c"); !errors.Is(err, ErrDown) || !errors.Is(err, syscall.EIO) || errors.Is(err, base.ErrClosed) {
				t.Errorf("a write while it is down: %v", err)
			}
			time.Sleep(2 * minReopenWait)
			check(t, m.put(t, k, "c"))
			if ofLog {
				_, v, _, err := k.Get("unknown")
				check(t, err)
				if v.Seq != 0 {
					m.apply(put("unknown"), v.Seq)
				}
			}
			check(t, k.Refresh(t.Context()))
			m.same(t, ix)
			check(t, k.Merge(t.Context(), 1))
			check(t, k.Flush(t.Context()))
			check(t, k.Close(t.Context()))
			check(t, k.Close(t.Context()))
			if err := m.put(t, k, "d"); !errors.Is(err, base.ErrClosed) {
				t.Errorf("a write after Close: %v", err)
			}
			check(t, ix.Close())
			ix, err = index.Open(d.AfterCrash(rand.New(rand.NewPCG(1, 1))), "ix")
			check(t, err)
			m.same(t, ix)
			check(t, ix.Close())
		})
	}
}

// A Kept that is opened on a full or read-only disk answers searches of the last commit, gives the
// reason for taking no writes, and takes them when there is room.
func TestKeepWithoutRoom(t *testing.T) {
	for _, test := range []struct {
		want       error
		checkpoint bool
	}{{want: ErrFull}, {want: ErrDenied}, {want: ErrReadOnly}, {want: ErrReadOnly, checkpoint: true}} {
		want, checkpoint := test.want, test.checkpoint
		bubble(t, func(t *testing.T) {
			d := vfstest.NewDisk()
			ix := create(t, d, "ix")
			s := open(t, d, ix, Options{RefreshInterval: -1})
			m := &model{states: map[string]state{}}
			check(t, fill(t, s, m, 50))
			check(t, s.Flush(t.Context()))
			check(t, fill(t, s, m, 50))
			if checkpoint {
				check(t, s.Refresh(t.Context()))
				check(t, s.live.Checkpoint(t.Context()))
			}
			last := uint64(s.log.Stats().Last)
			killed := d.AfterKill()
			check(t, s.Close(t.Context()))
			check(t, ix.Close())

			ix, err := index.Open(killed, "ix")
			check(t, err)
			capacity := killed.Used()
			room := func(full bool) {
				killed.Change(func(f *vfstest.DiskFaults) {
					if f.Capacity, f.ReadOnly, f.Denied = 0, full && errors.Is(want, ErrReadOnly), full && errors.Is(want, ErrDenied); full {
						f.Capacity = capacity
					}
				})
			}
			room(true)
			for range 2 {
				var reported errorLog
				k, err := Keep(t.Context(), killed, ix, Options{OnError: reported.add})
				check(t, err)
				if answer := ranking(t, ix, "griffin", plan.Options{K: 1, Count: true}); !strings.HasPrefix(answer, "50 matches") {
					t.Errorf("while it is down: %s", answer)
				}
				time.Sleep(time.Hour)
				if err := m.put(t, k, "x"); !errors.Is(err, ErrDown) || !errors.Is(err, want) {
					t.Errorf("a write while it is down: %v, want %v", err, want)
				}
				if n := len(reported.all()); n < 5 || n > 60 {
					t.Errorf("%d errors reported", n)
				}
				if err := k.Close(t.Context()); !errors.Is(err, want) {
					t.Errorf("Close while it is down: %v", err)
				}
			}
			k, err := Keep(t.Context(), killed, ix, Options{})
			check(t, err)
			time.Sleep(time.Minute)
			room(false)
			time.Sleep(maxReopenWait + 3*maxPublishWait)
			k.mu.Lock()
			adopted := k.store.adopted
			k.mu.Unlock()
			if checkpoint && adopted != last {
				t.Errorf("adopted up to record %d, want %d: the checkpoint is lost", adopted, last)
			}
			check(t, m.put(t, k, "x"))
			check(t, k.Refresh(t.Context()))
			m.same(t, ix)
			check(t, k.Close(t.Context()))
			check(t, ix.Close())
		})
	}
}

// A checkpoint that cannot be copied on a full disk leaves its room to the log: all writes are visible.
func TestKeepFullWithCheckpoint(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := vfstest.NewDisk()
		ix := create(t, d, "ix")
		s := open(t, d, ix, Options{RefreshInterval: -1})
		m := &model{states: map[string]state{}}
		check(t, fill(t, s, m, 50))
		check(t, s.Flush(t.Context()))
		check(t, fill(t, s, m, 50))
		check(t, s.Refresh(t.Context()))
		check(t, s.live.Checkpoint(t.Context()))
		killed := d.AfterKill()
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
		capacity := killed.Used()
		killed.Change(func(f *vfstest.DiskFaults) { f.Capacity = capacity })
		ix, err := index.Open(killed, "ix")
		check(t, err)
		k, err := Keep(t.Context(), killed, ix, Options{RefreshInterval: -1})
		check(t, err)
		m.same(t, ix)
		killed.Change(func(f *vfstest.DiskFaults) { f.Capacity = 0 })
		check(t, k.Close(t.Context()))
		check(t, ix.Close())
	})
}

// Errors of other kinds are of Keep.
func TestKeepLocked(t *testing.T) {
	mem := vfstest.NewMem()
	ix := create(t, mem, "ix")
	s := open(t, mem, ix, Options{})
	if _, err := Keep(t.Context(), mem, ix, Options{}); !errors.Is(err, base.ErrLocked) {
		t.Errorf("Keep: %v, want ErrLocked", err)
	}
	check(t, s.Close(t.Context()))
	check(t, ix.Close())
}

// The refresh interval and the mode of the log change at once, and a store that is down gets them when it is opened
// again.
func TestChangeOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := vfstest.NewDisk()
		ix := create(t, d, "ix")
		k, err := Keep(t.Context(), d, ix, Options{RefreshInterval: -1})
		check(t, err)
		m := &model{states: map[string]state{}}
		visibleAfter := func(id string, interval time.Duration) {
			t.Helper()
			before := visibleDocs(t, ix)
			check(t, m.put(t, k, id))
			time.Sleep(interval - time.Millisecond)
			if n := visibleDocs(t, ix); n != before {
				t.Errorf("%s is visible before %v", id, interval)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if n := visibleDocs(t, ix); n != before+1 {
				t.Errorf("%s is not visible after %v", id, interval)
			}
		}
		durable := func() bool {
			s := k.store.log.Stats()
			return s.Durable == s.Last
		}
		check(t, m.put(t, k, "a"))
		time.Sleep(time.Hour)
		if n := visibleDocs(t, ix); n != 0 {
			t.Errorf("%d documents are visible without an interval", n)
		}
		check(t, k.SetRefreshInterval(100*time.Millisecond))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		visibleAfter("b", 100*time.Millisecond)
		check(t, k.SetRefreshInterval(time.Minute))
		synctest.Wait()
		visibleAfter("c", time.Minute)
		check(t, k.SetRefreshInterval(0)) // a second
		synctest.Wait()
		visibleAfter("d", time.Second)
		if !durable() {
			t.Error("a write is not durable when it is acknowledged")
		}
		check(t, k.SetSync(wal.ModeInterval, time.Hour))
		check(t, m.put(t, k, "e"))
		if durable() {
			t.Error("the log does not wait for the interval")
		}
		check(t, k.SetSync(wal.ModeRequest, 0))
		if !durable() {
			t.Error("an acknowledged write is not durable with ModeRequest")
		}
		check(t, k.Refresh(t.Context()))

		d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs = 1 })
		if err := m.put(t, k, "unknown"); !errors.Is(err, wal.ErrFailed) {
			t.Errorf("a write whose sync failed: %v", err)
		}
		check(t, k.SetSync(wal.ModeInterval, time.Hour)) // while it is down
		check(t, k.SetRefreshInterval(-1))
		time.Sleep(2 * minReopenWait)
		check(t, m.put(t, k, "f"))
		if durable() {
			t.Error("the mode is lost")
		}
		before := visibleDocs(t, ix)
		time.Sleep(time.Hour)
		if n := visibleDocs(t, ix); n != before {
			t.Errorf("%d documents are visible after an hour without an interval, %d before", n, before)
		}
		check(t, k.Close(t.Context()))
		if err := k.SetRefreshInterval(1); !errors.Is(err, base.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if err := k.SetSync(wal.ModeAsync, 0); !errors.Is(err, base.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		check(t, ix.Close())
	})
}

// An operation during which the store goes down has the reason for it, but not that the store is closed.
func TestKeepGoesDownMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := vfstest.NewDisk()
		ix := create(t, d, "ix")
		k, err := Keep(t.Context(), d, ix, Options{RefreshInterval: -1})
		check(t, err)
		err = k.use(func(s *Store) error {
			why := errors.Join(errClosed, fmt.Errorf("index: %w", base.ErrRemoved), &fs.PathError{Op: "stat", Path: "ix", Err: syscall.ENOENT})
			k.failed(why)
			return errClosed
		})
		var at *fs.PathError
		if !errors.Is(err, ErrDown) || !errors.Is(err, base.ErrRemoved) || !errors.Is(err, base.ErrNotIndex) || !errors.As(err, &at) {
			t.Errorf("the reason is lost: %v", err)
		}
		if errors.Is(err, base.ErrClosed) || errors.Is(err, errClosed) {
			t.Errorf("closed: %v", err)
		}
		time.Sleep(2 * minReopenWait)
		check(t, k.Close(t.Context()))
		check(t, ix.Close())
	})
}
