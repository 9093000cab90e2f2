package sched

import (
	"time"

	"github.com/griffin-search/griffin/internal/invariant"
)

// Scheduler decides which job runs next and where. It has no clock: now is the
// time of the driver's clock, never less than in the call before. Every job that
// Arrive admits comes out exactly once: of Next, and then goes back by Done, Fail
// or Switch, or of Expired, or of Expire or Cancel. Not for several goroutines at once.
type Scheduler struct {
	o       Options
	places  [NumPlaces]station
	open    jobHeap // ding09's third group, by arrival
	watch   jobHeap // what waits, by when it is to be looked at again
	seq     uint64
	expired []*Job
	passed  [NumPlaces]bool // a place got a job that was too late for the other, and was not asked since
	groups  groups
	trialAt time.Duration // when a job that is predicted to be too late is tried next
	gap     time.Duration // between arrivals at the GPU, a moving mean
	last    time.Duration // the last of them
	counts  counts
	one     []*Job // scratch
}

// New returns a scheduler. The error wraps base.ErrBadInput.
func New(o Options) (*Scheduler, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Scheduler{o: o, open: jobHeap{kind: inQueue}, watch: jobHeap{kind: inWatch}, gap: 16 * o.Window, one: make([]*Job, 0, 1)}
	s.places[CPU].open(CPU, o.CPUs, o.Stretch == 0)
	s.places[GPU].open(GPU, o.Lanes, o.Stretch == 0)
	s.groups = newGroups(o.Threshold)
	return s, nil
}

// Options returns the options with the defaults filled in.
func (s *Scheduler) Options() Options { return s.o }

// Queued returns how many jobs wait.
func (s *Scheduler) Queued() int {
	return s.places[CPU].queued() + s.places[GPU].queued() + s.open.len()
}

// Arrive admits a job, which then waits until Next returns it. It returns an
// *Overload if the job is shed, or ErrNoPlace; the job is then the caller's again.
func (s *Scheduler) Arrive(now time.Duration, j *Job) error {
	_, err := s.arrive(now, j, j.Within, false /* at once */)
	return err
}

// arrive is Arrive with another time to the deadline. With atOnce a job for which
// there is an idle server begins there, and running is true: Next would return it
// by itself.
func (s *Scheduler) arrive(now time.Duration, j *Job, within time.Duration, atOnce bool) (running bool, err error) {
	if within == 0 {
		within = s.o.Deadline
	}
	s.seq++
	j.seq, j.index = s.seq, [2]int32{-1, -1}
	j.Arrived, j.Deadline, j.since = now, plus(now, within), now
	j.Queued, j.Batch, j.Stolen, j.Moves, j.solo, j.state = 0, 0, false, 0, j.Alone, idle
	p, g, end, ok := s.choose(now, j)
	if !ok {
		return false, ErrNoPlace
	}
	s.counts.arrived++
	if s.o.MaxQueue >= 0 && s.Queued() >= s.o.MaxQueue && s.waits(now, j, p, g) {
		return false, s.shed(QueueFull, (end-now)/2)
	}
	if j.trial = false; !s.o.RunLate && end > j.Deadline {
		if j.trial = s.tries(now, j, p); !j.trial {
			return false, s.shed(TooLate, end-j.Deadline)
		}
	}
	if p == GPU && s.o.Window > 0 {
		s.gap += (min(now-s.last, 16*s.o.Window) - s.gap) / 8
		s.last = now
	}
	if atOnce && g == own && s.free(p) && (p == CPU || s.o.Window == 0) {
		s.begin(now, p, append(s.one[:0], j), j.Cost[p])
		return true, nil
	}
	s.enqueue(now, j, p, g)
	return false, nil
}

// waits says whether a job that arrives now is predicted to wait: in the third group, wherever
// it can run.
func (s *Scheduler) waits(now time.Duration, j *Job, p Place, g group) bool {
	for q := range Place(NumPlaces) {
		if (q == p || g == open) && s.present(j, q) && s.end(now, j, q) == plus(now, j.Cost[q]) {
			return false
		}
	}
	return true
}

