package sched

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Work is what a job does.
type Work interface {
	// Run does the work at a place, on the goroutine that called Do. An error that
	// wraps ErrFailed or ErrLost makes the pool try the other place. Between its
	// steps it may call Pool.Switch.
	Run(ctx context.Context, at Place) error
	// RunBatch does the work of all jobs of a batch on the GPU; it is called on the
	// leader, all[0] is its own. It sets the outcome of each, as Run would return
	// it: outcomes[i] is that of all[i], nil at first. ctx has the values of the
	// leader's and is never cancelled, for the others' sake. all and outcomes are
	// the pool's again when it returns. If it panics, the panic goes on in the leader's
	// Do, and the pool calls Run of each of the others, whatever its outcome: that must
	// do all of the work again.
	RunBatch(ctx context.Context, all []Work, outcomes []error)
}

// Pool runs work on the processors of this machine, as its Scheduler decides. It
// has no goroutines: work runs on the goroutine that brings it, when its turn has
// come; a leader runs its batch. For any number of goroutines.
type Pool struct {
	start   time.Time
	cores   *cores    // nil: threads are not pinned
	waiters sync.Pool // of *waiter

	mu     sync.Mutex
	s      *Scheduler
	picked []*Job      // of Next and Expired
	one    []*Job      // scratch
	timer  *time.Timer // asks Next again; nil before it is needed
	wakeAt time.Duration
	spare  []*batch
}

// task is what a pool keeps of a job.
type task struct {
	work    Work
	batch   *batch        // that the job leads, nil: it runs by itself
	bell    chan struct{} // rung when the job's wait is over; of the pool
	verdict verdict
	outcome error
	gone    error // why its context ended while others ran it
	core    int   // that its thread is bound to, if it is pinned
	pinned  bool
	locks   bool // its goroutine holds the pool's lock
}

// waiter is what a goroutine waits with.
type waiter struct {
	// bell is rung with a verdict, and to tell that a job which a batch ran waits again.
	bell chan struct{}
	late *time.Timer // nil until it is needed
}

// verdict says what a job that waited does next. Guarded by Pool.mu until the
// bell rings.
type verdict uint8

const (
	undecided verdict = iota
	begin             // it has a server
	ended             // with task.outcome
)

// batch is the jobs of a run and their work, in one order.
type batch struct {
	jobs     []*Job
	works    []Work
	outcomes []error
}

// NewPool returns a pool. The error wraps base.ErrBadInput.
func NewPool(o Options) (*Pool, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	p := &Pool{start: time.Now(), s: s, wakeAt: Never, one: make([]*Job, 0, 1)}
	if o.Pin {
		p.cores = newCores(s.o.CPUs)
	}
	return p, nil
}

// Now returns the time of the pool's clock, that of Job.Arrived and
// Job.Deadline.
func (p *Pool) Now() time.Duration { return time.Since(p.start) }

// TimeOf returns when the pool's clock showed at.
func (p *Pool) TimeOf(at time.Duration) time.Time { return p.start.Add(at) }

// Options returns the options with the defaults filled in.
func (p *Pool) Options() Options { return p.s.o }

// Do waits for a server and runs the work of the job there; where the pool is
// idle it runs it at once, without allocating. It returns what the work returned,
// *Overload if the job was shed, ErrNoPlace, or ctx.Err() if ctx ended while the
// job waited. A deadline of ctx is one of the job too. The job is the caller's
// again when Do returns: nothing works on it any more, whatever ended.
func (p *Pool) Do(ctx context.Context, j *Job, w Work) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	within := j.Within
	if at, ok := ctx.Deadline(); ok {
		if within == 0 {
			within = p.s.o.Deadline
		}
		within = max(min(within, time.Until(at)), 1)
	}
	j.task = task{work: w}
	defer p.unlockAfterPanic(j)
	p.lock(j)
	now := p.Now()
	started, err := p.s.arrive(now, j, within, true /* at once */)
	if err != nil {
		p.unlock(j)
		return err
	}
	for {
		if started {
			j.task.verdict = begin
		} else {
			p.dispatch(now, j)
		}
		if err := p.await(ctx, j); err != nil {
			return err
		}
		if j.task.verdict == ended {
			return j.task.outcome
		}
		again, err := p.run(ctx, j)
		if !again {
			return err
		}
		// The lock is held, and the job waits for the other place.
		now, started = p.Now(), false
	}
}

// lock takes the lock on the goroutine that a job is of, unless it has it, as it panicked
// meanwhile.
func (p *Pool) lock(j *Job) {
	if !j.task.locks {
		p.mu.Lock()
		j.task.locks = true
	}
}

func (p *Pool) unlock(j *Job) {
	j.task.locks = false
	p.mu.Unlock()
}

// unlockAfterPanic gives the lock back that the goroutine of a job still holds when its Do ends,
// since the scheduler panicked. That is a bug; the other queries are not to wait for it for ever.
func (p *Pool) unlockAfterPanic(j *Job) {
	if j.task.locks {
		defer p.unlock(j)
		p.giveUp(j)
	}
}

