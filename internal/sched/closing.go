package sched

import (
	"sync/atomic"
	"time"
)

// closing sheds jobs for the GPU, before they take the lock of a pool, for a short time after the scheduler has shed one because
// too many wait. At twice the sustained rate, half of all jobs are shed. To ask the scheduler for each of them takes as much of
// its lock as to admit it, and the jobs that are admitted wait for that.
//
// The GPU has work for all of that time: it ends long before the jobs that wait have run.
type closing struct {
	until  atomic.Int64 // in the time of the scheduler; 0: never
	within atomic.Int64 // sheds jobs with at most this time to their deadline
	reason atomic.Uint32
	shed   [numReasons]atomic.Int64 // jobs that it has shed
}

const (
	// closedPart of the time until the shed job would have ended.
	closedPart = 32
	maxClosed  = time.Millisecond
)

// after begins a time after a job was shed that would have ended at a time, with a time to its deadline.
func (c *closing) after(now, end, within time.Duration, why Reason) {
	c.within.Store(int64(within))
	c.reason.Store(uint32(why))
	c.until.Store(int64(now + min((end-now)/closedPart, maxClosed)))
}

// sheds returns *Overload if a job that arrives now is shed; nil for jobs that a CPU may take although CPUs feed the GPU (feeds).
func (c *closing) sheds(p *Pool, j *Job, within time.Duration) error {
	until := time.Duration(c.until.Load())
	if until == 0 || j.Admitted || j.Alone || j.Batched <= 0 || !j.can(GPU) || j.Cost[CPU] <= p.s.o.Feeding {
		return nil
	}
	if within == 0 {
		within = p.s.o.Deadline
	}
	now := p.Now()
	if now >= until || within > time.Duration(c.within.Load()) {
		return nil
	}
	why := Reason(c.reason.Load()) //nolint:gosec // after has stored a Reason
	c.shed[why].Add(1)
	return &Overload{Reason: why, RetryAfter: max(until-now, time.Millisecond)}
}

// count adds the jobs that were shed.
func (c *closing) count(s *Stats) {
	for why := range c.shed {
		n := c.shed[why].Load()
		s.Arrived += n
		s.Shed[why] += n
	}
}
