package sched

import (
	"sync/atomic"
	"time"
)

// closing sheds jobs for the GPU before they take the lock of a pool. It does so for a short time after the scheduler has
// shed one because of overload. At twice the sustained rate, half of all jobs are shed, and to ask the scheduler for each
// takes its lock for the time of an admission.
//
// The GPU does not run out of work: a closing ends long before the waiting jobs have run.
type closing struct {
	last atomic.Pointer[closed]
	shed [numReasons]atomic.Int64 // jobs that never reached the scheduler
}

// closed is a time during which jobs are shed.
type closed struct {
	until  time.Duration // in the time of the scheduler
	within time.Duration // jobs with a longer time to their deadline are not shed
	why    Reason
}

const (
	// closedPart is the divisor of the predicted wait that gives the length of a closing.
	closedPart = 32
	maxClosed  = time.Millisecond
)

// begin begins a closing after the scheduler has shed a job with a predicted end.
func (c *closing) begin(now, end, within time.Duration, why Reason) {
	c.last.Store(&closed{now + min((end-now)/closedPart, maxClosed), within, why})
}

// sheds returns *Overload if a closing sheds a job that arrives now. Jobs that need the GPU alone, and jobs that a CPU may
// take while CPUs feed the GPU (queues.feeds), always go to the scheduler.
func (c *closing) sheds(p *Pool, j *Job, within time.Duration) error {
	last := c.last.Load()
	if last == nil || j.Admitted || j.Alone || j.Batched <= 0 || !j.can(GPU) || j.Cost[CPU] <= p.s.o.Feeding {
		return nil
	}
	if within == 0 {
		within = p.s.o.Deadline
	}
	now := p.Now()
	if now >= last.until || within > last.within {
		return nil
	}
	c.shed[last.why].Add(1)
	return &Overload{Reason: last.why, RetryAfter: max(last.until-now, time.Millisecond)}
}

// count adds the jobs that were shed to the statistics.
func (c *closing) count(s *Stats) {
	for why := range c.shed {
		n := c.shed[why].Load()
		s.Arrived += n
		s.Shed[why] += n
	}
}
