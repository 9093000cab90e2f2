package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Work is the work of a job.
type Work interface {
	// Run does the work at a place, on the goroutine that called Do. After an
	// error that wraps ErrFailed or ErrLost, the pool tries the other place.
	// Run may call Pool.Switch between its steps.
	Run(ctx context.Context, at Place) error
	// RunBatch does the work of all jobs of a batch on the GPU, on the goroutine
	// of the leader, whose work is all[0]. It sets outcomes[i], initially nil, to
	// the error that Run of all[i] would return. ctx has the values of the
	// leader's context but is never cancelled. all and outcomes belong to the pool
	// again when it returns. If it panics, the panic continues in the leader's Do,
	// and the pool calls Run of each of the others, which must repeat all of the
	// work.
	RunBatch(ctx context.Context, all []Work, outcomes []error)
}

// Pool runs work on the processors of this machine, as its Scheduler decides.
// It has no goroutines: work runs on the submitting goroutine; a leader runs
// its batch. Safe for concurrent use.
type Pool struct {
	start   time.Time
	cores   *cores // nil: threads are not pinned
	waiters waiters

	mu     sync.Mutex
	s      *Scheduler
	picked []*Job // for Next and Expired
	one    []*Job
	timer  *time.Timer // calls Next again; nil before its first use
	wakeAt time.Duration
	spare  []*batch
	bells  *bells // to ring once the lock is released

	inbox      inbox
	sweeper    sweeper
	promptness promptness
	throttle   throttle
}

type task struct {
	work    Work
	batch   *batch        // the batch that the job leads; nil: it runs alone
	bell    chan struct{} // signalled when the state of the wait has changed; belongs to the pool
	verdict uint32        // a verdict; written with the lock held, after the other results, and read without it
	outcome error
	gone    error // why its context ended while another job's goroutine ran it
	core    int   // core of its thread, if pinned
	pinned  bool
	locks   bool // its goroutine holds the pool's lock

	// While it is in the inbox:
	older  *Job
	within time.Duration
}

// verdict is the next action of a job that waited.
type verdict = uint32

const (
	undecided verdict = iota
	begin             // it has a server
	ended             // with task.outcome
)

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
	p := &Pool{start: time.Now(), s: s, wakeAt: Never, one: make([]*Job, 0, 1), bells: new(bells)}
	p.inbox.pool, p.inbox.turn, p.sweeper = p, admitsInTurn, sweeper{pool: p, at: Never}
	if o.Pin {
		p.cores = newCores(s.o.CPUs)
	}
	return p, nil
}

// Now returns the time of the pool's clock, which is the clock of Job.Arrived
// and Job.Deadline.
func (p *Pool) Now() time.Duration { return time.Since(p.start) }

// TimeOf converts a time of the pool's clock.
func (p *Pool) TimeOf(at time.Duration) time.Time { return p.start.Add(at) }

// Options returns the options with the defaults filled in.
func (p *Pool) Options() Options { return p.s.o }

// Do waits for a server and runs the work of the job there, without allocation
// on an idle pool. It returns the error of the work, *Overload if the job was
// shed, ErrNoPlace, or ctx.Err() if ctx ended while the job waited. A deadline
// of ctx also applies to the job, unless it is Admitted. When Do returns, the
// caller may reuse the job.
func (p *Pool) Do(ctx context.Context, j *Job, w Work) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	within := j.Within
	if at, ok := ctx.Deadline(); ok && !j.Admitted {
		if within == 0 {
			within = p.s.o.Deadline
		}
		within = max(min(within, time.Until(at)), 1)
	}
	counts := !j.Admitted && j.can(GPU)
	if counts {
		p.throttle.jobs.Add(1)
	}
	if err := p.s.closing.sheds(p, j, within); err != nil {
		p.throttle.countShed(cmp.Or(within, p.s.o.Deadline), err)
		return err
	}
	j.task = task{work: w}
	returned := false
	defer func() {
		if !returned {
			p.leaveAfterPanic(j)
		}
	}()
	err := p.do(ctx, j, within)
	returned = true
	if counts && err != nil {
		p.throttle.countShed(cmp.Or(within, p.s.o.Deadline), err)
	}
	return err
}

