package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func setCapacity(d *vfstest.Disk, bytes int) {
	d.Change(func(f *vfstest.DiskFaults) { f.Capacity = bytes })
}

// Every place at which the disk is full: the error is clear, the log has the acknowledged records,
// goes on when there is room, and has no more after a restart.
func TestDiskFull(t *testing.T) {
	for _, mode := range []Mode{ModeRequest, ModeAsync} {
		for capacity := 1 + termLen; capacity < 900+termLen; capacity += 7 {
			d := vfstest.NewDisk()
			l := mustOpen(t, d, Options{Mode: mode, FileBytes: 250})
			setCapacity(d, capacity)
			var want []string
			failures := 0
			for i := range 14 {
				if i == 9 {
					setCapacity(d, 0)
				}
				a, b := strings.Repeat(string(rune('a'+i)), 10+i), "second"
				_, err := l.Append(recordsOf(a, b))
				switch {
				case err == nil:
					want = append(want, a, b)
				case errors.Is(err, ErrFull) && errors.Is(err, syscall.ENOSPC) && i < 9:
					failures++
				default:
					t.Fatalf("capacity %d, Append %d: %v", capacity, i, err)
				}
				if s := l.Stats(); i < 9 && s.Files > 3 {
					t.Fatalf("capacity %d, Append %d: %+v", capacity, i, s)
				}
				if i < 9 && d.Used() > capacity {
					t.Fatalf("capacity %d, used %d", capacity, d.Used())
				}
			}
			if failures == 0 && capacity < 600+termLen || len(want) < 10 {
				t.Errorf("capacity %d: %d failures, %d records", capacity, failures, len(want))
			}
			check := func() {
				t.Helper()
				var got []string
				for i, c := range contents(t, l, 0) {
					_, text, _ := strings.Cut(c, ":")
					got = append(got, text)
					if i >= len(want) || want[i] != text {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("capacity %d: %q, want %q", capacity, got, want)
				}
			}
			check()
			mustClose(t, l)
			l = mustOpen(t, d, Options{})
			if torn, ok := l.Torn(); ok {
				t.Errorf("capacity %d: torn %+v", capacity, torn)
			}
			check()
			mustClose(t, l)
			if d.NumOpen() != 0 {
				t.Errorf("%d files are open", d.NumOpen())
			}
		}
	}
}

// Attempts on a full disk do not leave a file each.
func TestDiskFullLeavesNoFiles(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{})
	mustAppend(t, l, "a")
	d.Change(func(f *vfstest.DiskFaults) { f.CutWrites, f.CutFrom = 10, headerLen })
	for range 10 {
		if _, err := l.Append(recordsOf("b")); !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	mustAppend(t, l, "b")
	if s := l.Stats(); s.Files != 2 {
		t.Errorf("%+v, want 2 files", s)
	}
	mustClose(t, l)
	l = mustOpen(t, d, Options{})
	wantContents(t, l, 0, "1:a", "2:b")
	mustClose(t, l)
}

// What Open had no room for, Sync does.
func TestSyncFinishesOpen(t *testing.T) {
	for _, mode := range []Mode{ModeRequest, ModeAsync} {
		d := vfstest.NewDisk()
		mustAppend(t, mustOpen(t, d, Options{}), "a")
		d = d.AfterKill()
		setCapacity(d, d.Used()+20)
		l := mustOpen(t, d, Options{Mode: mode})
		if err := l.Sync(); !errors.Is(err, ErrFull) || l.Stats().Durable != 0 {
			t.Errorf("Sync: %v, %+v, want ErrFull", err, l.Stats())
		}
		setCapacity(d, 0)
		if err := l.Sync(); err != nil || l.Stats().Durable != 1 {
			t.Errorf("Sync: %v, %+v", err, l.Stats())
		}
		mustAppend(t, l, "b")
		wantContents(t, l, 0, "1:a", "2:b")
		mustClose(t, l)
	}
}

// A file whose name may not be durable gets no records.
func TestFailedFolderSync(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{})
	d.Change(func(f *vfstest.DiskFaults) { f.FailDirSyncs = 1 })
	if _, err := l.Append(recordsOf("a")); !errors.Is(err, ErrFailed) {
		t.Errorf("Append: %v, want ErrFailed", err)
	}
	if err := l.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("Close: %v, want ErrFailed", err)
	}
	d.Change(func(f *vfstest.DiskFaults) { f.FailDirSyncs = 1 })
	if _, err := Open(d, testDir, Options{}); !errors.Is(err, syscall.EIO) {
		t.Errorf("Open: %v", err)
	}
	l = mustOpen(t, d, Options{})
	mustAppend(t, l, "a")
	wantContents(t, l, 0, "1:a")
	mustClose(t, l)
}

