package sched

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// waiter belongs to one waiting job at a time.
type waiter struct {
	// bell signals that the job has a verdict, or waits again after a batch that failed. A signal may
	// come late, to the next job: whoever reads one looks at the state.
	bell chan struct{}
	late *time.Timer // nil before its first use
}

func newWaiter() *waiter { return &waiter{bell: make(chan struct{}, 1)} }

// bells are to be rung once the pool's lock is released: each wakes a goroutine, which takes about as long as
// the work that needs the lock.
type bells struct {
	first []chan struct{} // of jobs that begin: a lane waits for them
	rest  []chan struct{}
}

var spareBells = sync.Pool{New: func() any { return new(bells) }}

// release releases the lock, rings, and admits jobs that have arrived meanwhile.
func (p *Pool) release() {
	p.ring()
	p.inbox.attend()
}

// ring releases the lock and rings.
func (p *Pool) ring() {
	b := p.bells
	if len(b.first)+len(b.rest) == 0 {
		p.mu.Unlock()
		return
	}
	p.bells = spareBells.Get().(*bells)
	p.mu.Unlock()
	b.first, b.rest = ringAll(b.first), ringAll(b.rest)
	spareBells.Put(b)
}

// ringAll does not wait: where a signal is unread already, its reader will see the present state.
func ringAll(bells []chan struct{}) []chan struct{} {
	for i, bell := range bells {
		bells[i] = nil
		select {
		case bell <- struct{}{}:
		default:
		}
	}
	return bells[:0]
}

// await unlocks the pool and waits for the job's verdict. With an error there
// is none: the error of ctx after the job was cancelled, or *Overload because
// it is late.
func (p *Pool) await(ctx context.Context, j *Job, now time.Duration) error {
	t := &j.task
	if t.decided() != undecided {
		p.unlock(j)
		return nil
	}
	w := p.waiters.get()
	defer p.waiters.put(w)
	t.bell = w.bell
	last := p.reminder.remind(j, now)
	p.unlock(j)
	return p.watch(ctx, j, w, last, now)
}

// watch waits for the job's verdict without the lock. last is its deadline as of now; the rest is await's.
func (p *Pool) watch(ctx context.Context, j *Job, w *waiter, last, now time.Duration) error {
	t, gone := &j.task, ctx.Done()
	for {
		select {
		case <-w.bell:
			v := t.decided()
			if v == begin {
				p.promptness.observe(p.Now() - j.Began)
			}
			if v != undecided {
				return nil
			}
			// A batch that ran it has failed, or the deadline is near, or it has the duty of the inbox.
			p.inbox.attend()
			now, last = p.Now(), time.Duration(atomic.LoadInt64(&t.last))
		case <-w.lateAfter(last, now):
			if overload := p.expire(j); overload != nil {
				return overload
			}
			last = Never // a batch runs it
		case <-gone:
			p.lock(j)
			at := p.Now()
			if t.decided() == undecided && p.s.Cancel(at, j) {
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

// reminder tells waiting jobs that their deadlines are near. Its fields are guarded by Pool.mu.
type reminder struct {
	pool  *Pool
	timer *time.Timer // nil before its first use
	at    time.Duration
}

// nearly is the time before a deadline from which a job has a timer of its own.
const nearly = 20 * time.Millisecond

// deadline returns the time at which a waiting job needs to look whether it is late: nearly all jobs are
// answered long before, so that only the pool has a timer then. The lock is held.
func (r *reminder) deadline(j *Job, now time.Duration) (last time.Duration) {
	last = r.pool.s.lastStart(j)
	if last == Never || last-now <= nearly {
		return last
	}
	r.sweepFrom(now, last-nearly)
	return Never
}

// remind tells a waiting job, before its bell rings, how long to wait without a look at its deadline. The lock is held.
func (r *reminder) remind(j *Job, now time.Duration) (last time.Duration) {
	last = r.deadline(j, now)
	atomic.StoreInt64(&j.task.last, int64(last))
	return last
}

// sweepFrom has jobs look at a time. The lock is held.
func (r *reminder) sweepFrom(now, at time.Duration) {
	if at >= r.at {
		return
	}
	r.at = at
	if r.timer == nil {
		r.timer = time.AfterFunc(at-now, r.sweep)
		return
	}
	r.timer.Reset(at - now)
}

// sweep rings the bells of jobs whose deadlines are near.
func (r *reminder) sweep() {
	p := r.pool
	p.acquire()
	defer p.release()
	now, next := p.Now(), Never
	if now < r.at { // Reset came too late to stop this call
		return
	}
	r.at = Never
	for _, h := range p.s.queues.all() {
		for _, j := range h.jobs {
			switch last := p.s.lastStart(j); {
			case last == Never:
			case last-now <= nearly:
				r.remind(j, now)
				p.bells.rest = append(p.bells.rest, j.task.bell)
			default:
				next = min(next, last-nearly)
			}
		}
	}
	if next != Never {
		r.sweepFrom(now, next)
	}
}

// waiters are kept for other jobs.
type waiters struct{ kept sync.Pool }

func (ws *waiters) get() *waiter {
	if w, ok := ws.kept.Get().(*waiter); ok {
		return w
	}
	return newWaiter()
}

// put discards an unread signal.
func (ws *waiters) put(w *waiter) {
	select {
	case <-w.bell:
	default:
	}
	ws.kept.Put(w)
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
	p.acquire()
	defer p.release()
	now := p.Now()
	if j.task.decided() != undecided || !p.s.Expire(now, j) {
		return nil
	}
	p.dispatch(now, nil)
	return &Overload{Reason: Expired, RetryAfter: p.retryAfter(now)}
}
