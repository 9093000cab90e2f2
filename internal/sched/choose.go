package sched

import "time"

// choose returns the place and the group that a job which arrives now is to wait
// in, and when it is predicted to end; false if there is no place for it.
func (s *Scheduler) choose(now time.Duration, j *Job) (p Place, g group, end time.Duration, ok bool) {
	ends := [NumPlaces]time.Duration{s.end(now, j, CPU), s.end(now, j, GPU)}
	switch onCPU, onGPU := s.present(j, CPU), s.present(j, GPU); {
	case !onCPU && !onGPU:
		return 0, 0, Never, false
	case !onGPU:
		return CPU, own, ends[CPU], true
	case !onCPU:
		return GPU, own, ends[GPU], true
	}
	p, g = GPU, own
	switch s.o.Policy {
	case PolicyCPU:
		p = CPU
	case PolicyGPU, PolicyRatio, PolicyBatch:
	case PolicyQuery:
		if s.groups.arrivals++; s.groups.arrivals%adaptEvery == 0 {
			s.groups.adapt(s.Wait(now, CPU), s.Wait(now, GPU))
		}
		if p, g = s.groups.of(j); g == open && s.free(p) {
			g = own // the faster of the two is idle
		} else if g == open {
			return p, g, min(ends[CPU], ends[GPU]), true
		}
	case PolicyCost:
		if ends[CPU] <= ends[GPU] {
			p = CPU
		}
	}
	if !s.o.RunLate && s.steals() && ends[p] > j.Deadline && ends[p.other()] <= j.Deadline {
		p, g = p.other(), own
	}
	return p, g, ends[p], true
}

// steals says whether the policy lets an idle place take what waits for another.
func (s *Scheduler) steals() bool {
	return s.o.Policy == PolicyQuery || s.o.Policy == PolicyCost
}

// pick takes the job that p, of which a server is idle, is to run next; nil and
// when to ask again if there is none.
func (s *Scheduler) pick(now time.Duration, p Place) (*Job, time.Duration) {
	st := &s.places[p]
	for {
		j := st.urgent.first()
		if j == nil {
			j = st.queue.first()
		}
		if j == nil {
			j = s.open.first()
		}
		wake := Never
		stolen := false
		if j == nil && s.steals() {
			j, wake = s.steal(now, p, 0)
			stolen = j != nil
		}
		if j == nil {
			return nil, wake
		}
		s.take(j)
		if s.late(now, j, p) {
			s.passOver(now, j, p)
			continue
		}
		if j.Stolen = stolen; stolen {
			s.counts.stolen++
		}
		return j, Never
	}
}

// late says whether the job, begun now at p, would be shed.
func (s *Scheduler) late(now time.Duration, j *Job, p Place) bool {
	return !s.o.RunLate && j.Moves == 0 && !j.trial && plus(now, j.Cost[p]) > j.Deadline
}

// passOver does with a job that is too late for p: the other place, if it can end
// there in time, or the end.
func (s *Scheduler) passOver(now time.Duration, j *Job, p Place) {
	if q := p.other(); s.steals() && s.end(now, j, q) <= j.Deadline {
		s.put(j, q, urgent)
		s.passed[q] = true
		return
	}
	j.state = idle
	j.Queued += now - j.since
	s.counts.shed[Expired]++
	s.expired = append(s.expired, j)
}

// stealScan is how many jobs of the other place an idle server looks at.
const stealScan = 32

// soonest bounds how often an idle server looks again at what it did not take.
const soonest = 50 * time.Microsecond

// steal finds the job of the other place that gains most by running at p, after
// what else is to run there first. If none gains, wake is when one would, should
// nothing have moved at the other place by then.
//
// We differ from Ding, He, Yan and Suel (WWW 2009, §9), where an idle processor
// takes any job of the other: only a job that is predicted to end earlier here
// is taken. With costs that differ by a factor of 50, waiting is often better.
func (s *Scheduler) steal(now time.Duration, p Place, first time.Duration) (best *Job, wake time.Duration) {
	other := &s.places[p.other()]
	if other.queued() == 0 {
		return nil, Never
	}
	wake = Never
	load := other.load(now)
	var most time.Duration
	for _, h := range []*jobHeap{&other.urgent, &other.queue} {
		for _, j := range h.jobs[:min(len(h.jobs), stealScan)] {
			if !j.can(p) || j.solo && first > 0 {
				continue
			}
			here := plus(now+first, j.Cost[p])
			if first > 0 {
				here = now + first + j.adds(p)
			}
			adds := j.adds(other.place)
			there := plus(now+other.after(load, other.ahead(adds, min(adds, longest))), j.Cost[other.place])
			if gain := there - here; gain > most && (s.o.RunLate || here <= j.Deadline) {
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