// A process that ends on a full disk leaves a part of a record; opening needs no room.
func TestDiskFullAtOpen(t *testing.T) {
	for _, lack := range []error{ErrFull, ErrReadOnly, ErrDenied} {
		full := errors.Is(lack, ErrFull)
		for _, mode := range []Mode{ModeRequest, ModeAsync, ModeInterval} {
			d := vfstest.NewDisk()
			l := mustOpen(t, d, Options{})
			mustAppend(t, l, "first", "second")
			setCapacity(d, d.Used()+40)
			if _, err := l.Append(recordsOf(strings.Repeat("x", 100))); !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			d = d.AfterCrash(rand.New(rand.NewPCG(1, 1))) // no Close
			setRoom := func(room bool) {
				capacity := 0
				if !room && full {
					capacity = d.Used() + 20
				}
				d.Change(func(f *vfstest.DiskFaults) {
					f.Capacity, f.ReadOnly, f.Denied = capacity, !room && errors.Is(lack, ErrReadOnly), !room && errors.Is(lack, ErrDenied)
				})
			}
			setRoom(false)
			for range 2 {
				l = mustOpen(t, d, Options{Mode: mode})
				if torn, ok := l.Torn(); !ok || torn.LostBytes == 0 {
					t.Errorf("torn %+v, want a part of the third record", torn)
				}
				wantContents(t, l, 0, "1:first", "2:second")
				if _, err := l.Append(recordsOf("third")); !errors.Is(err, lack) {
					t.Errorf("Append: %v, want %v", err, lack)
				}
				if err := l.Sync(); err != nil && !errors.Is(err, lack) {
					t.Errorf("Sync: %v, want %v", err, lack)
				}
				wantContents(t, l, 0, "1:first", "2:second")
				if full {
					break
				}
				mustClose(t, l)
			}
			if !full {
				l = mustOpen(t, d, Options{Mode: mode})
			}
			setRoom(true)
			mustAppend(t, l, "third")
			if err := l.Sync(); err != nil || l.Stats().Durable != 3 {
				t.Errorf("Sync: %v, %+v", err, l.Stats())
			}
			mustClose(t, l)
			l = mustOpen(t, d, Options{})
			wantContents(t, l, 0, "1:first", "2:second", "3:third")
			mustClose(t, l)
		}
	}
}

func TestReadOnly(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{FileBytes: 100})
	mustAppend(t, l, "a")
	for _, want := range []error{ErrReadOnly, ErrDenied} {
		d.Change(func(f *vfstest.DiskFaults) {
			f.ReadOnly, f.Denied = errors.Is(want, ErrReadOnly), errors.Is(want, ErrDenied)
		})
		for range 3 {
			if _, err := l.Append(recordsOf("b")); !errors.Is(err, want) || errors.Is(err, ErrFailed) {
				t.Fatalf("Append: %v, want %v", err, want)
			}
		}
		if err := l.TruncateFront(2); !errors.Is(err, want) {
			t.Errorf("TruncateFront: %v, want %v", err, want)
		}
	}
	d.Change(func(f *vfstest.DiskFaults) { f.ReadOnly, f.Denied = false, false })
	mustAppend(t, l, "b")
	wantContents(t, l, 0, "1:a", "2:b")
	if err := l.TruncateFront(2); err != nil {
		t.Error(err)
	}
	mustClose(t, l)
}