// free says whether a place has an idle server and nothing to run on it.
func (s *Scheduler) free(p Place) bool {
	st := &s.places[p]
	return !st.lost && len(st.idle) > 0 && st.queued() == 0 && s.open.len() == 0
}

// Jobs that are predicted to be too late by themselves are tried now and then, since what
// never runs is never measured, and a prediction that is wrong once would be wrong for ever.
const (
	// trialPause is how many times as long as a trial took, or is predicted to, the next
	// one has to wait.
	trialPause = 16
	// trialReach is how many times as long as a prediction the time to the deadline may
	// be wrong: costs are corrected by up to 20, and doubted by up to 3.
	trialReach = 60
)

// tries says whether a job is to be run though it is predicted to be too late: on a place
// that has nothing else to do, and not too often.
func (s *Scheduler) tries(now time.Duration, j *Job, p Place) bool {
	cost := min(j.Cost[p], longest)
	if now < s.trialAt || !s.free(p) || cost/trialReach > j.Deadline-now {
		return false
	}
	s.trialAt = now + trialPause*cost
	return true
}

// shed counts a job that is shed and returns its error.
func (s *Scheduler) shed(why Reason, after time.Duration) error {
	s.counts.shed[why]++
	return &Overload{Reason: why, RetryAfter: min(max(after, time.Millisecond), longest)}
}

// present says whether the job can run at p, and p is there.
func (s *Scheduler) present(j *Job, p Place) bool { return j.can(p) && !s.places[p].lost }

// end predicts when a job that arrives now would end at p.
func (s *Scheduler) end(now time.Duration, j *Job, p Place) time.Duration {
	if !s.present(j, p) {
		return Never
	}
	wait := s.places[p].wait(now, j.adds(p))
	if p == GPU && wait == 0 {
		wait = s.gather()
	}
	return plus(now+wait, j.Cost[p])
}

// enqueue lets the job wait for p, in a group.
func (s *Scheduler) enqueue(now time.Duration, j *Job, p Place, g group) {
	j.state, j.since = waiting, now
	s.put(j, p, g)
}

// put puts a waiting job into a queue, and under watch.
func (s *Scheduler) put(j *Job, p Place, g group) {
	j.aimed, j.group = p, g
	st := &s.places[p]
	switch g {
	case own:
		st.queue.push(j, s.key(j, p))
	case urgent:
		st.urgent.push(j, j.Deadline-j.Cost[p])
	case open:
		s.open.push(j, j.Arrived)
	}
	s.account(j, +1)
	at := s.urgentAt(j)
	switch g {
	case urgent:
		return
	case open:
		at = min(at, s.patience(j))
	}
	if at != Never {
		s.watch.push(j, at)
	}
}

// account has the places count a waiting job, or forget it.
func (s *Scheduler) account(j *Job, sign int) {
	s.places[j.aimed].account(j, sign)
	if j.group == open {
		s.places[j.aimed.other()].account(j, sign)
	}
}

// take takes a waiting job out of all queues.
func (s *Scheduler) take(j *Job) {
	st := &s.places[j.aimed]
	s.account(j, -1)
	switch j.group {
	case own:
		st.queue.remove(j)
	case urgent:
		st.urgent.remove(j)
	case open:
		s.open.remove(j)
	}
	if j.index[inWatch] >= 0 {
		s.watch.remove(j)
	}
}

// key is when the job should begin at p; see the package comment.
func (s *Scheduler) key(j *Job, p Place) time.Duration {
	cost := min(j.Cost[p], longest)
	affinity := 0.0
	if there := j.Cost[p.other()]; there > cost {
		affinity = 1 - float64(cost)/float64(there)
	}
	key := j.Arrived + time.Duration(s.o.Stretch*float64(cost)*(1-affinity/2))
	if j.Deadline != Never && s.o.Stretch > 0 {
		key = max(min(key, j.Deadline-cost), j.Arrived)
	}
	return key
}

// urgentAt is when the job goes before all others.
func (s *Scheduler) urgentAt(j *Job) time.Duration {
	if j.Deadline == Never {
		return Never
	}
	return j.Arrived + time.Duration(s.o.Urgent*float64(j.Deadline-j.Arrived))
}