// await unlocks the pool and waits until the job, for which nothing more is
// dispatched, has a verdict. An error says that it has none: that of ctx, the job having
// been cancelled, or *Overload, since its deadline came too near.
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
	defer p.waiters.Put(w)
	t.bell = w.bell
	last, now, gone := p.s.lastStart(j), p.Now(), ctx.Done()
	p.unlock(j)
	for {
		select {
		case <-w.bell:
			w.stop()
			p.lock(j)
			if t.verdict != undecided {
				p.unlock(j)
				w.hush()
				return nil
			}
			last, now = p.s.lastStart(j), p.Now() // the batch that ran it failed
			p.unlock(j)
		case <-w.lateAfter(last, now):
			if overload := p.expire(j); overload != nil {
				w.hush()
				return overload
			}
			last = Never // a batch runs it
		case <-gone:
			w.stop()
			p.lock(j)
			at := p.Now()
			if t.verdict == undecided && p.s.Cancel(at, j) {
				p.dispatch(at, nil)
				p.unlock(j)
				w.hush()
				return ctx.Err()
			}
			t.gone = ctx.Err()
			p.unlock(j)
			last, gone = Never, nil // it has a server, or is in a batch that runs
		}
	}
}

// numRings is how often a bell may be rung before it is heard: once to wait again, and once with
// a verdict.
const numRings = 2

// stop stops the timer.
func (w *waiter) stop() {
	if w.late != nil {
		w.late.Stop()
	}
}

// hush forgets what was not heard: nobody rings any more.
func (w *waiter) hush() {
	select {
	case <-w.bell:
	default:
	}
}

// lateAfter returns a channel on which something comes when it is later than last, nil if
// that is never.
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

// expire sheds a job that waits and cannot end by its deadline any more; nil: it does not
// wait.
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

// dispatch gives work to idle servers until there is none for them. self is the
// job of the goroutine that calls: its bell is not rung. The lock is held.
func (p *Pool) dispatch(now time.Duration, self *Job) {
	if p.s.Queued() == 0 {
		return
	}
	wakeAt := Never
	for place := range Place(NumPlaces) {
		for {
			jobs, wake := p.s.Next(now, place, p.picked[:0])
			p.picked = jobs
			if len(jobs) == 0 {
				wakeAt = min(wakeAt, wake)
				break
			}
			leader := jobs[0]
			if leader.task.batch = nil; len(jobs) > 1 {
				leader.task.batch = p.batchOf(jobs)
			}
			p.tell(leader, self, begin, nil)
			clear(jobs)
		}
	}
	if len(p.s.expired) > 0 {
		p.picked = p.s.Expired(p.picked[:0])
		for _, j := range p.picked {
			p.tell(j, self, ended, &Overload{Reason: Expired, RetryAfter: p.retryAfter(now)})
		}
		clear(p.picked)
	}
	if wakeAt < p.wakeAt {
		p.wakeAt = wakeAt
		p.setTimer(wakeAt - now)
	}
}

// retryAfter is when half of what waits now will have run.
func (p *Pool) retryAfter(now time.Duration) time.Duration {
	least := Never
	for place := range Place(NumPlaces) {
		least = min(least, p.s.Wait(now, place))
	}
	return min(max(least/2, time.Millisecond), longest)
}

// tell gives a job its verdict.
func (p *Pool) tell(j, self *Job, v verdict, outcome error) {
	t := &j.task
	t.verdict, t.outcome = v, outcome
	if j == self {
		return
	}
	t.bell <- struct{}{}
}

// ring tells a job that it waits again, if that is not on its way to it already.
func (t *task) ring() {
	if len(t.bell) == 0 {
		t.bell <- struct{}{}
	}
}

// setTimer has tick called after d.
func (p *Pool) setTimer(d time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(d, p.tick)
		return
	}
	p.timer.Reset(d)
}

// tick asks whether what nobody moved can begin now.
func (p *Pool) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wakeAt = Never
	p.dispatch(p.Now(), nil)
}

// batchOf makes a batch of jobs that a lane runs.
func (p *Pool) batchOf(jobs []*Job) *batch {
	var b *batch
	if last := len(p.spare) - 1; last >= 0 {
		b = p.spare[last]
		p.spare = p.spare[:last]
	} else {
		b = new(batch)
	}
	for _, j := range jobs {
		b.jobs = append(b.jobs, j)
		b.works = append(b.works, j.task.work)
		b.outcomes = append(b.outcomes, nil)
	}
	return b
}

// pinFrom is the predicted time from which a job is pinned: pinning and unpinning
// take about 5 µs, and docs/divergence.md says what they gained (BenchmarkPin).
const pinFrom = 100 * time.Microsecond

