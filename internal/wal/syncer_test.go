package wal

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

const slowSync = 10 * time.Millisecond

// slowLog opens a log whose syncs take slowSync. The first file is there.
func slowLog(t *testing.T, opts Options) (*vfstest.Disk, *Dir) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, opts)
	mustAppend(t, l, "first")
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	d.Change(func(f *vfstest.DiskFaults) { f.SyncDelay = slowSync })
	return d, l
}

// Appends that come during a sync share the next one.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := slowLog(t, Options{})
		before := l.Stats().Syncs
		start := time.Now()
		const n = 100
		var wg sync.WaitGroup
		firsts := make([]Seq, n)
		for i := range n {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				firsts[i] = mustAppend(t, l, fmt.Sprint(i), "b")
				if s := l.Stats(); s.Durable < firsts[i]+1 {
					t.Errorf("Append of %d returned, durable to %d", firsts[i], s.Durable)
				}
			})
		}
		wg.Wait()
		if took, syncs := time.Since(start), l.Stats().Syncs-before; took != 2*slowSync || syncs != 2 {
			t.Errorf("%d Appends took %v and %d syncs, want 2 of %v", n, took, syncs, slowSync)
		}
		for i, first := range firsts {
			if want := Seq(2 + 2*i); first != want {
				t.Errorf("Append %d is at %d, want %d", i, first, want)
			}
		}
		mustClose(t, l)
	})
}

// A group has a limit, unless one Append exceeds it.
func TestGroupBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := slowLog(t, Options{})
		record := make([]byte, 1<<20)
		var wg sync.WaitGroup
		for range 3 * maxGroupBytes >> 20 {
			wg.Go(func() {
				if _, err := l.Append([]Record{{Payload: record}}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if most := maxGroupBytes + len(record) + 3*frameLen; d.LargestWrite() > most || d.LargestWrite() < maxGroupBytes/2 {
			t.Errorf("a write of %d bytes, want at most %d", d.LargestWrite(), most)
		}
		if _, err := l.Append([]Record{{Payload: make([]byte, 2*maxKeptBytes)}}); err != nil {
			t.Error(err)
		}
		for _, g := range l.pool.free {
			if cap(g.buf) > maxKeptBytes {
				t.Errorf("a buffer of %d bytes is kept", cap(g.buf))
			}
		}
		mustClose(t, l)
	})
}

// Those that wait for room in a group when the log stops return.
func TestGroupBytesStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := slowLog(t, Options{})
		d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs = 1 })
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, err := l.Append([]Record{{Payload: make([]byte, maxGroupBytes)}})
				if !errors.Is(err, ErrFailed) {
					t.Errorf("Append: %v, want ErrFailed", err)
				}
			})
		}
		wg.Wait()
		if err := l.Close(); !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
	})
}

func TestAsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := slowLog(t, Options{Mode: ModeAsync})
		before := d.NumSyncs()
		start := time.Now()
		for range 50 {
			mustAppend(t, l, "record")
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(start); took != 50*time.Millisecond {
			t.Errorf("Appends waited: %v", took)
		}
		time.Sleep(2 * slowSync)
		if s := l.Stats(); s.Durable != s.Last {
			t.Errorf("after two syncs: %+v", s)
		}
		if syncs := d.NumSyncs() - before; syncs != 6 { // one after the other
			t.Errorf("%d syncs in 60 ms, want 6", syncs)
		}
		mustAppend(t, l, "record")
		if err := l.Sync(); err != nil || l.Stats().Durable != 52 {
			t.Errorf("Sync: %v, %+v", err, l.Stats())
		}
		mustClose(t, l)
	})
}

func TestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := slowLog(t, Options{Mode: ModeInterval, Interval: time.Second})
		time.Sleep(time.Minute)
		before := d.NumSyncs()
		mustAppend(t, l, "a")
		time.Sleep(900 * time.Millisecond)
		mustAppend(t, l, "b")
		synctest.Wait()
		if s := l.Stats(); s.Durable != 1 || d.NumSyncs() != before {
			t.Errorf("before the interval: %+v, %d syncs", s, d.NumSyncs()-before)
		}
		time.Sleep(100*time.Millisecond + slowSync)
		synctest.Wait()
		if s := l.Stats(); s.Durable != 3 || d.NumSyncs() != before+1 {
			t.Errorf("after the interval: %+v, %d syncs", s, d.NumSyncs()-before)
		}
		time.Sleep(time.Hour)
		if d.NumSyncs() != before+1 {
			t.Errorf("%d syncs without Appends", d.NumSyncs()-before-1)
		}
		mustAppend(t, l, "c")
		mustClose(t, l) // does not wait for the interval
		l = mustOpen(t, d, Options{})
		if torn, ok := l.Torn(); ok || l.Stats().Durable != 4 {
			t.Errorf("after Close: %+v, %+v", torn, l.Stats())
		}
		mustClose(t, l)
	})
}

// A sync in the background fails: later Appends fail with it, also the ones that wait.
func TestBackgroundSyncFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := slowLog(t, Options{Mode: ModeInterval, Interval: time.Second})
		d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs = 1 })
		mustAppend(t, l, "a")
		time.Sleep(2 * time.Second)
		if _, err := l.Append(recordsOf("b")); !errors.Is(err, ErrFailed) {
			t.Errorf("Append: %v, want ErrFailed", err)
		}
		if s := l.Stats(); s.Durable != 1 || s.Last != 2 {
			t.Errorf("%+v", s)
		}
		if err := l.Close(); !errors.Is(err, ErrFailed) {
			t.Errorf("Close: %v, want ErrFailed", err)
		}
	})
}

// The disk is full while others wait to be written after the leader: they fail, too, since their
// records continue the leader's.
func TestFullBeforeOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := slowLog(t, Options{})
		d.Change(func(f *vfstest.DiskFaults) { f.WriteDelay, f.CutWrites, f.CutFrom = time.Millisecond, 1, headerLen })
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				if _, err := l.Append(recordsOf("record")); !errors.Is(err, ErrFull) {
					t.Errorf("Append %d: %v, want ErrFull", i, err)
				}
			})
		}
		wg.Wait()
		if first := mustAppend(t, l, "a", "b"); first != 2 {
			t.Errorf("number %d, want 2", first)
		}
		wantContents(t, l, 0, "1:first", "2:a", "3:b")
		mustClose(t, l)
	})
}

// A sync fails while others wait for the next.
func TestFailedSyncBeforeOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := slowLog(t, Options{})
		d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs = 1 })
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				if _, err := l.Append(recordsOf("record")); !errors.Is(err, ErrFailed) {
					t.Errorf("Append %d: %v, want ErrFailed", i, err)
				}
			})
		}
		wg.Wait()
		if err := l.Close(); !errors.Is(err, ErrFailed) {
			t.Errorf("Close: %v", err)
		}
	})
}

// The background sync fails while an Append writes: the Append is not acknowledged.
func TestBackgroundSyncFailsDuringWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := slowLog(t, Options{Mode: ModeAsync})
		mustAppend(t, l, "a")
		d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs, f.WriteDelay = 1, 2*slowSync })
		time.Sleep(time.Millisecond)
		if _, err := l.Append(recordsOf("b")); !errors.Is(err, ErrFailed) {
			t.Errorf("Append: %v, want ErrFailed", err)
		}
		if err := l.Close(); !errors.Is(err, ErrFailed) {
			t.Errorf("Close: %v", err)
		}
	})
}