// patience is when a job of the third group stops waiting for an idle server.
func (s *Scheduler) patience(j *Job) time.Duration {
	return j.Arrived + time.Duration(s.o.Stretch*float64(min(j.Cost[CPU], j.Cost[GPU], longest)))
}

// promote moves what has waited long enough: a job near its deadline goes before
// all others of its place, one of the third group joins the place where it is
// predicted to end first.
func (s *Scheduler) promote(now time.Duration) {
	for j := s.watch.first(); j != nil && j.key[inWatch] <= now; j = s.watch.first() {
		g, p := j.group, j.aimed
		s.take(j)
		if g == open && s.end(now, j, p.other()) < s.end(now, j, p) {
			p = p.other()
		}
		if s.urgentAt(j) <= now {
			s.put(j, p, urgent)
		} else {
			s.put(j, p, own)
		}
	}
}

// Next gives an idle server of p what to run: one job, or a batch of jobs with
// the leader first, appended to dst. If there is nothing to run, wake is when to
// ask again, should nothing arrive or end before: Never if only that can help.
// Jobs that cannot end by their deadline any more are passed over and come out
// of Expired.
func (s *Scheduler) Next(now time.Duration, p Place, dst []*Job) (jobs []*Job, wake time.Duration) {
	st := &s.places[p]
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
	predicted := leader.Cost[p]
	if p == GPU && !leader.solo {
		dst, predicted = s.fill(now, dst, from)
	}
	s.begin(now, p, dst[from:], predicted)
	return dst, Never
}

// wake is when to ask again what p has nothing to run of until then: now, if the other
// place got a job meanwhile that it can begin.
func (s *Scheduler) wake(now time.Duration, p Place, until time.Duration) time.Duration {
	if q := p.other(); s.passed[q] && len(s.places[q].idle) > 0 {
		return now
	}
	return until
}

// begin starts a run of jobs that are in no queue.
func (s *Scheduler) begin(now time.Duration, p Place, jobs []*Job, predicted time.Duration) {
	server := s.places[p].begin(now, predicted, len(jobs))
	for _, j := range jobs {
		j.state, j.server, j.Place, j.Began, j.Batch = running, server, p, now, len(jobs)
		j.Queued += now - j.since
	}
	s.counts.began(p, jobs)
}

// Expired appends the jobs that were admitted and cannot end by their deadline
// any more, and forgets them.
func (s *Scheduler) Expired(dst []*Job) []*Job {
	dst = append(dst, s.expired...)
	clear(s.expired)
	s.expired = s.expired[:0]
	return dst
}

// Done ends the run of jobs, as Next returned them (without those that switched):
// their server is idle again. took is how long the run took, 0 if that says
// nothing about the prediction.
func (s *Scheduler) Done(now time.Duration, p Place, jobs []*Job, took time.Duration) {
	s.release(now, p, jobs, took)
	s.counts.ended += int64(len(jobs))
}

// release frees the server of jobs.
func (s *Scheduler) release(now time.Duration, p Place, jobs []*Job, took time.Duration) {
	st := &s.places[p]
	first := jobs[0]
	invariant.Check(first.state == running && first.Place == p && st.runs[first.server].jobs == len(jobs), "sched: released what does not run")
	s.counts.busy[p] += now - st.runs[first.server].start
	st.end(first.server, took)
	for _, j := range jobs {
		if j.state = idle; j.trial {
			s.trialAt = now + trialPause*(now-j.Began)
		}
	}
}

// Fail ends the run of jobs at p without result: those that can run at the other
// place wait there, with their first arrival and deadline, whatever the queue;
// the others are returned, appended to dst, and have ended.
func (s *Scheduler) Fail(now time.Duration, p Place, jobs, dst []*Job) []*Job {
	s.release(now, p, jobs, 0)
	s.counts.failed += int64(len(jobs))
	for _, j := range jobs {
		dst = s.evict(now, j, p, dst)
	}
	return dst
}

// evict lets a job that was at p wait at the other place, or appends it to dst.
func (s *Scheduler) evict(now time.Duration, j *Job, p Place, dst []*Job) []*Job {
	if !s.present(j, p.other()) {
		s.counts.ended++
		return append(dst, j)
	}
	j.Cost[p] = Never
	s.enqueue(now, j, p.other(), own)
	return dst
}

