package sched

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// model drives a scheduler with random jobs, runs, failures and losses, and
// checks invariants after every step.
type model struct {
	t      *testing.T
	random *rand.Rand
	s      *Scheduler
	now    time.Duration
	jobs   map[*Job]*fate // admitted and not ended
	runs   [NumPlaces][][]*Job
	ended  int
	seen   map[string]int
	begun  []beginning
}

type fate struct {
	waiting bool
	costs   [NumPlaces]time.Duration // on arrival
}

// beginning is a start of a job, for the bound on overtaking.
type beginning struct {
	seq                uint64
	place              Place
	arrived, began     time.Duration
	since, maxOvertake time.Duration
	exempt             bool // bounded differently: batches, moves, steals
}

func (m *model) fatalf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("at %v, policy %s, %+v: %s", m.now, m.s.o.Policy, m.s.o, fmt.Sprintf(format, args...))
}

func randomOptions(random *rand.Rand) Options {
	policies := Policies()
	o := Options{
		Policy: policies[random.IntN(len(policies))], CPUs: 1 + random.IntN(4), Lanes: random.IntN(3),
		MaxQueue: []int{-1, 1, 5, 30}[random.IntN(4)], MaxBatch: []int{0, 1, 3}[random.IntN(3)],
		Stretch: []float64{-1, 0.5, 4}[random.IntN(3)], Work: 300, RunLate: random.IntN(3) == 0,
		Urgent: []float64{0.2, 0.5, 1}[random.IntN(3)],
	}
	if random.IntN(2) == 0 {
		o.Deadline = time.Duration(1+random.IntN(40)) * time.Millisecond
	}
	if random.IntN(2) == 0 {
		o.Window = time.Duration(random.IntN(3000)) * time.Microsecond
	}
	if o.Lanes > 0 && random.IntN(6) == 0 {
		o.CPUs = -1
	}
	return o
}

func (m *model) randomCost() time.Duration {
	switch m.random.IntN(10) {
	case 0:
		return Never
	case 1:
		return time.Duration(1 + m.random.IntN(20_000_000))
	}
	return time.Duration(1 + m.random.IntN(2_000_000))
}

func (m *model) arrive() {
	j := &Job{Cost: [NumPlaces]time.Duration{m.randomCost(), m.randomCost()}, Work: int64(m.random.IntN(100)), Alone: m.random.IntN(8) == 0}
	if j.can(GPU) && m.random.IntN(4) > 0 {
		j.Batched = 1 + j.Cost[GPU]/time.Duration(1+m.random.IntN(4))
	}
	switch m.random.IntN(5) {
	case 0:
		j.Within = time.Duration(1 + m.random.IntN(10_000_000))
	case 1:
		j.Within = Never
	}
	queued := m.s.Queued()
	err := m.s.Arrive(m.now, j)
	var shed *Overload
	switch {
	case err == nil:
		m.jobs[j] = &fate{waiting: true, costs: j.Cost}
		return
	case errors.Is(err, ErrNoPlace):
		if m.s.queues.present(j, CPU) || m.s.queues.present(j, GPU) {
			m.fatalf("no place for %+v", j)
		}
	case errors.As(err, &shed):
		m.seen[shed.Reason.String()]++
		switch {
		case shed.RetryAfter <= 0:
			m.fatalf("retry after %v", shed.RetryAfter)
		case shed.Reason == QueueFull && (m.s.o.MaxQueue < 0 || queued < m.s.o.MaxQueue):
			m.fatalf("shed with %d queued: %v", queued, err)
		case shed.Reason == TooLate && (m.s.o.RunLate || j.Deadline == Never):
			m.fatalf("shed without deadline: %v", err)
		}
	default:
		m.fatalf("%v", err)
	}
	if m.s.Queued() != queued {
		m.fatalf("a job that was shed waits")
	}
}

func (m *model) end(j *Job, waiting bool, how string) {
	f, ok := m.jobs[j]
	if !ok || f.waiting != waiting {
		m.fatalf("%s: a job that is unknown or in the wrong state: %+v", how, f)
	}
	delete(m.jobs, j)
	m.ended++
	m.seen[how]++
}

func (m *model) dispatch() {
	const most = 100
	for rounds := 0; m.dispatchOnce(); rounds++ {
		if rounds == most {
			m.fatalf("%d times a place passes a job to the other one", rounds)
		}
	}
	m.audit()
}