func (p *Pool) do(ctx context.Context, j *Job, within time.Duration) error {
	if err := p.arrive(ctx, j, within); err != nil {
		return err
	}
	for {
		if j.task.decided() == ended {
			return j.task.outcome
		}
		again, err := p.run(ctx, j)
		if !again {
			return err
		}
		// The lock is held, and the job waits for the other place.
		now := p.Now()
		p.dispatch(now, j)
		if err := p.await(ctx, j, now); err != nil {
			return err
		}
	}
}

// arrive lets a job arrive and waits for its verdict. With an error there is none.
func (p *Pool) arrive(ctx context.Context, j *Job, within time.Duration) error {
	if !p.mu.TryLock() {
		return p.inbox.post(ctx, j, within)
	}
	j.task.locks = true
	p.inbox.admit()
	now := p.Now()
	started, err := p.s.arrive(now, j, within, true /* at once */)
	if err != nil {
		p.unlock(j)
		return err
	}
	if started {
		j.task.decide(begin)
	} else {
		p.dispatch(now, j)
	}
	return p.await(ctx, j, now)
}

// lock takes the lock, unless the job's goroutine still holds it after a panic.
func (p *Pool) lock(j *Job) {
	if !j.task.locks {
		p.mu.Lock()
		j.task.locks = true
		p.inbox.admit()
	}
}

// acquire takes the lock, to be released by release. After a panic it is free.
func (p *Pool) acquire() {
	p.mu.Lock()
	admitted := false
	defer func() {
		if !admitted {
			p.release()
		}
	}()
	p.inbox.admit()
	admitted = true
}

func (p *Pool) unlock(j *Job) {
	j.task.locks = false
	p.release()
}

// leaveAfterPanic lets other queries continue if the scheduler panicked on the goroutine of the job, with or without the
// lock: no other goroutine may start the job after Do.
func (p *Pool) leaveAfterPanic(j *Job) {
	p.lock(j)
	defer p.unlock(j)
	p.giveUp(j)
}