// After a failed sync nothing more is acknowledged. The system has dropped the data but still
// shows it, so a later Open must write the records that it finds again.
func TestFailedSync(t *testing.T) {
	for _, mode := range []Mode{ModeRequest, ModeAsync} {
		for power := range 2 {
			d := vfstest.NewDisk()
			l := mustOpen(t, d, Options{Mode: mode})
			mustAppend(t, l, "safe")
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
			d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs = 1 })
			_, err := l.Append(recordsOf("lost?"))
			if mode == ModeAsync && err == nil {
				err = l.Sync()
			}
			if !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "wal-000001") {
				t.Errorf("failed sync: %v", err)
			}
			ops := d.NumSyncs()
			_, err = l.Append(recordsOf("more"))
			for _, err := range []error{err, l.Sync(), l.TruncateFront(1), l.Close()} {
				if !errors.Is(err, ErrFailed) {
					t.Errorf("after a failed sync: %v", err)
				}
			}
			if d.NumSyncs() != ops {
				t.Errorf("%d syncs after the failed one", d.NumSyncs()-ops)
			}
			l = mustOpen(t, d, Options{Mode: mode})
			wantContents(t, l, 0, "1:safe", "2:lost?")
			last, next := Seq(2), "3:next"
			if mode == ModeAsync {
				last, next = 2+1<<termBits, fmt.Sprintf("%d:next", 3+1<<termBits)
			}
			if s := l.Stats(); s.Durable != last || l.Found() != 2 {
				t.Errorf("%+v", s)
			}
			mustAppend(t, l, "next")
			if err := l.Sync(); err != nil {
				t.Error(err)
			}
			if power == 1 {
				mustClose(t, l)
			}
			l = mustOpen(t, d.AfterCrash(rand.New(rand.NewPCG(uint64(mode), uint64(power)))), Options{})
			wantContents(t, l, 0, "1:safe", "2:lost?", next)
			mustClose(t, l)
		}
	}
}

// A disk that lies about syncs loses acknowledged records. Damage to records that a later file or
// mark confirms is detected. Only a loss at the end can stay undetected.
func TestLostSyncs(t *testing.T) {
	found, short := 0, 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		d := vfstest.NewDisk()
		l := mustOpen(t, d, Options{FileBytes: 1500})
		h := newHistory()
		for i := range 30 {
			if i == 10 {
				d.Change(func(f *vfstest.DiskFaults) { f.Lie = true })
			}
			if i == 20 && seed%2 == 0 {
				d.Change(func(f *vfstest.DiskFaults) { f.Lie = false })
			}
			if err := h.append(l, random, ModeRequest); err != nil {
				t.Fatal(err)
			}
		}
		last := l.Stats().Last
		d = d.AfterCrash(random)
		l, err := Open(d, testDir, Options{})
		if err == nil {
			h.safe = 0
			err = l.Replay(0, func(Entry) error { return nil })
			if err == nil {
				h.check(t, l, false)
				if l.Stats().Last < last {
					short++
				}
			}
			mustClose(t, l)
		}
		if err != nil {
			if !errors.Is(err, base.ErrCorrupt) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			found++
		}
	}
	if found < 30 || short == 0 {
		t.Errorf("%d damages found, %d logs short", found, short)
	}
}

// Any single operation fails, with a part of a write. Then the log has the acknowledged records, and
// accepts more after it is opened again.
func TestEveryOperationFails(t *testing.T) {
	run := func(plan vfstest.Plan) (mem *vfstest.Mem, f *vfstest.Faulty, acked int) {
		mem = vfstest.NewMem()
		f = vfstest.NewFaulty(mem, plan)
		for round := range 2 {
			l, err := Open(f, testDir, Options{FileBytes: 100})
			if err != nil {
				continue
			}
			for range 4 {
				first, err := l.Append(recordsOf("record", "and"))
				if err == nil && first <= Seq(acked) {
					t.Fatalf("plan %+v: number %d again", plan, first)
				}
				if err == nil {
					acked = int(first) + 1
				}
			}
			_ = l.Replay(0, func(Entry) error { return nil })
			if round == 0 { // the process ends
				_ = l.lock.Close()
				if l.files.current != nil {
					_ = l.files.current.Close()
				}
				continue
			}
			_ = l.Close()
		}
		return mem, f, acked
	}
	_, f, _ := run(vfstest.Plan{})
	for n := 1; n <= f.Ops(); n++ {
		for _, plan := range []vfstest.Plan{{FailAt: n, Once: true, ShortWrite: true}, {FailAt: n, ShortWrite: true}, {FailAt: n, Once: true}} {
			mem, f, acked := run(plan)
			if open := f.StillOpen(); len(open) > 0 {
				t.Errorf("operation %d: open: %q", n, open)
			}
			l := mustOpen(t, mem, Options{})
			if got := contents(t, l, 0); len(got) < acked {
				t.Errorf("operation %d %q: %d records, %d acknowledged", n, f.Operations()[n-1], len(got), acked)
			}
			mustAppend(t, l, "more")
			mustClose(t, l)
		}
	}
}