// dispatchOnce reports whether the CPU is to be asked again, because the GPU has passed a job to it.
func (m *model) dispatchOnce() (again bool) {
	for p := range Place(NumPlaces) {
		for {
			ownQueued := m.s.queues.places[p].queued() + m.countOpen(p)
			m.s.promote(m.now)
			urgents := slices.Clone(m.s.queues.places[p].urgent.jobs)
			jobs, wake := m.s.Next(m.now, p, nil)
			m.drain()
			if len(jobs) == 0 {
				passed := p == GPU && m.s.passed[CPU] && len(m.s.queues.places[CPU].idle) > 0
				if wake <= m.now && !passed {
					m.fatalf("%s: wakes at %v", p, wake)
				}
				again = again || wake <= m.now
				m.checkConserving(p, wake)
				break
			}
			m.checkRun(p, jobs, urgents, ownQueued)
			m.runs[p] = append(m.runs[p], jobs)
		}
	}
	return again
}

func (m *model) countOpen(p Place) int {
	n := 0
	for _, j := range m.s.queues.open.jobs {
		if j.can(p) {
			n++
		}
	}
	return n
}

func (m *model) checkRun(p Place, jobs, urgents []*Job, ownQueued int) {
	st := &m.s.queues.places[p]
	if len(m.runs[p]) >= len(st.runs) || st.lost {
		m.fatalf("%s: too many runs", p)
	}
	if len(jobs) > 1 && (p == CPU || len(jobs) > m.s.o.MaxBatch) {
		m.fatalf("%s: a batch of %d", p, len(jobs))
	}
	for i, j := range jobs {
		f := m.jobs[j]
		switch {
		case f == nil || !f.waiting:
			m.fatalf("%s: a job began that was not waiting", p)
		case !j.can(p):
			m.fatalf("%s: a job began that cannot run there", p)
		case (j.Alone || j.Moves > 0) && len(jobs) > 1:
			m.fatalf("a job that must run alone shares a batch")
		case !m.s.o.RunLate && j.Moves == 0 && !j.entry.trial && i == 0 && plus(m.now, j.Cost[p]) > j.Deadline:
			m.fatalf("%s: a job began that must end by %v and takes %v", p, j.Deadline, j.Cost[p])
		case j.Stolen && !m.s.rules.steals:
			m.fatalf("stolen")
		case j.Stolen && i == 0 && ownQueued > 0 && m.seen[Expired.String()] == 0:
			m.fatalf("%s: stolen with %d of its own queued", p, ownQueued)
		}
		if j.Stolen {
			m.seen["stolen"]++
		}
		f.waiting = false
	}
	skipped := func(j *Job) bool { return j.entry.state == waiting && j.entry.aimed == p && j.entry.group == urgent }
	if !slices.Contains(urgents, jobs[0]) && slices.ContainsFunc(urgents, skipped) {
		m.fatalf("%s: %d urgent jobs wait, and another one begins", p, len(urgents))
	}
	if len(jobs) > 1 {
		m.seen["batch"]++
	}
	j := jobs[0]
	m.begun = append(m.begun, beginning{
		seq: j.entry.seq, place: p, arrived: j.Arrived, began: m.now, since: j.entry.since,
		maxOvertake: time.Duration(m.s.o.Stretch * float64(max(m.costOf(j, CPU), m.costOf(j, GPU)))),
		exempt:      len(jobs) > 1 || j.Moves > 0 || j.Stolen || j.Deadline != Never || j.entry.since != j.Arrived,
	})
}

func (m *model) costOf(j *Job, p Place) time.Duration {
	if c := m.jobs[j].costs[p]; c != Never {
		return c
	}
	return 0
}

func (m *model) checkConserving(p Place, wake time.Duration) {
	st := &m.s.queues.places[p]
	if st.lost || len(st.idle) == 0 || m.s.gathering(m.now, p) > m.now {
		return
	}
	if n := st.queued() + m.s.queues.open.len(); n > 0 {
		m.fatalf("%s: idle with %d jobs queued, %d for either place", p, st.queued(), m.s.queues.open.len())
	}
	if m.s.rules.steals {
		if j, _ := m.s.steal(m.now, p, 0); j != nil {
			m.fatalf("%s: idle although it could steal a job", p)
		}
	}
	_ = wake
}

func (m *model) drain() {
	for _, j := range m.s.Expired(nil) {
		late := true
		hurries := j.Batched > 0 && !j.entry.solo && m.now-j.Arrived >= (j.Deadline-j.Arrived)/2 // a launch with it would be small
		for p := range Place(NumPlaces) {
			late = late && (!m.s.queues.present(j, p) || p == GPU && hurries || m.s.late(m.now, j, p) || !m.s.rules.steals || m.s.end(m.now, j, p) > j.Deadline)
		}
		if m.s.o.RunLate || !late {
			m.fatalf("expired, though it can end by %v: %+v", j.Deadline, j)
		}
		m.end(j, true, Expired.String())
	}
}

