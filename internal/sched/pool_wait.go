package sched

import (
	"context"
	"time"
)

type waiter struct {
	// bell signals a verdict, or that a job of a failed batch waits again.
	bell chan struct{}
	late *time.Timer // nil before its first use
}

// await unlocks the pool and waits for the job's verdict. With an error there
// is none: the error of ctx after the job was cancelled, or *Overload because
// it is late.
func (p *Pool) await(ctx context.Context, j *Job) error {
	t := &j.task
	if t.verdict != undecided {
		p.unlock(j)
		return nil
	}
	w, ok := p.waiters.Get().(*waiter)
	if !ok {
		w = &waiter{bell: make(chan struct{}, numRings)}
	}
	defer p.retire(w)
	t.bell = w.bell
	last, now, gone := p.s.lastStart(j), p.Now(), ctx.Done()
	p.unlock(j)
	for {
		select {
		case <-w.bell:
			p.lock(j)
			if t.verdict != undecided {
				p.unlock(j)
				return nil
			}
			last, now = p.s.lastStart(j), p.Now() // the batch that ran it failed
			p.unlock(j)
		case <-w.lateAfter(last, now):
			if overload := p.expire(j); overload != nil {
				return overload
			}
			last = Never // a batch runs it
		case <-gone:
			p.lock(j)
			at := p.Now()
			if t.verdict == undecided && p.s.Cancel(at, j) {
				p.dispatch(at, nil)
				p.unlock(j)
				return ctx.Err()
			}
			t.gone = ctx.Err()
			p.unlock(j)
			last, gone = Never, nil // it has a server, or is in a running batch
		}
	}
}

// numRings is the maximum number of unread signals: to wait again, and a
// verdict.
const numRings = 2

// retire discards an unread signal and keeps the waiter for another job; no more signals
// will be sent.
func (p *Pool) retire(w *waiter) {
	select {
	case <-w.bell:
	default:
	}
	p.waiters.Put(w)
}

// lateAfter returns a channel that receives once it is later than last, or nil if last
// is Never. Reset discards what the timer sent for an earlier wait.
func (w *waiter) lateAfter(last, now time.Duration) <-chan time.Time {
	if last == Never {
		return nil
	}
	if w.late == nil {
		w.late = time.NewTimer(last - now + 1)
	} else {
		w.late.Reset(last - now + 1)
	}
	return w.late.C
}

// expire sheds a waiting job that can no longer meet its deadline, and returns its
// error; nil if the job does not wait.
func (p *Pool) expire(j *Job) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	if j.task.verdict != undecided || !p.s.Expire(now, j) {
		return nil
	}
	p.dispatch(now, nil)
	return &Overload{Reason: Expired, RetryAfter: p.retryAfter(now)}
}
