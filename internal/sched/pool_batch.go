package sched

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errLeader is the outcome of the other jobs of a batch whose leader panics, if
// no place can run them.
var errLeader = fmt.Errorf("the work that led the batch panicked: %w", ErrFailed)

// lead runs the batch that the job leads; its results are run's. If the
// work panics, the panic continues, and the others run again, because the job
// that caused it is unknown.
func (p *Pool) lead(ctx context.Context, j *Job) (again bool, err error) {
	b := j.task.batch
	returned := false
	defer func() {
		if !returned {
			for i := range b.outcomes {
				b.outcomes[i] = errLeader
			}
			b.outcomes[0] = nil // the leader has ended
			p.lock(j)
			p.finishBatch(j, b, p.s.rerun)
			p.unlock(j)
		}
	}()
	j.task.work.RunBatch(context.WithoutCancel(ctx), b.works, b.outcomes)
	returned = true
	err = b.outcomes[0]
	p.lock(j)
	if p.finishBatch(j, b, p.s.retry) {
		return true, nil
	}
	p.unlock(j)
	return false, err
}

// finishBatch releases the lane, requeues jobs whose outcome is ErrFailed if again finds
// a place for them, and tells the rest their outcome. It reports whether the leader
// waits again. If the scheduler panics, the panic continues in the leader's Do, and
// batch.abandon ends the others. The lock is held.
func (p *Pool) finishBatch(leader *Job, b *batch, again func(time.Duration, Place, *Job) bool) (waits bool) {
	now := p.Now()
	at := leader.Place
	settled, returned := 0, false
	defer func() {
		if !returned {
			b.abandon(p, at, leader, settled)
		}
	}()
	failed := 0
	var lost error
	for _, err := range b.outcomes {
		if errors.Is(err, ErrFailed) {
			failed++
		}
		if errors.Is(err, ErrLost) {
			lost = err
		}
	}
	if lost != nil {
		p.lose(now, at)
	}
	took := now - leader.Began
	if failed > 0 {
		took = 0
	}
	p.s.Done(now, at, b.jobs, took)
	for i, j := range b.jobs {
		settled = i
		err := b.outcomes[i]
		if errors.Is(err, ErrFailed) && j != leader && j.task.gone != nil {
			err = j.task.gone
		}
		if errors.Is(err, ErrFailed) && again(now, at, j) {
			j.task.decide(undecided)
			if j == leader {
				waits = true
			} else {
				p.sweeper.add(j, now)
				p.bells.rest = append(p.bells.rest, j.task.bell)
			}
			continue
		}
		if j != leader {
			p.tell(j, nil, ended, err)
		}
	}
	returned = true
	clear(b.jobs)
	clear(b.works)
	clear(b.outcomes)
	b.jobs, b.works, b.outcomes = b.jobs[:0], b.works[:0], b.outcomes[:0]
	p.spare = append(p.spare, b)
	if !waits {
		p.dispatch(now, leader)
	}
	return waits
}

// abandon frees the lane of a batch and ends its jobs from one on, without the leader, after the
// scheduler panicked: nothing else would end them. A job whose place failed gets errScheduler. The lock
// is held.
func (b *batch) abandon(p *Pool, at Place, leader *Job, from int) {
	now := p.Now()
	defer p.dispatch(now, leader)
	defer func() {
		for i := from; i < len(b.jobs); i++ {
			if b.jobs[i] != leader {
				b.abandonJob(p, now, i)
			}
		}
	}()
	if leader.entry.state == running { // and so do the others
		p.s.Done(now, at, b.jobs, 0)
	}
}

func (b *batch) abandonJob(p *Pool, now time.Duration, i int) {
	j, err := b.jobs[i], b.outcomes[i]
	if errors.Is(err, ErrFailed) {
		err = errScheduler
	}
	defer p.tell(j, nil, ended, err) // also if there is another panic
	p.s.Cancel(now, j)
}