// run runs a job, or the batch that it leads, gives the server back and says
// whether the job waits again, for another place: the lock is then held. If the
// work panics, everything is given back and the panic goes on.
func (p *Pool) run(ctx context.Context, j *Job) (again bool, err error) {
	if j.task.batch != nil {
		return p.lead(ctx, j)
	}
	returned := false
	defer func() {
		if !returned {
			p.lock(j)
			defer p.unlock(j)
			p.giveUp(j)
		}
	}()
	p.pin(j)
	defer p.unpin(j)
	err = j.task.work.Run(ctx, j.Place)
	returned = true
	p.lock(j)
	if p.finish(j, err) {
		return true, nil
	}
	p.unlock(j)
	return false, err
}

// pin binds the thread of a job that runs on the CPU, if it is to be, to a processor.
func (p *Pool) pin(j *Job) {
	if p.cores == nil || j.Place != CPU || j.Cost[CPU] < pinFrom {
		return
	}
	if core := p.cores.pin(); core >= 0 {
		j.task.core, j.task.pinned = core, true
	}
}

func (p *Pool) unpin(j *Job) {
	if j.task.pinned {
		j.task.pinned = false
		p.cores.unpin(j.task.core)
	}
}

// giveUp gives the server of a job back, or its place in a queue, as its work or the scheduler
// panicked. It may have neither, after a Switch in vain. The lock is held.
func (p *Pool) giveUp(j *Job) {
	now := p.Now()
	switch j.state {
	case running:
		p.s.Done(now, j.Place, append(p.one[:0], j), 0)
	case waiting:
		p.s.Cancel(now, j)
	default:
		return
	}
	p.dispatch(now, j)
}

// finish gives the server of a job back that ran by itself and says whether the
// job waits again. The lock is held.
func (p *Pool) finish(j *Job, err error) (again bool) {
	if j.state != running { // it was cancelled while it waited in a Switch
		return false
	}
	now := p.Now()
	one := append(p.one[:0], j)
	if again = errors.Is(err, ErrFailed); again {
		again = len(p.fail(now, j.Place, one, err)) == 0
		j.task.verdict = undecided
	} else {
		p.s.Done(now, j.Place, one, now-j.Began)
	}
	if !again {
		p.dispatch(now, j)
	}
	return again
}

// fail ends the run of jobs that failed, takes the place away if it is lost, and
// returns the jobs that can run nowhere. The lock is held.
func (p *Pool) fail(now time.Duration, at Place, jobs []*Job, err error) (nowhere []*Job) {
	if errors.Is(err, ErrLost) {
		p.lose(now, at)
	}
	return p.s.Fail(now, at, jobs, nil)
}

// lose takes a place away and ends what can run nowhere now. The lock is held.
func (p *Pool) lose(now time.Duration, at Place) {
	for _, j := range p.s.Lose(now, at, nil) {
		p.tell(j, nil, ended, fmt.Errorf("%w: the %s was lost", ErrNoPlace, at))
	}
}

// Lose takes a place away, as if work had returned ErrLost: what waits for it
// goes to the other place.
func (p *Pool) Lose(at Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	p.lose(now, at)
	p.dispatch(now, nil)
}

// Regain gives a place back that was lost.
func (p *Pool) Regain(at Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.s.Regain(at)
	p.dispatch(p.Now(), nil)
}

// Switch gives the job's server back and waits for one of another place, between
// two steps of its work. Job.Place then says where it goes on: where it was, if the other
// place was lost meanwhile. ErrNoPlace says that it still has its server, and goes on
// there. With any other error the job has no server, and its work returns the error at
// once: that of ctx, or ErrLost if no place is left. Only for work that runs by itself, on
// the goroutine that called Do.
func (p *Pool) Switch(ctx context.Context, j *Job, to Place) error {
	if j.Place == to {
		return nil
	}
	p.unpin(j)
	err := p.move(ctx, j, to)
	if err == nil || errors.Is(err, ErrNoPlace) {
		p.pin(j)
	}
	return err
}

// move is Switch of a job that is not pinned.
func (p *Pool) move(ctx context.Context, j *Job, to Place) error {
	p.lock(j)
	now := p.Now()
	if err := p.s.Switch(now, j, to); err != nil {
		p.unlock(j)
		return err
	}
	j.task.verdict = undecided
	p.dispatch(now, j)
	if err := p.await(ctx, j); err != nil {
		return err
	}
	if j.task.verdict == ended { // there is no place for it any more
		return fmt.Errorf("while it waited for the %s: %w", to, ErrLost)
	}
	return nil
}

// Wait predicts how long a job that arrived now would wait for a server: 0 on an
// idle machine, Never if the place is lost or has none.
func (p *Pool) Wait(at Place) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.s.Wait(p.Now(), at)
}

// Free reports whether a job that arrived now would not wait for a server, or may say that
// it would while jobs wait which it would overtake. Unlike Wait, it takes no lock.
func (p *Pool) Free(at Place) bool { return p.s.places[at].free.Load() }

// Stats returns what was done so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.s.Stats(p.Now())
}
