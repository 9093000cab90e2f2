package sched

import (
	"time"

	"github.com/griffin-search/griffin/internal/invariant"
)

// Scheduler decides which job runs next and where. The argument now of its
// methods never decreases. Every admitted job comes out exactly once: of Next,
// after which it returns by Done, Fail or Switch; or of Expired, Expire or
// Cancel. Not safe for concurrent use.
type Scheduler struct {
	o       Options
	rules   queueRules
	queues  queues
	seq     uint64
	expired []*Job
	passed  [NumPlaces]bool // a place got a job that was too late for the other, and was not asked since
	groups  groups
	trialAt time.Duration // earliest time of the next trial of a late job
	gap     time.Duration // moving mean of the time between arrivals at the GPU
	last    time.Duration // the last such arrival
	counts  counts
	closing closing
	one     []*Job
}

// New returns a scheduler. The error wraps base.ErrBadInput.
func New(o Options) (*Scheduler, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Scheduler{o: o, rules: rules[o.Policy], gap: 16 * o.Window, one: make([]*Job, 0, 1)}
	s.queues.init(&s.o)
	s.groups = newGroups(o.Threshold)
	return s, nil
}

// Options returns the options with defaults filled in.
func (s *Scheduler) Options() Options { return s.o }

// Queued returns the number of waiting jobs.
func (s *Scheduler) Queued() int { return s.queues.queued() }

// Arrive admits a job, which then waits until Next returns it. It returns
// *Overload if the job is shed, or ErrNoPlace; in both cases the job belongs to
// the caller again.
func (s *Scheduler) Arrive(now time.Duration, j *Job) error {
	_, err := s.arrive(now, j, j.Within, false /* at once */)
	return err
}

// arrive is Arrive with an explicit time to the deadline. With atOnce a job
// that finds an idle server begins there, and running is true.
func (s *Scheduler) arrive(now time.Duration, j *Job, within time.Duration, atOnce bool) (running bool, err error) {
	switch {
	case j.Admitted:
		within = Never
	case within == 0:
		within = s.o.Deadline
	}
	s.seq++
	j.entry.seq, j.entry.index = s.seq, [2]int32{-1, -1}
	j.Arrived, j.Deadline, j.entry.since = now, plus(now, within), now
	j.Queued, j.Batch, j.Stolen, j.Moves, j.entry.solo, j.entry.state = 0, 0, false, 0, j.Alone, idle
	p, g, end, ok := s.choose(now, j)
	if !ok {
		return false, ErrNoPlace
	}
	s.counts.arrived++
	if !j.Admitted && s.o.MaxQueue >= 0 && s.queues.queued() >= s.o.MaxQueue && s.waits(now, j, p, g) {
		return false, s.shed(now, end, j, QueueFull)
	}
	if j.entry.trial = false; !s.o.RunLate && end > j.Deadline {
		if j.entry.trial = s.tries(now, j, p); !j.entry.trial {
			return false, s.shed(now, end, j, TooLate)
		}
	}
	if p == GPU && s.o.Window > 0 {
		s.gap += (min(now-s.last, 16*s.o.Window) - s.gap) / 8
		s.last = now
	}
	if atOnce && g == own && s.queues.free(p) && (p == CPU || s.o.Window == 0 && !s.waitsBeside(j)) {
		s.begin(now, p, append(s.one[:0], j), j.adds(p), j.Cost[p]-j.adds(p))
		return true, nil
	}
	s.queues.enqueue(now, j, p, g)
	return false, nil
}

// waitsBeside reports whether an arriving job waits for others at an idle lane, because another is busy.
func (s *Scheduler) waitsBeside(j *Job) bool {
	return s.o.Beside > 1 && j.Batched > 0 && !j.entry.solo && s.queues.places[GPU].busy.Load()
}

// waits reports whether an arriving job is predicted to wait for a server: at p, or for
// the third group at every place that can run it.
func (s *Scheduler) waits(now time.Duration, j *Job, p Place, g group) bool {
	for q := range Place(NumPlaces) {
		if (q == p || g == open) && s.queues.present(j, q) && s.end(now, j, q) == plus(now, j.Cost[q]) {
			return false
		}
	}
	return true
}

// Jobs that are predicted to be late are tried from time to time: otherwise
// they would never be measured, and a wrong prediction would persist.
const (
	// trialPause is the pause after a trial, as a multiple of its measured or
	// predicted time.
	trialPause = 16
	// trialReach is the largest assumed factor of an error: costs are corrected by
	// up to 20, and inflated for uncertainty by up to 3.
	trialReach = 60
)

// tries reports whether to run a job although it is predicted to be late: only on an
// idle place, and not too often.
func (s *Scheduler) tries(now time.Duration, j *Job, p Place) bool {
	cost := min(j.Cost[p], longest)
	if now < s.trialAt || !s.queues.free(p) || cost/trialReach > j.Deadline-now {
		return false
	}
	s.trialAt = now + trialPause*cost
	return true
}