func (m *model) step() {
	m.now += time.Duration(m.random.IntN(600_000))
	p := Place(m.random.IntN(NumPlaces))
	switch n := m.random.IntN(20); {
	case n < 9:
		m.arrive()
	case n < 15:
		if jobs := m.takeRun(p); jobs != nil {
			m.s.Done(m.now, p, jobs, m.now-jobs[0].Began)
			for _, j := range jobs {
				m.end(j, false, "done")
			}
		}
	case n < 16:
		if jobs := m.takeRun(p); len(jobs) > 1 && m.random.IntN(2) == 0 {
			m.breakOff(p, jobs)
		} else if jobs != nil {
			nowhere := m.s.Fail(m.now, p, jobs, nil)
			m.requeued(jobs, nowhere, false, "failed")
		}
	case n < 17:
		if j := m.anyWaiting(); j != nil {
			if m.expires(j) {
				break
			}
			if !m.s.Cancel(m.now, j) || m.s.Cancel(m.now, j) {
				m.fatalf("cancel of a waiting job")
			}
			m.end(j, true, "cancelled")
		}
	case n < 19:
		m.move(p)
	default:
		m.loseOrRegain(p)
	}
	m.dispatch()
}

func (m *model) expires(j *Job) bool {
	late := !m.s.o.RunLate && j.Moves == 0 && !j.entry.trial && j.Deadline != Never
	for p := range Place(NumPlaces) {
		late = late && (!m.s.queues.present(j, p) || plus(m.now, j.Cost[p]) > j.Deadline)
	}
	expired := m.s.Expire(m.now, j)
	if expired != late || expired && m.s.Expire(m.now, j) {
		m.fatalf("expired: %v, want %v: %+v", expired, late, j)
	}
	if expired {
		m.end(j, true, Expired.String())
	}
	return expired
}

func (m *model) takeRun(p Place) []*Job {
	if len(m.runs[p]) == 0 {
		return nil
	}
	i := m.random.IntN(len(m.runs[p]))
	jobs := m.runs[p][i]
	m.runs[p] = slices.Delete(m.runs[p], i, i+1)
	return jobs
}

func (m *model) anyWaiting() *Job {
	for _, h := range []*jobHeap{&m.s.queues.open, &m.s.queues.places[CPU].queue, &m.s.queues.places[GPU].urgent, &m.s.queues.places[GPU].queue} {
		if len(h.jobs) > 0 {
			return h.jobs[m.random.IntN(len(h.jobs))]
		}
	}
	return nil
}

func (m *model) requeued(jobs, nowhere []*Job, waiting bool, how string) {
	for _, j := range jobs {
		if slices.Contains(nowhere, j) {
			m.end(j, waiting, how+" permanently")
			continue
		}
		m.jobs[j].waiting = true
		m.seen[how]++
	}
}

// breakOff ends a batch whose leader panics.
func (m *model) breakOff(p Place, jobs []*Job) {
	m.s.Done(m.now, p, jobs, 0)
	m.end(jobs[0], false, "panicked")
	var nowhere []*Job
	for _, j := range jobs[1:] {
		if !m.s.rerun(m.now, p, j) {
			nowhere = append(nowhere, j)
		} else if j.entry.aimed == p && !j.entry.solo {
			m.fatalf("it is not marked solo: %+v", j)
		}
	}
	m.requeued(jobs[1:], nowhere, false, "broken off")
}

func (m *model) move(p Place) {
	for i, jobs := range m.runs[p] {
		if len(jobs) > 1 {
			continue
		}
		j := jobs[0]
		if err := m.s.Switch(m.now, j, p.Other()); err != nil {
			if m.s.queues.present(j, p.Other()) || !errors.Is(err, ErrNoPlace) {
				m.fatalf("switch: %v", err)
			}
			continue
		}
		m.runs[p] = slices.Delete(m.runs[p], i, i+1)
		m.jobs[j].waiting = true
		m.seen["moved"]++
		return
	}
}

func (m *model) loseOrRegain(p Place) {
	if m.s.Lost(p) {
		m.s.Regain(p)
		return
	}
	if m.s.Lost(p.Other()) && m.random.IntN(4) > 0 {
		return
	}
	var waited []*Job
	for j, f := range m.jobs {
		if f.waiting && j.entry.aimed == p {
			waited = append(waited, j)
		}
	}
	m.requeued(waited, m.s.Lose(m.now, p, nil), true, "lost its place")
}

