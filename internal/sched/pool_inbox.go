package sched

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// inbox has the jobs that arrived while another goroutine held the pool's lock, which admits them before it leaves
// the lock. No arriving job waits for the lock: a mutex that many goroutines wait for is handed from one to the next,
// for about 100,000 of them a second, and then a GPU could not be fed.
type inbox struct {
	pool   *Pool
	newest atomic.Pointer[Job] // a stack, linked by task.older

	arriving []*Job // were taken from it; guarded by Pool.mu
	admitted int    // the first of them, which have arrived
	turn     int    // admitsInTurn, except in tests
}

// admitsInTurn is the number of jobs after which a goroutine that empties the inbox leaves the rest to
// one that waits: jobs can arrive as fast as they are admitted.
const admitsInTurn = 256

func (b *inbox) isEmpty() bool { return b.newest.Load() == nil }

func (b *inbox) push(j *Job) {
	for {
		older := b.newest.Load()
		j.task.older = older
		if b.newest.CompareAndSwap(older, j) {
			return
		}
	}
}

// take appends the jobs to dst in the order of their arrival.
func (b *inbox) take(dst []*Job) []*Job {
	from := len(dst)
	for j := b.newest.Swap(nil); j != nil; {
		older := j.task.older
		j.task.older = nil
		dst = append(dst, j)
		j = older
	}
	slices.Reverse(dst[from:])
	return dst
}

// post lets a job arrive by the inbox and waits for its verdict, as await does.
func (b *inbox) post(ctx context.Context, j *Job, within time.Duration) error {
	p := b.pool
	w := p.waiters.get()
	defer p.waiters.put(w)
	j.task.bell, j.task.within = w.bell, within
	b.deliver(j)
	return p.watch(ctx, j, w)
}

// deliver puts a job into the inbox, and empties it if nobody else does.
func (b *inbox) deliver(j *Job) {
	b.push(j)
	b.attend()
}

// attend empties the inbox, unless another goroutine holds the lock, which then does so: it looks again after
// it has released the lock. It admits fewer than turn jobs and those that have arrived before its last look.
//
// Invariant: while a job is in the inbox, a goroutine is in attend or holds the lock, or the bell of a job in the inbox has rung,
// whose goroutine then attends.
func (b *inbox) attend() {
	for left, more := b.turn, true; more; {
		left, more = b.look(left)
	}
}

// look admits the jobs that are there if left is positive, and else passes the duty on. more: the caller looks again.
func (b *inbox) look(left int) (_ int, more bool) {
	if b.isEmpty() || !b.pool.mu.TryLock() {
		return left, false
	}
	return b.lookInside(left)
}

// lookInside is look with the lock, which it releases.
func (b *inbox) lookInside(left int) (_ int, more bool) {
	if left <= 0 {
		return left, !b.passOn()
	}
	return left - b.admitAndRing(), true
}

// passOn releases the lock and rings for a job in the inbox, which none leaves without the lock. If none is there, it returns
// false: a job that arrives before the release counts on the caller.
func (b *inbox) passOn() (passed bool) {
	j := b.newest.Load()
	if j == nil {
		b.pool.mu.Unlock()
		return false
	}
	bell := j.task.bell
	b.pool.mu.Unlock()
	select {
	case bell <- struct{}{}:
	default: // an unread signal has the same effect
	}
	return true
}

func (b *inbox) admitAndRing() (admitted int) {
	defer b.pool.ring()
	return b.admit()
}

// admit lets the jobs of the inbox arrive and returns their number. The lock is held; whoever takes it calls admit first.
func (b *inbox) admit() (admitted int) {
	if b.isEmpty() {
		return 0
	}
	b.arriving = b.take(b.arriving)
	admitted = len(b.arriving)
	b.admitTaken()
	return admitted
}

// admitTaken goes on after a panic on the arrival of a job: nobody else looks for the jobs that were taken.
func (b *inbox) admitTaken() {
	now, arrived := b.pool.Now(), false
	defer func() {
		if !arrived {
			b.admitTaken()
		}
	}()
	for b.admitted < len(b.arriving) {
		j := b.arriving[b.admitted]
		b.admitted++ // before a panic
		b.admitOne(now, j)
	}
	arrived = true
	clear(b.arriving)
	b.arriving, b.admitted = b.arriving[:0], 0
	b.pool.dispatch(now, nil)
}

func (b *inbox) admitOne(now time.Duration, j *Job) {
	p, returned := b.pool, false
	defer func() {
		if !returned { // the panic is another job's error, too
			p.giveUp(j)
			p.tell(j, nil, ended, errScheduler)
		}
	}()
	started, err := p.s.arrive(now, j, j.task.within, true /* at once */)
	returned = true
	switch {
	case err != nil:
		p.tell(j, nil, ended, err)
	case started:
		p.tell(j, nil, begin, nil)
	default:
		p.sweeper.add(j, now)
	}
}

// errScheduler is the error of a job on whose arrival, or after whose batch, the scheduler panicked.
var errScheduler = fmt.Errorf("the scheduler panicked: %w", ErrNoPlace)
