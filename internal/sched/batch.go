package sched

import "time"

// gathering returns the time until which an idle lane waits for more jobs to
// share a launch with.
//
// PolicyBatch (Ao et al., VLDB 2011, §4.1) starts a batch when the sum of its
// queries' shortest list lengths reaches the computational threshold c. The
// paper assumes heavy traffic; here Window limits the wait. The other policies
// wait only if the mean time between arrivals is below Window.
func (s *Scheduler) gathering(now time.Duration, p Place) time.Duration {
	st := &s.queues.places[p]
	if p == GPU && s.o.Beside > 0 {
		if until := s.gatheringBeside(now); until > now {
			return until
		}
	}
	if p != GPU || s.o.Window == 0 || st.urgent.len() > 0 || st.queue.len() == 0 || st.queue.len() >= s.o.MaxBatch {
		return now
	}
	if s.rules.gathers {
		if st.work >= s.o.Work {
			return now
		}
	} else if !s.dense() {
		return now
	}
	until := Never
	for _, j := range st.queue.jobs {
		if j.entry.solo {
			return now
		}
		until = min(until, gatheringUntil(s, j, s.o.Window))
	}
	return until
}

// gatheringUntil returns the time until which a job of the GPU's queue waits for others, at most for some time, and
// neither until it is urgent nor until it would be shed.
func gatheringUntil(s *Scheduler, j *Job, most time.Duration) time.Duration {
	until := min(j.entry.since+most, s.queues.urgentAt(j))
	if s.lastStart(j) != Never {
		until = min(until, j.Deadline-s.queues.places[GPU].takes(0, j.adds(GPU), j.beside()))
	}
	return until
}

// gatheringBeside returns the time until which an idle lane waits because others are busy.
func (s *Scheduler) gatheringBeside(now time.Duration) time.Duration {
	st := &s.queues.places[GPU]
	busy := len(st.runs) - len(st.idle)
	first := st.queue.first()
	if busy == 0 || first == nil || st.urgent.len() > 0 || first.entry.solo || first.Batched == 0 || st.queue.len() >= min(busy*s.o.Beside, s.o.MaxBatch) {
		return now
	}
	until := Never
	for _, j := range st.queue.jobs { // the first is not always the oldest
		until = min(until, gatheringUntil(s, j, BesideWait))
	}
	return until
}

// dense reports whether another job for the GPU is expected within the window.
func (s *Scheduler) dense() bool { return s.gap < s.o.Window }

// gather predicts how long a job waits at an idle lane for others: the window,
// or half of it if others already wait there.
func (s *Scheduler) gather() time.Duration {
	switch {
	case s.rules.gathers || !s.dense():
		return 0
	case s.queues.places[GPU].queue.len() > 0:
		return s.o.Window / 2
	}
	return s.o.Window
}

// fill adds to the leader at dst[from] the jobs that share its launch, in
// order, except those that would make any of them miss its deadline. It returns
// them with the sum of the additions and the maximum of the fixed parts.
func (s *Scheduler) fill(now time.Duration, dst []*Job, from int) (_ []*Job, adds, beside time.Duration) {
	st := &s.queues.places[GPU]
	leader := dst[from]
	deadline := leader.Deadline
	adds, beside = leader.adds(GPU), leader.beside()
	for len(dst)-from < s.o.MaxBatch {
		j := st.urgent.first()
		if j == nil {
			j = st.queue.first()
		}
		if j == nil {
			if j = s.queues.open.first(); j != nil && (!j.can(GPU) || j.adds(GPU) > j.Cost[CPU]) {
				j = nil
			}
		}
		stolen := false
		if j == nil && s.rules.steals {
			j, _ = s.steal(now, GPU, adds+beside)
			stolen = j != nil
		}
		if j == nil || j.entry.solo {
			break
		}
		if !stolen && st.hurries(now, j, &s.o) {
			s.queues.take(j)
			s.passOver(now, j, GPU)
			continue
		}
		moreBeside, sooner := max(beside, j.beside()), min(deadline, j.Deadline)
		if !s.o.RunLate && plus(now, st.takes(0, adds+j.adds(GPU), moreBeside)) > sooner {
			break
		}
		if s.o.MaxLaunch > 0 && plus(adds+j.adds(GPU), moreBeside) > s.o.MaxLaunch {
			break
		}
		s.queues.take(j)
		if j.Stolen = stolen; stolen {
			s.counts.stolen++
		}
		dst = append(dst, j)
		adds, beside, deadline = adds+j.adds(GPU), moreBeside, sooner
	}
	return dst, adds, beside
}
