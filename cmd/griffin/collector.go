package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// collector sets the garbage collector of a process that answers searches to run after a fixed number of allocated
// bytes (room). The default, a share of the heap, collects too often with a small heap: each collection stops all
// goroutines for up to some milliseconds, and then marks on all processors (docs/benchmarks/living.md, load.md). A
// large heap grows by a share of the live heap.
type collector struct {
	percent atomic.Int64 // of GOGC
	room    uint64
	least   int64       // percent
	ended   atomic.Bool // a test's
}

const (
	// leastPercent of a large heap, writersLeast for processes that take writes, and mostPercent of a small one. Less for
	// the others would mark a large heap more often than GOGC=200, with which they were measured (docs/divergence.md).
	leastPercent, writersLeast, mostPercent = 200, 100, 1000
	// mostRoom is allocated by searches in some seconds.
	mostRoom = 4 << 30
	// writersRoom is the most for processes that take writes, whose memory has a limit (docs/benchmarks/living.md).
	writersRoom = 512 << 20
)

// collectorRoom is the number of bytes that are allocated between two collections, if the process can use the available
// ones.
func collectorRoom(available int64, writes bool) uint64 {
	const share, least = 16, 64 << 20
	most := int64(mostRoom)
	if writes {
		most = writersRoom
	}
	return uint64(min(max(available/share, least), most))
}

// tuneCollector starts it, unless the environment sets GOGC.
func tuneCollector(available int64, writes bool) {
	if os.Getenv("GOGC") != "" {
		return
	}
	c := &collector{room: collectorRoom(available, writes), least: leastPercent}
	if writes {
		c.least = writersLeast
	}
	c.collected(0)
}

// collected is called after each collection: then the object is gone, and the next one waits for the next.
func (c *collector) collected(int) {
	if c.ended.Load() {
		return
	}
	c.tune()
	runtime.AddCleanup(new(*collector), c.collected, 0)
}

// tune sets GOGC if it should change by more than an eighth: that stops all goroutines for a moment.
func (c *collector) tune() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	now, want := c.percent.Load(), collectorPercent(live[0].Value.Uint64(), c.room, c.least)
	if want-now > now/8 || now-want > now/8 {
		c.percent.Store(want)
		debug.SetGCPercent(int(want))
	}
}

// collectorPercent is GOGC with which a heap that has live bytes grows by room, or by the least percent.
func collectorPercent(live, room uint64, least int64) int64 {
	const whole = 100
	return max(min(int64(room*whole/max(live, 1)), mostPercent), least)
}
