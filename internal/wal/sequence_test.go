package wal

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// afterCrashes opens the log after each of 100 losses of power.
func afterCrashes(t *testing.T, d *vfstest.Disk, check func(l *Dir)) {
	t.Helper()
	for seed := range uint64(100) {
		l, err := Open(d.AfterCrash(rand.New(rand.NewPCG(seed, 1))), testDir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		check(l)
		mustClose(t, l)
	}
}

// An Append that waits for a failing sync of a full file does not sync the file again, which succeeds without effect, and
// begins no other one.
func TestFailedSyncBeforeNewFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := vfstest.NewDisk()
		l := mustOpen(t, d, Options{Mode: ModeInterval, Interval: time.Minute, FileBytes: headerLen + 1})
		mustAppend(t, l, "durable")
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, "lost?")
		d.Change(func(f *vfstest.DiskFaults) { f.FailSyncs, f.SyncDelay = 1, time.Minute })
		time.Sleep(90 * time.Second) // the syncer is in Sync, which fails
		if _, err := l.Append(recordsOf("not begun")); !errors.Is(err, ErrFailed) {
			t.Errorf("Append: %v", err)
		}
		if s := l.Stats(); s.Durable != 1 {
			t.Errorf("durable to %d", s.Durable)
		}
		if err := l.Close(); !errors.Is(err, ErrFailed) {
			t.Errorf("Close: %v", err)
		}
		d.Change(func(f *vfstest.DiskFaults) { f.SyncDelay = 0 })
		afterCrashes(t, d, func(l *Dir) {
			if l.Found() < 1 {
				t.Errorf("found %d", l.Found())
			}
		})
	})
}

// After a failed sync of its folder, the term on the disk is not known. A mode in which records can be lost writes it again.
func TestModeAfterFailedSyncDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := vfstest.NewDisk()
		l := mustOpen(t, d, Options{Mode: ModeInterval, Interval: time.Hour})
		defer func() { // after a failure, too: else the syncer's wait is a deadlock
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}()
		mustAppend(t, l, "a")
		d.Change(func(f *vfstest.DiskFaults) { f.FailDirSyncs = 1 })
		for _, mode := range []Mode{ModeRequest, ModeInterval} {
			if err := l.SetMode(mode, time.Hour); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // else a syncer woken by the change makes the next record durable
		}
		acknowledged := mustAppend(t, l, "lost?")
		lost := 0
		afterCrashes(t, d, func(l *Dir) {
			if l.Found() >= acknowledged {
				return
			}
			if lost++; mustAppend(t, l, "other") == acknowledged {
				t.Fatal("a number names two records")
			}
		})
		if lost == 0 {
			t.Error("nothing was lost")
		}
	})
}

// Records that a killed process acknowledged become durable with SetMode and Close, or these fail.
func TestUnconfirmedRecordsWithoutPermission(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{Mode: ModeInterval, Interval: time.Hour})
	acknowledged := mustAppend(t, l, "a")
	killed := d.AfterKill()
	mustClose(t, l)
	killed.Change(func(f *vfstest.DiskFaults) { f.Denied = true })
	l = mustOpen(t, killed, Options{Mode: ModeAsync})
	if err := l.SetMode(ModeRequest, 0); !errors.Is(err, ErrDenied) || l.opts.Mode != ModeAsync {
		t.Errorf("SetMode: %v, mode %d", err, l.opts.Mode)
	}
	if err := l.Close(); !errors.Is(err, ErrDenied) {
		t.Errorf("Close: %v", err)
	}
	killed.Change(func(f *vfstest.DiskFaults) { f.Denied = false })
	mustClose(t, mustOpen(t, killed, Options{}))
	afterCrashes(t, killed, func(l *Dir) {
		if l.Found() != acknowledged {
			t.Errorf("found %d, want %d", l.Found(), acknowledged)
		}
	})
}

// A log without records keeps its numbers when there is no room for more.
func TestNumbersWithoutRoom(t *testing.T) {
	d := vfstest.NewDisk()
	l := mustOpen(t, d, Options{})
	last := Seq(0)
	for range 5 {
		last = mustAppend(t, l, "a")
	}
	if err := l.TruncateFront(last + 1); err != nil {
		t.Fatal(err)
	}
	d.Change(func(f *vfstest.DiskFaults) { f.CutWrites = 100 })
	for range 3 {
		if _, err := l.Append(recordsOf("b")); !errors.Is(err, ErrFull) {
			t.Errorf("Append: %v", err)
		}
	}
	killed := d.AfterKill()
	killed.Change(func(f *vfstest.DiskFaults) { f.CutWrites = 0 })
	next := mustOpen(t, killed, Options{})
	if got := mustAppend(t, next, "c"); got != last+1 {
		t.Errorf("the next record is %d, want %d", got, last+1)
	}
	mustClose(t, next)
	d.Change(func(f *vfstest.DiskFaults) { f.CutWrites = 0 })
	if got := mustAppend(t, l, "c"); got != last+1 || len(logFiles(d)) > 2 {
		t.Errorf("the next record is %d in %d files", got, len(logFiles(d)))
	}
	mustClose(t, l)
}
