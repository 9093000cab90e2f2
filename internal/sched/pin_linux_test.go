package sched

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// lockedToThread reports whether the calling goroutine is, as its stack says.
func lockedToThread() bool {
	stack := make([]byte, 1<<10)
	first, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte("\n"))
	return bytes.Contains(first, []byte("locked to thread"))
}

func affinity(t *testing.T) unix.CPUSet {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// A pool binds threads to the cores that this process may use, and no more.
func TestCores(t *testing.T) {
	all := affinity(t)
	if c := newCores(1 << 20); len(c.free) != all.Count() {
		t.Errorf("%d cores, want the %d of this process", len(c.free), all.Count())
	}
	c := newCores(1)
	if len(c.free) != 1 || !all.IsSet(c.free[0]) {
		t.Fatalf("cores %v, want one of this process", c.free)
	}
	core := c.pin()
	if now := affinity(t); core < 0 || now.Count() != 1 || !now.IsSet(core) || !lockedToThread() {
		t.Errorf("bound to core %d, the thread may use %d cores; locked: %t", core, now.Count(), lockedToThread())
	}
	if second := c.pin(); second != -1 {
		t.Errorf("a second thread is bound to core %d of one", second)
	}
	if !c.mu.TryLock() {
		t.Fatal("the lock is held after no core was free")
	}
	c.mu.Unlock()
	c.unpin(core)
	if affinity(t) != all || lockedToThread() || len(c.free) != 1 {
		t.Errorf("after unpin: locked %t, %d cores are free", lockedToThread(), len(c.free))
	}
}

// A job is pinned from a predicted time of 100 µs, on the CPU, if a core is free.
func TestPinnedJobs(t *testing.T) {
	for name, c := range map[string]struct {
		cost [NumPlaces]time.Duration
		pin  bool
		free int
		want bool
	}{
		"short":          {both(pinFrom-1, Never), true, 1, false},
		"long":           {both(pinFrom, Never), true, 1, true},
		"on the GPU":     {both(Never, pinFrom), true, 1, false},
		"no core left":   {both(pinFrom, Never), true, 0, false},
		"pinning is off": {both(pinFrom, Never), false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, Options{CPUs: 1, Lanes: 1, Pin: c.pin})
			if c.pin != (p.cores != nil) {
				t.Fatal("the pool has cores without pinning, or none with it")
			}
			if c.pin {
				p.cores.free = p.cores.free[:c.free]
			}
			j := &Job{Cost: c.cost}
			if err := p.Do(t.Context(), j, runner(func(context.Context, Place) error {
				if j.task.pinned != c.want || lockedToThread() != c.want {
					t.Errorf("pinned: %t, locked to its thread: %t, want %t", j.task.pinned, lockedToThread(), c.want)
				}
				return nil
			})); err != nil {
				t.Fatal(err)
			}
			if c.pin && len(p.cores.free) != c.free {
				t.Errorf("%d cores are free at the end, want %d", len(p.cores.free), c.free)
			}
		})
	}
}

// A job that ends in a Switch holds neither a core nor the lock.
func TestSwitchInVainIsNotPinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, Lanes: 1, Pin: true})
		release := occupy(t, p, GPU)
		ctx, cancel := context.WithTimeout(t.Context(), ms)
		defer cancel()
		j := &Job{Cost: both(ms, ms)}
		err := p.Do(ctx, j, runner(func(ctx context.Context, _ Place) error {
			err := p.Switch(ctx, j, GPU)
			if len(p.cores.free) != 1 || j.task.pinned {
				t.Error("a job that was cancelled is pinned")
			}
			checkUnlocked(t, p)
			return err
		}))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the error of the context", err)
		}
		release()
	})
}

// A thread that is released may run on all cores again.
func TestUnpinRestoresAffinity(t *testing.T) {
	runtime.LockOSThread() // the thread that is pinned is the one that is asked
	defer runtime.UnlockOSThread()
	all := affinity(t)
	c := newCores(1)
	core := c.pin()
	defer func() { _ = unix.SchedSetaffinity(0, &all) }()
	if now := affinity(t); now.Count() != 1 || !now.IsSet(core) {
		t.Errorf("the thread may use %d cores", now.Count())
	}
	c.unpin(core)
	if now := affinity(t); now != all {
		t.Errorf("the thread may use %d cores of %d after unpin", now.Count(), all.Count())
	}
}