// shed counts a job that is shed on arrival and returns its error. end is the predicted end of the job.
func (s *Scheduler) shed(now, end time.Duration, j *Job, why Reason) error {
	s.counts.shed[why]++
	retry, within := (end-now)/2, Never
	if why == TooLate {
		retry, within = end-j.Deadline, j.Deadline-now
	}
	if s.queues.feeds(j, s.o.Feeding) {
		s.closing.begin(now, end, within, why)
	}
	return &Overload{Reason: why, RetryAfter: min(max(retry, time.Millisecond), longest)}
}

// end predicts the time at which a job that arrives now would end at p; Never if it
// cannot run there.
func (s *Scheduler) end(now time.Duration, j *Job, p Place) time.Duration {
	if !s.queues.present(j, p) {
		return Never
	}
	st := &s.queues.places[p]
	wait := st.wait(now, j.adds(p))
	if p == CPU {
		return plus(now+wait, j.Cost[p])
	}
	if wait == 0 {
		wait = s.gather()
	}
	ahead := time.Duration(0)
	if st.waiting > 0 {
		ahead = st.ahead(j.adds(p), 0)
	}
	return st.orLate(now, j, plus(now+wait, j.Cost[p]), ahead)
}

// promote moves jobs that have waited long enough: jobs near their deadline
// into urgent, jobs of the third group to the place with the earlier predicted
// end.
func (s *Scheduler) promote(now time.Duration) {
	for j := s.queues.watch.first(); j != nil && j.entry.key[inWatch] <= now; j = s.queues.watch.first() {
		g, p := j.entry.group, j.entry.aimed
		s.queues.take(j)
		if g == open && s.end(now, j, p.Other()) < s.end(now, j, p) {
			p = p.Other()
		}
		if s.queues.urgentAt(j) <= now {
			s.queues.put(j, p, urgent)
		} else {
			s.queues.put(j, p, own)
		}
	}
}

// Next appends to dst the work for an idle server of p: one job, or a batch
// with the leader first. If there is none, wake is the time to ask again unless
// a job arrives or ends before. Jobs that can no longer meet their deadline
// come out of Expired.
func (s *Scheduler) Next(now time.Duration, p Place, dst []*Job) (jobs []*Job, wake time.Duration) {
	st := &s.queues.places[p]
	s.passed[p] = false
	if st.lost || len(st.idle) == 0 {
		return dst, s.wake(now, p, Never)
	}
	s.promote(now)
	if until := s.gathering(now, p); until > now {
		return dst, s.wake(now, p, until)
	}
	leader, wake := s.pick(now, p)
	if leader == nil {
		return dst, s.wake(now, p, wake)
	}
	from := len(dst)
	dst = append(dst, leader)
	adds := leader.adds(p)
	fixed := leader.Cost[p] - adds
	if p == GPU && !leader.entry.solo {
		dst, adds, fixed = s.fill(now, dst, from)
	}
	s.begin(now, p, dst[from:], adds, fixed)
	return dst, Never
}

// wake returns the time to ask again if p has nothing to run until then: now,
// if the other place meanwhile got a job that it can begin.
func (s *Scheduler) wake(now time.Duration, p Place, until time.Duration) time.Duration {
	if q := p.Other(); s.passed[q] && len(s.queues.places[q].idle) > 0 {
		return now
	}
	return until
}

// begin starts a run of jobs, which must be in no queue.
func (s *Scheduler) begin(now time.Duration, p Place, jobs []*Job, adds, fixed time.Duration) {
	server := s.queues.places[p].begin(now, adds, fixed, len(jobs))
	for _, j := range jobs {
		j.entry.state, j.entry.server, j.Place, j.Began, j.Batch = running, server, p, now, len(jobs)
		j.Queued += now - j.entry.since
	}
	s.counts.began(p, jobs)
}

// Expired appends the admitted jobs that could no longer meet their deadline,
// and removes them.
func (s *Scheduler) Expired(dst []*Job) []*Job {
	dst = append(dst, s.expired...)
	clear(s.expired)
	s.expired = s.expired[:0]
	return dst
}

// Done ends a run of jobs, as Next returned them (without those that switched).
// took is the time of the run; 0 if it must not be compared with the
// prediction.
func (s *Scheduler) Done(now time.Duration, p Place, jobs []*Job, took time.Duration) {
	s.release(now, p, jobs, took)
	s.counts.ended += int64(len(jobs))
}

// release frees the server of a run of jobs. The time that it took is 0 if it is unknown.
func (s *Scheduler) release(now time.Duration, p Place, jobs []*Job, took time.Duration) {
	st := &s.queues.places[p]
	first := jobs[0]
	invariant.Check(first.entry.state == running && first.Place == p && st.runs[first.entry.server].jobs == len(jobs), "sched: released a job that does not run")
	s.counts.busy[p] += now - st.runs[first.entry.server].start
	st.end(first.entry.server, took)
	for _, j := range jobs {
		if j.entry.state = idle; j.entry.trial {
			s.trialAt = now + trialPause*(now-j.Began)
		}
	}
}

