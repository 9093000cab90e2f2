package sched

import (
	"context"
	"sync"
	"time"
)

// waiter belongs to one waiting job at a time.
type waiter struct {
	// bell signals that the job has a verdict, or waits again after a batch that failed. A signal may
	// come late, to the next job: whoever reads one looks at the state.
	bell chan struct{}
}

func newWaiter() *waiter { return &waiter{bell: make(chan struct{}, 1)} }

// bells are rung after the pool's lock is released, because waking a goroutine takes about the time of the
// work that needs the lock.
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

// await unlocks the pool and waits for the job's verdict. Its error is the error of ctx: the job was cancelled and
// has no verdict.
func (p *Pool) await(ctx context.Context, j *Job, now time.Duration) error {
	t := &j.task
	if t.decided() != undecided {
		p.unlock(j)
		return nil
	}
	w := p.waiters.get()
	defer p.waiters.put(w)
	t.bell = w.bell
	p.sweeper.add(j, now)
	p.unlock(j)
	return p.watch(ctx, j, w)
}

// watch waits for the job's verdict without the lock.
func (p *Pool) watch(ctx context.Context, j *Job, w *waiter) error {
	t, gone := &j.task, ctx.Done()
	for {
		select {
		case <-w.bell:
			v := t.decided()
			if v == begin {
				after := p.Now() - j.Began
				p.promptness.observe(after)
				p.throttle.woke(after)
			}
			if v != undecided {
				return nil
			}
			// A batch that ran it has failed, or it has the duty of the inbox.
			p.inbox.attend()
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
			gone = nil // it has a server, or is in a running batch
		}
	}
}

// sweeper ends waiting jobs that can no longer meet their deadlines. Jobs have no timers of their own: near the limit of a
// machine, to wake each job once more, and to take the lock for each late one, costs too much. Its fields are guarded by Pool.mu.
type sweeper struct {
	pool  *Pool
	timer *time.Timer // nil before its first use
	at    time.Duration
	late  []*Job // for sweep
}

// sweepEvery is the least time between two sweeps of all waiting jobs, and so the maximum delay of the
// end of an expired job.
const sweepEvery = time.Millisecond

// add counts a job that waits from now on. The lock is held.
func (w *sweeper) add(j *Job, now time.Duration) {
	if last := w.pool.s.lastStart(j); last != Never {
		w.sweepFrom(now, last+1)
	}
}

// sweepFrom has sweep called at a time, unless it will be called before. The lock is held.
func (w *sweeper) sweepFrom(now, at time.Duration) {
	if at >= w.at {
		return
	}
	w.at = at
	if w.timer == nil {
		w.timer = time.AfterFunc(at-now, w.sweep)
		return
	}
	w.timer.Reset(at - now)
}

func (w *sweeper) sweep() {
	p := w.pool
	p.acquire()
	defer p.release()
	now, next := p.Now(), Never
	if now < w.at { // Reset came too late to stop this call
		return
	}
	w.at = Never
	for _, h := range p.s.queues.all() {
		for _, j := range h.jobs {
			if last := p.s.lastStart(j); now > last {
				w.late = append(w.late, j)
			} else {
				next = min(next, last)
			}
		}
	}
	if next != Never {
		w.sweepFrom(now, max(next+1, now+sweepEvery))
	}
	if len(w.late) == 0 {
		return
	}
	for _, j := range w.late {
		if p.s.Expire(now, j) {
			p.tell(j, nil, ended, &Overload{Reason: Expired, RetryAfter: p.retryAfter(now)})
		}
	}
	clear(w.late)
	w.late = w.late[:0]
	p.dispatch(now, nil)
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