func (m *model) audit() {
	waiting := 0
	for _, f := range m.jobs {
		if f.waiting {
			waiting++
		}
	}
	if got := m.s.Queued(); got != waiting {
		m.fatalf("%d queued, want %d", got, waiting)
	}
	stats := m.s.Stats(m.now)
	running := 0
	for p := range m.s.queues.places {
		st := &m.s.queues.places[p]
		var urgently, rest time.Duration
		var work int64
		for _, h := range []*jobHeap{&st.queue, &st.urgent, &m.s.queues.open} {
			m.checkHeap(h)
			for _, j := range h.jobs {
				work += j.Work
				switch h {
				case &st.urgent:
					urgently += j.adds(Place(p))
				case &st.queue:
					rest += j.adds(Place(p))
				default:
					rest += j.adds(Place(p)) / 2
				}
			}
		}
		for _, sum := range st.classes {
			if rest -= sum; sum < 0 {
				m.fatalf("%s: classes %v", Place(p), st.classes)
			}
		}
		if st.urgently != urgently || rest != 0 || st.work != work {
			m.fatalf("%s: urgent %v, work %d; want %v, %d; the others differ by %v", Place(p), st.urgently, st.work, urgently, work, rest)
		}
		if stats.Places[p].Running != len(m.runs[p]) || len(st.idle)+len(m.runs[p]) != len(st.runs) {
			m.fatalf("%s: %d servers run, want %d", Place(p), stats.Places[p].Running, len(m.runs[p]))
		}
		waits := st.queued() + m.s.queues.open.len()
		if got, want := st.free.Load(), !m.s.Lost(Place(p)) && waits == 0 && len(m.runs[p]) < len(st.runs); got != want || got && m.s.Wait(m.now, Place(p)) != 0 {
			m.fatalf("%s: free %v with %d waiting; a job would wait %v", Place(p), got, waits, m.s.Wait(m.now, Place(p)))
		}
		for _, jobs := range m.runs[p] {
			running += len(jobs)
		}
	}
	m.checkHeap(&m.s.queues.watch)
	out := stats.Ended + stats.Cancelled
	for _, n := range stats.Shed {
		out += n
	}
	if stats.Arrived != out+int64(waiting+running) {
		m.fatalf("%+v with %d waiting and %d running", stats, waiting, running)
	}
}

func (m *model) checkHeap(h *jobHeap) {
	for i, j := range h.jobs {
		if int(j.entry.index[h.kind]) != i || i > 0 && h.less(j, h.jobs[(i-1)/2]) || j.entry.state != waiting {
			m.fatalf("heap %d is out of order at %d", h.kind, i)
		}
	}
}

func (m *model) finish() {
	for p := range Place(NumPlaces) {
		m.s.Regain(p)
	}
	for round := 0; len(m.jobs) > 0; round++ {
		if round > 100_000 {
			m.fatalf("%d jobs never end", len(m.jobs))
		}
		m.now += 200 * time.Microsecond
		m.dispatch()
		for p := range Place(NumPlaces) {
			if jobs := m.takeRun(p); jobs != nil {
				m.s.Done(m.now, p, jobs, 0)
				for _, j := range jobs {
					m.end(j, false, "done")
				}
			}
		}
	}
}

// checkOvertaking checks that a job without deadline waits at a place only for
// jobs that arrived less than stretch times its cost after it.
func (m *model) checkOvertaking() {
	byPlace := func(p Place) []beginning {
		var at []beginning
		for _, b := range m.begun {
			if b.place == p && !b.exempt {
				at = append(at, b)
			}
		}
		return at
	}
	for p := range Place(NumPlaces) {
		began := byPlace(p)
		for i, late := range began {
			for _, early := range began[:i] {
				if early.arrived > late.arrived+late.maxOvertake && late.since <= early.began {
					m.fatalf("%s: job %d, arrived at %v, began after job %d, arrived at %v: more than %v later", p, late.seq, late.arrived, early.seq, early.arrived, late.maxOvertake)
				}
			}
		}
	}
}

func TestModel(t *testing.T) {
	seen := map[string]int{}
	rounds := 600
	if testing.Short() {
		rounds = 100
	}
	for seed := range uint64(rounds) {
		random := rand.New(rand.NewPCG(seed, 1))
		s, err := New(randomOptions(random))
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, random: random, s: s, jobs: map[*Job]*fate{}, seen: map[string]int{}}
		for range 400 {
			m.step()
		}
		m.finish()
		m.checkOvertaking()
		for what, n := range m.seen {
			seen[what] += n
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(seen)
	for _, what := range []string{"done", "batch", "stolen", "moved", "panicked", "broken off", "failed", "failed permanently", "cancelled", "lost its place", "lost its place permanently", QueueFull.String(), TooLate.String(), Expired.String()} {
		if seen[what] < 20 {
			t.Errorf("%q happened %d times: the test does not test it", what, seen[what])
		}
	}
}
