package sched

import (
	"sync/atomic"
	"time"
)

// closing sheds jobs for the GPU before they take the lock of a pool. It does so for a short time after the scheduler has
// shed one because of overload. At twice the sustained rate, half of all jobs are shed, and to ask the scheduler for each
// takes its lock for the time of an admission.
//
// To plan a query takes the processors longer than the lock. A closing therefore also sheds queries before their jobs exist
// (Pool.Refuse), if it would shed most of the jobs. Each probeEvery-th query is planned all the same, to measure that.
//
// The GPU does not run out of work: a closing ends long before the waiting jobs have run.
type closing struct {
	last  atomic.Pointer[closed]              // nil: none since the last one was found to be over
	shed  [numReasons]atomic.Int64            // jobs that never reached the scheduler
	early [numReasons]atomic.Int64            // queries of Refuse during a closing, of which each probeEvery-th was not refused
	seen  struct{ shed, others atomic.Int64 } // jobs during closings, moving sums
}

// closed is a time during which jobs are shed.
type closed struct {
	until  time.Duration // in the time of the scheduler
	within time.Duration // jobs with a longer time to their deadline are not shed
	why    Reason
	early  bool // queries are refused before they are planned
}

const (
	// closedPart is the divisor of the predicted wait that gives the length of a closing.
	closedPart = 32
	maxClosed  = time.Millisecond
	// probeEvery is the number of queries of Refuse of which one is planned during a closing.
	probeEvery = 16
	// Queries are refused early if closings have shed all but one of othersPart of the last seenLeast to seenMost jobs.
	seenLeast, seenMost, othersPart = 16, 512, 8
)

// begin begins a closing after the scheduler has shed a job with a predicted end. It is for one goroutine at a time.
func (c *closing) begin(now, end, within time.Duration, why Reason) {
	if within != Never {
		within += within / closedPart // about the time of planning
	}
	c.last.Store(&closed{now + min((end-now)/closedPart, maxClosed), within, why, c.shedsMost()})
	if shed, others := c.seen.shed.Load(), c.seen.others.Load(); shed+others > seenMost {
		c.seen.shed.Add(-shed / 2)
		c.seen.others.Add(-others / 2)
	}
}

// shedsMost reports whether nearly all of the last jobs during closings were shed.
func (c *closing) shedsMost() bool {
	shed, others := c.seen.shed.Load(), c.seen.others.Load()
	return shed+others >= seenLeast && others <= (shed+others)/othersPart
}

// sheds returns *Overload if a closing sheds a job that arrives now. Jobs that need the GPU alone, and jobs that a CPU may
// take while CPUs feed the GPU (queues.feeds), always go to the scheduler.
func (c *closing) sheds(p *Pool, j *Job, within time.Duration) error {
	last := c.of(p, within)
	if last == nil || j.Admitted {
		return nil
	}
	if j.Alone || j.Batched <= 0 || !j.can(GPU) || j.Cost[CPU] <= p.s.o.Feeding {
		c.seen.others.Add(1)
		return nil
	}
	c.seen.shed.Add(1)
	c.shed[last.why].Add(1)
	return refusals[last.why]
}

// of returns the closing that a job with a time to its deadline meets if it arrives now, or nil.
func (c *closing) of(p *Pool, within time.Duration) *closed {
	last := c.last.Load()
	if last == nil {
		return nil
	}
	if within == 0 {
		within = p.s.o.Deadline
	}
	if p.Now() >= last.until {
		c.last.CompareAndSwap(last, nil) // saves the next one the time
		return nil
	}
	if within > last.within {
		return nil
	}
	return last
}

// refusals are the errors of closings, which end in less than a millisecond.
var refusals = func() (all [numReasons]error) {
	for why := range all {
		all[why] = &Overload{Reason: Reason(why), RetryAfter: maxClosed}
	}
	return all
}()

// Refuse returns *Overload if most jobs that arrive now with the deadline would be shed because the GPU is
// overloaded and all CPUs are busy with feeding it, and for a share of the queries if many jobs were shed in the last
// windows of 10 ms (throttle). Call it before a query is planned that the GPU may be able to run; the zero time is no
// deadline but Options.Deadline. It takes no lock. It does not refuse each query: the others measure when the overload ends.
func (p *Pool) Refuse(deadline time.Time) error {
	within := p.s.o.Deadline
	if !deadline.IsZero() {
		within = max(min(within, time.Until(deadline)), 1)
	}
	if err := p.s.closing.refuses(p, within); err != nil {
		return err
	}
	if p.throttle.refuses(p.Now(), within, &p.s.closing) {
		return refusals[TooLate]
	}
	return nil
}

// refuses is Pool.Refuse for closings, each of which lasts at most a millisecond.
func (c *closing) refuses(p *Pool, within time.Duration) error {
	last := c.of(p, within)
	if last == nil || !last.early || c.early[last.why].Add(1)%probeEvery == 0 {
		return nil
	}
	return refusals[last.why]
}

// count adds the jobs and queries that were shed to the statistics.
func (c *closing) count(s *Stats) {
	for why := range c.shed {
		early := c.early[why].Load()
		n := c.shed[why].Load() + early - early/probeEvery
		s.Arrived += n
		s.Shed[why] += n
	}
}
