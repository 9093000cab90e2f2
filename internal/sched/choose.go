package sched

import "time"

// choose returns the place and the group in which an arriving job waits, and its
// predicted end. ok is false if no place can run it.
func (s *Scheduler) choose(now time.Duration, j *Job) (p Place, g group, end time.Duration, ok bool) {
	ends := [NumPlaces]time.Duration{s.end(now, j, CPU), s.end(now, j, GPU)}
	switch onCPU, onGPU := s.queues.present(j, CPU), s.queues.present(j, GPU); {
	case !onCPU && !onGPU:
		return 0, 0, Never, false
	case !onGPU:
		return CPU, own, ends[CPU], true
	case !onCPU:
		return GPU, own, ends[GPU], true
	}
	p, g = GPU, own
	switch s.rules.place {
	case alwaysCPU:
		p = CPU
	case alwaysGPU:
	case byGroup:
		if s.groups.arrivals++; s.groups.arrivals%adaptEvery == 0 {
			s.groups.adapt(s.Wait(now, CPU), s.Wait(now, GPU))
		}
		if p, g = s.groups.of(j); g == open && s.queues.free(p) {
			g = own // the faster of the two is idle
		} else if g == open {
			return p, g, min(ends[CPU], ends[GPU]), true
		}
	case endsFirst:
		if ends[CPU] <= ends[GPU] && !j.Patient && !s.queues.feeds(j, s.o.Feeding) && s.patientUntil(now, j, ends[GPU]) <= now {
			p = CPU
		}
	}
	if !s.o.RunLate && s.rules.steals && ends[p] > j.Deadline && ends[p.Other()] <= j.Deadline && (p == CPU || !s.queues.feeds(j, s.o.Feeding)) {
		p, g = p.Other(), own
	}
	return p, g, ends[p], true
}

// patientUntil returns the time until which a job that is predicted to end at the GPU at a time leaves the CPU to
// the jobs that have to be fed to the GPU, if the GPU makes no progress: one more job in a launch costs far less than
// on the CPU. It returns now for a job that does not, because it would wait for longer than Patience or past its
// deadline, or because the launches that it waits for exceed their prediction.
func (s *Scheduler) patientUntil(now time.Duration, j *Job, end time.Duration) time.Duration {
	st := &s.queues.places[GPU]
	if j.Batched <= 0 || j.entry.solo || j.Cost[CPU] <= s.o.Feeding || end == Never || end-now > s.o.Patience || end > j.Deadline || !st.busy.Load() {
		return now
	}
	return max(now, min(now+s.o.Patience, st.overdueAt(), j.Deadline-j.Cost[CPU]-soonest))
}

// pick takes the next job for p; if there is none, it returns nil and the time
// to ask again.
func (s *Scheduler) pick(now time.Duration, p Place) (*Job, time.Duration) {
	st := &s.queues.places[p]
	for {
		j := st.urgent.first()
		if j == nil {
			j = st.queue.first()
		}
		if j == nil {
			j = s.queues.open.first()
		}
		wake := Never
		stolen := false
		if j == nil && s.rules.steals {
			j, wake = s.steal(now, p, 0)
			stolen = j != nil
		}
		if j == nil {
			return nil, wake
		}
		s.queues.take(j)
		if s.late(now, j, p) || p == GPU && st.hurries(now, j, &s.o) {
			s.passOver(now, j, p)
			continue
		}
		if j.Stolen = stolen; stolen {
			s.counts.stolen++
		}
		return j, Never
	}
}

// late reports whether the job would be shed if it began now at p.
func (s *Scheduler) late(now time.Duration, j *Job, p Place) bool {
	if s.o.RunLate || j.Moves > 0 || j.entry.trial || j.Deadline == Never {
		return false
	}
	takes := j.Cost[p]
	if st := &s.queues.places[p]; p == GPU && j.can(p) {
		takes = st.takes(0, j.adds(p), j.beside())
	}
	return plus(now, takes) > j.Deadline
}

// passOver moves a job that is too late for p to the other place, if it can end there in
// time, or sheds it.
func (s *Scheduler) passOver(now time.Duration, j *Job, p Place) {
	if q := p.Other(); s.rules.steals && s.end(now, j, q) <= j.Deadline && (q == GPU || !s.queues.feeds(j, s.o.Feeding)) {
		s.queues.put(j, q, urgent)
		s.passed[q] = true
		return
	}
	j.entry.state = idle
	j.Queued += now - j.entry.since
	s.counts.shed[Expired]++
	s.expired = append(s.expired, j)
}

const stealScan = 32

// soonest is the minimum interval between looks of an idle server at the other
// place's jobs.
const soonest = 50 * time.Microsecond

// steal finds the job of the other place that gains most by running at p. If
// none gains, wake is the time at which one would, if the other place makes no
// progress until then.
//
// In Ding, He, Yan and Suel (WWW 2009, §9) an idle processor takes any job of
// the other. Here it takes only a job that is predicted to end earlier: if
// costs differ by a factor of 50, waiting is often better.
func (s *Scheduler) steal(now time.Duration, p Place, first time.Duration) (best *Job, wake time.Duration) {
	st, other := &s.queues.places[p], &s.queues.places[p.Other()]
	if other.queued() == 0 {
		return nil, Never
	}
	if !st.spare.Load() {
		return nil, Never
	}
	wake = Never
	load := other.load(now)
	var most time.Duration
	for _, h := range []*jobHeap{&other.urgent, &other.queue} {
		for _, j := range h.jobs[:min(len(h.jobs), stealScan)] {
			if !j.can(p) || j.entry.solo && first > 0 {
				continue
			}
			takes, fixed := j.adds(p), j.Cost[p]-j.adds(p)
			if first > 0 {
				takes, fixed = first+j.adds(p), 0
			}
			here, inTime := plus(now, takes+fixed), plus(now, st.takes(0, takes, fixed)) <= j.Deadline
			adds := j.adds(other.place)
			ahead := other.ahead(adds, min(adds, longest))
			there := other.orLate(now, j, plus(now+other.after(load, ahead), j.Cost[other.place]), ahead)
			if p == CPU {
				if until := s.patientUntil(now, j, there); until > now {
					wake = min(wake, until)
					continue
				}
			}
			if gain := there - here; gain > most && (s.o.RunLate || inTime) {
				best, most = j, gain
			} else if gain <= 0 && here != Never {
				wake = min(wake, now+max(-gain, soonest))
			}
		}
	}
	if best != nil {
		return best, Never
	}
	return nil, wake
}
