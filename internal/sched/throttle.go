package sched

import (
	"errors"
	"sync/atomic"
	"time"
)

// throttle refuses a share of the queries before they are planned, while more arrive than the processors can plan. A
// closing is too short for that: its jobs are shed within microseconds, but when all processors are busy, a goroutine that
// becomes ready waits for milliseconds, and most queries are late when they reach the scheduler.
//
// It is adaptive throttling (Beyer et al., Site Reliability Engineering, chapter "Handling Overload") on the side of the
// server: it lets somewhat more queries pass than there were jobs in the last window that were not shed. It refuses no
// query with much more time than the jobs that were shed. Measurements: docs/benchmarks/load.md.
type throttle struct {
	until  atomic.Int64  // end of the window, in ns of the pool's clock
	share  atomic.Uint32 // of the queries that are refused, of 1<<32
	number atomic.Uint32 // of queries, to spread the refused ones
	// In this window:
	refused atomic.Int64
	jobs    atomic.Int64 // that a GPU can run and that may be shed
	shed    atomic.Int64 // of these
	woken   atomic.Int64 // goroutines for a server
	delay   atomic.Int64 // until they ran, in ns
	longest atomic.Int64 // time to the deadline of a job that was shed

	within atomic.Int64 // longest of the last window that had one

	all atomic.Int64 // that were refused, for Stats
}

const (
	throttleWindow = 10 * time.Millisecond
	// Queries that pass for each job that was not shed. Calm: none was shed, so the overload may have ended, or the processors are
	// not the limit, and the GPU needs others instead of those that are shed. Few: of the jobs at most fewShed were shed.
	passesCalm, passesFew, passesMany = 1.3, 1.1, 1.02
	fewShed                           = 0.02
	// The processors are the limit if woken goroutines wait for longer in the mean. Measured with 16 cores: 0.11 to 0.16 ms
	// while the GPU is the limit, 0.3 to 2 ms while the processors are.
	busyDelay = 200 * time.Microsecond
	// leastShare ends the throttling. mostShare lets enough queries pass to see the end of an overload.
	leastShare, mostShare = 1.0 / 256, 31.0 / 32
	wholeShare            = 1 << 32
)

// countShed counts a job that had some time from its arrival to its deadline, if err tells that it was shed.
func (t *throttle) countShed(within time.Duration, err error) {
	var o *Overload
	if !errors.As(err, &o) {
		return
	}
	t.shed.Add(1)
	if o.Reason == QueueFull { // no time would have helped
		within = Never
	}
	for {
		longest := t.longest.Load()
		if int64(within) <= longest || t.longest.CompareAndSwap(longest, int64(within)) {
			return
		}
	}
}

// refuses reports whether a query that arrives now is refused.
func (t *throttle) refuses(now, within time.Duration, c *closing) bool {
	if until := t.until.Load(); int64(now) >= until && t.until.CompareAndSwap(until, int64(now+throttleWindow)) {
		t.update(now-time.Duration(until), c.shedsMost())
	}
	share := t.share.Load()
	if share == 0 || int64(within)/3*2 > t.within.Load() {
		return false
	}
	if t.number.Add(1)*0x9e3779b9 >= share { // the golden ratio spreads multiples evenly
		return false
	}
	t.refused.Add(1)
	t.all.Add(1)
	return true
}

// woke counts a goroutine that waited until it ran.
func (t *throttle) woke(after time.Duration) {
	t.woken.Add(1)
	t.delay.Add(int64(after))
}

// update sets the share for the next window. late is the time since the last one ended. Without most, CPUs can take many of
// the jobs, and only their plans tell which.
func (t *throttle) update(late time.Duration, most bool) {
	refused, jobs, shed := t.refused.Swap(0), t.jobs.Swap(0), t.shed.Swap(0)
	woken, delay := t.woken.Swap(0), time.Duration(t.delay.Swap(0))
	if longest := t.longest.Swap(0); longest > 0 {
		t.within.Store(longest)
	}
	target := 0.0
	if all := refused + jobs; all > 0 && most && late < throttleWindow {
		passes := passesMany
		switch {
		case shed == 0 || delay < time.Duration(woken)*busyDelay:
			passes = passesCalm
		case float64(shed) <= fewShed*float64(jobs):
			passes = passesFew
		}
		target = max(1-passes*float64(jobs-shed)/float64(all), 0)
	}
	share := min((float64(t.share.Load())/wholeShare+target)/2, mostShare)
	if share < leastShare || late > 10*throttleWindow { // or the overload was long ago
		share = 0
	}
	t.share.Store(uint32(share * wholeShare))
}

// count adds the refused queries to the statistics.
func (t *throttle) count(s *Stats) {
	n := t.all.Load()
	s.Arrived += n
	s.Shed[TooLate] += n
}