// Fail ends a run at p without result. Jobs that can run at the other place
// wait there, with their arrival and deadline, even if the queue is full. The
// others have ended and are appended to dst.
func (s *Scheduler) Fail(now time.Duration, p Place, jobs, dst []*Job) []*Job {
	s.release(now, p, jobs, 0)
	s.counts.failed += int64(len(jobs))
	for _, j := range jobs {
		dst = s.evict(now, j, p, dst)
	}
	return dst
}

// evict moves a job that was at p to the queue of the other place, or appends it to dst
// if it cannot run there.
func (s *Scheduler) evict(now time.Duration, j *Job, p Place, dst []*Job) []*Job {
	if !s.queues.present(j, p.Other()) {
		s.counts.ended++
		return append(dst, j)
	}
	j.Cost[p] = Never
	s.queues.enqueue(now, j, p.Other(), own)
	return dst
}

// retry lets a job wait at the other place whose run at p failed but was counted as
// done. It returns false if the job cannot run there.
func (s *Scheduler) retry(now time.Duration, p Place, j *Job) bool {
	s.counts.failed++
	if !s.queues.present(j, p.Other()) {
		return false
	}
	s.counts.ended--
	j.Cost[p] = Never
	s.queues.enqueue(now, j, p.Other(), own)
	return true
}

// rerun lets a job wait again whose run at p was aborted by another job's panic but was
// counted as done: at the other place or, if it cannot run there, alone at p. It returns
// false if the job can run nowhere.
func (s *Scheduler) rerun(now time.Duration, p Place, j *Job) bool {
	if s.retry(now, p, j) {
		return true
	}
	if !s.queues.present(j, p) {
		return false
	}
	s.counts.ended--
	j.entry.solo = true
	s.queues.enqueue(now, j, p, own)
	return true
}

// Lose marks a place lost until Regain. Its waiting jobs wait for the other
// place; jobs that no place can run have ended and are appended to dst. Runs at
// p continue until Done or Fail.
func (s *Scheduler) Lose(now time.Duration, p Place, dst []*Job) []*Job {
	st := &s.queues.places[p]
	st.setLost(true)
	for _, h := range []*jobHeap{&st.urgent, &st.queue, &s.queues.open} {
		var moving []*Job
		for _, j := range h.jobs {
			if h != &s.queues.open || j.entry.aimed == p {
				moving = append(moving, j)
			}
		}
		for _, j := range moving {
			s.queues.take(j)
			j.entry.state = idle
			j.Queued += now - j.entry.since
			dst = s.evict(now, j, p, dst)
		}
	}
	return dst
}

// Regain makes a lost place available again. A place without servers stays
// lost.
func (s *Scheduler) Regain(p Place) { s.queues.places[p].setLost(len(s.queues.places[p].runs) == 0) }

// Lost reports whether a place is lost or has no servers.
func (s *Scheduler) Lost(p Place) bool { return s.queues.places[p].lost }

// Cancel removes a waiting job; false if it does not wait.
func (s *Scheduler) Cancel(now time.Duration, j *Job) bool {
	if j.entry.state != waiting {
		return false
	}
	s.queues.take(j)
	j.entry.state = idle
	j.Queued += now - j.entry.since
	s.counts.cancelled++
	return true
}

// lastStart returns the latest time at which a waiting job can begin without being shed;
// Never if it is not shed at any time.
func (s *Scheduler) lastStart(j *Job) time.Duration {
	if s.o.RunLate || j.Deadline == Never || j.Moves > 0 || j.entry.trial {
		return Never
	}
	cost := Never
	for p := range Place(NumPlaces) {
		if s.queues.present(j, p) {
			cost = min(cost, j.Cost[p])
		}
	}
	return j.Deadline - cost // a waiting job can run somewhere
}

// Expire removes a waiting job that can no longer meet its deadline, and reports whether
// it did. Next also removes such jobs, but only if a server is idle.
func (s *Scheduler) Expire(now time.Duration, j *Job) bool {
	if j.entry.state != waiting || now <= s.lastStart(j) {
		return false
	}
	s.queues.take(j)
	j.entry.state = idle
	j.Queued += now - j.entry.since
	s.counts.shed[Expired]++
	return true
}

// Switch ends the run of a job that runs alone and lets it wait for another
// place, where it continues alone. Such a job is not shed. ErrNoPlace: the
// place is lost or cannot run the job, which keeps its server.
func (s *Scheduler) Switch(now time.Duration, j *Job, to Place) error {
	invariant.Check(j.entry.state == running && j.Batch == 1, "sched: switched a job that does not run alone")
	if !s.queues.present(j, to) {
		return ErrNoPlace
	}
	s.release(now, j.Place, append(s.one[:0], j), 0)
	j.entry.solo = true
	j.Moves++
	s.counts.moved++
	s.queues.enqueue(now, j, to, own)
	return nil
}

// Wait predicts how long an arriving job would wait for a server of p: Never if
// the place is lost.
func (s *Scheduler) Wait(now time.Duration, p Place) time.Duration {
	return s.queues.places[p].wait(now, longest)
}