// dispatch gives work to idle servers. self is the job of the calling
// goroutine, which is not signalled. The lock is held.
func (p *Pool) dispatch(now time.Duration, self *Job) {
	p.adjust(now)
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

// retryAfter predicts when half of the waiting jobs will have run.
func (p *Pool) retryAfter(now time.Duration) time.Duration {
	least := Never
	for place := range Place(NumPlaces) {
		least = min(least, p.s.Wait(now, place))
	}
	return min(max(least/2, time.Millisecond), longest)
}

// tell gives a job its verdict, and rings its bell once the lock is released; self is the calling
// goroutine's job, which is not signalled. The job must not be used afterwards.
func (p *Pool) tell(j, self *Job, v verdict, outcome error) {
	t := &j.task
	bell := t.bell // before the verdict, with which the job may go
	t.outcome = outcome
	t.decide(v)
	switch {
	case j == self:
	case v == begin:
		p.bells.first = append(p.bells.first, bell)
	default:
		p.bells.rest = append(p.bells.rest, bell)
	}
}

func (t *task) decide(v verdict) { atomic.StoreUint32(&t.verdict, v) }

func (t *task) decided() verdict { return atomic.LoadUint32(&t.verdict) }

func (p *Pool) setTimer(d time.Duration) {
	if p.timer == nil {
		p.timer = time.AfterFunc(d, p.tick)
		return
	}
	p.timer.Reset(d)
}

// tick dispatches jobs that can begin because time has passed, without an arrival or an
// end.
func (p *Pool) tick() {
	p.acquire()
	defer p.release()
	p.wakeAt = Never
	p.dispatch(p.Now(), nil)
}

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

// pinFrom is the predicted time from which a job is pinned. Pinning and
// unpinning take about 5 µs; docs/divergence.md lists the gain.
const pinFrom = 100 * time.Microsecond

// run runs a job, or the batch that it leads, and releases the server. again means that
// the job waits for another place; the lock is then held. If the work panics, run
// releases everything and the panic continues.
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

// giveUp releases the server or the position in a queue of a job after a panic.
// The job may have neither, after an unsuccessful Switch. The lock is held.
func (p *Pool) giveUp(j *Job) {
	now := p.Now()
	switch j.entry.state {
	case running:
		p.s.Done(now, j.Place, append(p.one[:0], j), 0)
	case waiting:
		p.s.Cancel(now, j)
	default:
		return
	}
	p.dispatch(now, j)
}

// finish releases the server of a job that ran alone, and reports whether the job waits
// again. The lock is held.
func (p *Pool) finish(j *Job, err error) (again bool) {
	if j.entry.state != running { // cancelled while it waited in a Switch
		return false
	}
	now := p.Now()
	one := append(p.one[:0], j)
	if again = errors.Is(err, ErrFailed); again {
		again = len(p.fail(now, j.Place, one, err)) == 0
		j.task.decide(undecided)
	} else {
		p.s.Done(now, j.Place, one, now-j.Began)
	}
	if !again {
		p.dispatch(now, j)
	}
	return again
}

// fail ends a failed run, marks the place as lost if the error is ErrLost, and returns
// the jobs that no place can run. The lock is held.
func (p *Pool) fail(now time.Duration, at Place, jobs []*Job, err error) (nowhere []*Job) {
	if errors.Is(err, ErrLost) {
		p.lose(now, at)
	}
	return p.s.Fail(now, at, jobs, nil)
}

// lose ends the jobs that no other place can run. The lock is held.
func (p *Pool) lose(now time.Duration, at Place) {
	for _, j := range p.s.Lose(now, at, nil) {
		p.tell(j, nil, ended, fmt.Errorf("%w: the %s was lost", ErrNoPlace, at))
	}
}

// Lose marks a place lost, as if work had returned ErrLost: its waiting jobs
// move to the other place.
func (p *Pool) Lose(at Place) {
	p.acquire()
	defer p.release()
	now := p.Now()
	p.lose(now, at)
	p.dispatch(now, nil)
}

// Regain makes a lost place available again.
func (p *Pool) Regain(at Place) {
	p.acquire()
	defer p.release()
	p.s.Regain(at)
	p.dispatch(p.Now(), nil)
}

// Switch releases the job's server and waits for a server of another place. The
// job continues at Job.Place: its old place if the other was lost meanwhile.
// With ErrNoPlace the job still has its server and continues there. Any other
// error the work must return at once: the error of ctx, or ErrLost if no place
// is left. Only for work that runs alone, on the goroutine that called Do.
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

// move is Switch for a job that is not pinned.
func (p *Pool) move(ctx context.Context, j *Job, to Place) error {
	p.lock(j)
	now := p.Now()
	if err := p.s.Switch(now, j, to); err != nil {
		p.unlock(j)
		return err
	}
	j.task.decide(undecided)
	p.dispatch(now, j)
	if err := p.await(ctx, j, now); err != nil {
		return err
	}
	if j.task.decided() == ended { // no place can run it any more
		return fmt.Errorf("while it waited for the %s: %w", to, ErrLost)
	}
	return nil
}

// Wait predicts how long an arriving job would wait for a server: 0 on an idle
// machine, Never if the place is lost or has none.
func (p *Pool) Wait(at Place) time.Duration {
	if p.Free(at) {
		return 0
	}
	p.acquire()
	defer p.release()
	return p.s.Wait(p.Now(), at)
}

// Free reports, without a lock, whether an arriving job would find an idle
// server. It may return false while jobs wait that the job would overtake.
func (p *Pool) Free(at Place) bool { return p.s.queues.places[at].free.Load() }

// Busy reports, without a lock, whether a server runs something.
func (p *Pool) Busy(at Place) bool { return p.s.queues.places[at].busy.Load() }

// Stats returns statistics up to now.
func (p *Pool) Stats() Stats {
	p.acquire()
	defer p.release()
	s := p.s.Stats(p.Now())
	p.throttle.count(&s)
	return s
}
