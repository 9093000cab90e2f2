package sched

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// cores are CPU cores to which threads of the pool are bound, one thread per
// core.
type cores struct {
	mu   sync.Mutex
	free []int
	all  unix.CPUSet // allowed for this process
}

func newCores(n int) *cores {
	c := new(cores)
	if unix.SchedGetaffinity(0, &c.all) != nil {
		return nil
	}
	for i := 0; i < len(c.all)*64 && len(c.free) < n; i++ {
		if c.all.IsSet(i) {
			c.free = append(c.free, i)
		}
	}
	return c
}

// pin binds the calling goroutine's thread to a free core and returns it, or -1 if none
// is free. unpin releases the core.
func (c *cores) pin() int {
	c.mu.Lock()
	last := len(c.free) - 1
	if last < 0 {
		c.mu.Unlock()
		return -1
	}
	core := c.free[last]
	c.free = c.free[:last]
	c.mu.Unlock()
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(core)
	_ = unix.SchedSetaffinity(0, &set) // unpinned, it is only slower
	return core
}

func (c *cores) unpin(core int) {
	_ = unix.SchedSetaffinity(0, &c.all)
	runtime.UnlockOSThread()
	c.mu.Lock()
	c.free = append(c.free, core)
	c.mu.Unlock()
}