// retry lets a job whose run at p was counted as done, though it failed, wait at
// the other place; false if it cannot run there.
func (s *Scheduler) retry(now time.Duration, p Place, j *Job) bool {
	s.counts.failed++
	if !s.present(j, p.other()) {
		return false
	}
	s.counts.ended--
	j.Cost[p] = Never
	s.enqueue(now, j, p.other(), own)
	return true
}

// rerun lets a job whose run at p was counted as done, though the work of another broke it
// off, wait again: at the other place or, if it cannot run there, at p by itself. false if
// it can run nowhere.
func (s *Scheduler) rerun(now time.Duration, p Place, j *Job) bool {
	if s.retry(now, p, j) {
		return true
	}
	if !s.present(j, p) {
		return false
	}
	s.counts.ended--
	j.solo = true
	s.enqueue(now, j, p, own)
	return true
}

// Lose takes a place away until Regain. What waits for it waits for the other;
// jobs that can run nowhere now are appended to dst and have ended. What runs at
// p goes on until Done or Fail.
func (s *Scheduler) Lose(now time.Duration, p Place, dst []*Job) []*Job {
	st := &s.places[p]
	st.setLost(true)
	for _, h := range []*jobHeap{&st.urgent, &st.queue, &s.open} {
		var moving []*Job
		for _, j := range h.jobs {
			if h != &s.open || j.aimed == p {
				moving = append(moving, j)
			}
		}
		for _, j := range moving {
			s.take(j)
			j.state = idle
			j.Queued += now - j.since
			dst = s.evict(now, j, p, dst)
		}
	}
	return dst
}

// Regain gives a place back that was lost. A place without servers stays lost.
func (s *Scheduler) Regain(p Place) { s.places[p].setLost(len(s.places[p].runs) == 0) }

// Lost says whether a place is lost or has no servers.
func (s *Scheduler) Lost(p Place) bool { return s.places[p].lost }

// Cancel takes a job out that waits, and says whether it did: one that runs must
// end by itself.
func (s *Scheduler) Cancel(now time.Duration, j *Job) bool {
	if j.state != waiting {
		return false
	}
	s.take(j)
	j.state = idle
	j.Queued += now - j.since
	s.counts.cancelled++
	return true
}

// lastStart is when a job that waits has to begin at the latest, so that it is not shed:
// Never if it is not, whatever the time.
func (s *Scheduler) lastStart(j *Job) time.Duration {
	if s.o.RunLate || j.Deadline == Never || j.Moves > 0 || j.trial {
		return Never
	}
	cost := Never
	for p := range Place(NumPlaces) {
		if s.present(j, p) {
			cost = min(cost, j.Cost[p])
		}
	}
	if cost == Never {
		return Never
	}
	return j.Deadline - cost
}

// Expire takes a job out that waits and that cannot end by its deadline any more, and says
// whether it did. Next passes such jobs over, too, but only where a server is idle.
func (s *Scheduler) Expire(now time.Duration, j *Job) bool {
	if j.state != waiting || now <= s.lastStart(j) {
		return false
	}
	s.take(j)
	j.state = idle
	j.Queued += now - j.since
	s.counts.shed[Expired]++
	return true
}

// Switch ends the run of a job that runs by itself and lets it wait for another
// place, where it goes on by itself. Such a job is not shed. It returns
// ErrNoPlace if the place is lost or the job cannot run there: it then runs on
// where it is.
func (s *Scheduler) Switch(now time.Duration, j *Job, to Place) error {
	invariant.Check(j.state == running && j.Batch == 1, "sched: switched what does not run by itself")
	if !s.present(j, to) {
		return ErrNoPlace
	}
	s.release(now, j.Place, append(s.one[:0], j), 0)
	j.solo = true
	j.Moves++
	s.counts.moved++
	s.enqueue(now, j, to, own)
	return nil
}

// Wait predicts how long a job that arrived now would wait for a server of p:
// Never if the place is lost.
func (s *Scheduler) Wait(now time.Duration, p Place) time.Duration {
	return s.places[p].wait(now, longest)
}