// Files change, are removed and read while others append and sync.
func TestConcurrent(t *testing.T) {
	for _, mode := range []Mode{ModeRequest, ModeAsync, ModeInterval} {
		synctest.Test(t, func(t *testing.T) {
			_, l := slowLog(t, Options{Mode: mode, FileBytes: 300, Interval: 3 * time.Millisecond})
			var wg sync.WaitGroup
			stop := make(chan struct{})
			for g := range 4 {
				wg.Go(func() {
					for i := range 40 {
						mustAppend(t, l, fmt.Sprint("a record of ", g), fmt.Sprint(i))
						time.Sleep(time.Millisecond)
					}
				})
			}
			var others sync.WaitGroup
			others.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(7 * time.Millisecond):
					}
					if err := l.TruncateFront(max(l.Stats().Durable, 20) - 19); err != nil {
						t.Error(err)
					}
					if err := l.Sync(); err != nil {
						t.Error(err)
					}
				}
			})
			others.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
					}
					next := Seq(0)
					err := l.Replay(0, func(e Entry) error {
						if next != 0 && e.Seq != next {
							t.Errorf("record %d, want %d", e.Seq, next)
						}
						next = e.Seq + 1
						time.Sleep(time.Microsecond)
						return nil
					})
					if err != nil && !errors.Is(err, ErrTruncated) {
						t.Error(err)
					}
				}
			})
			wg.Wait()
			close(stop)
			others.Wait()
			if s := l.Stats(); s.Last != 321 || s.First == 1 {
				t.Errorf("%+v", s)
			}
			mustClose(t, l)
		})
	}
}

// SetMode takes effect at the next Append. ModeRequest syncs earlier records, too.
func TestSetMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := slowLog(t, Options{})
		set := func(mode Mode, interval time.Duration) {
			t.Helper()
			if err := l.SetMode(mode, interval); err != nil {
				t.Fatal(err)
			}
		}
		durable := func(want bool) {
			t.Helper()
			synctest.Wait()
			if s := l.Stats(); (s.Durable == s.Last) != want {
				t.Errorf("durable to %d of %d, want all: %t", s.Durable, s.Last, want)
			}
		}
		set(ModeInterval, time.Hour)
		mustAppend(t, l, "a")
		time.Sleep(time.Minute)
		durable(false)
		set(ModeInterval, time.Second) // the hour ends
		time.Sleep(slowSync)
		durable(true)
		mustAppend(t, l, "b")
		time.Sleep(time.Second - time.Millisecond)
		durable(false)
		time.Sleep(time.Millisecond + slowSync)
		durable(true)
		set(ModeInterval, 0) // a second
		mustAppend(t, l, "c")
		start := time.Now()
		set(ModeRequest, 0)
		durable(true)
		mustAppend(t, l, "d")
		durable(true)
		if took := time.Since(start); took != 3*slowSync {
			t.Errorf("two syncs and the term's took %v", took)
		}
		syncs := l.Stats().Syncs
		time.Sleep(time.Hour)
		if now := l.Stats().Syncs; now != syncs {
			t.Errorf("%d syncs of nothing", now-syncs)
		}
		set(ModeAsync, 0)
		mustAppend(t, l, "e")
		durable(false)
		time.Sleep(slowSync)
		durable(true)
		mustClose(t, l)
		if err := l.SetMode(ModeAsync, 0); !errors.Is(err, base.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// Appends beside changes of the mode lose nothing, and records from before ModeRequest are durable after it.
func TestSetModeBesideAppends(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{FileBytes: 4 << 10})
	var acknowledged atomic.Uint64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				last := uint64(mustAppend(t, l, "a", "b")) + 1
				for now := acknowledged.Load(); now < last && !acknowledged.CompareAndSwap(now, last); now = acknowledged.Load() {
				}
			}
		})
	}
	for i := range 600 {
		if err := l.SetMode(Mode(i%3), time.Duration(i%7)*time.Millisecond); err != nil {
			t.Error(err)
		}
		if Mode(i%3) != ModeRequest {
			continue
		}
		now := Seq(acknowledged.Load())
		if s := l.Stats(); s.Durable < now {
			t.Errorf("change %d: durable to %d, acknowledged to %d", i, s.Durable, now)
		}
	}
	stop.Store(true)
	wg.Wait()
	last := l.Stats().Last
	mustClose(t, l)
	l = mustOpen(t, d, Options{})
	if s := l.Stats(); s.Last != last || s.Durable != last || Seq(acknowledged.Load()) != last {
		t.Errorf("%d records after opening, %d before, %d acknowledged", s.Last, last, acknowledged.Load())
	}
	mustClose(t, l)
}
