package sched

import (
	"math/bits"
	"sync/atomic"
	"time"
)

type station struct {
	place    Place
	inOrder  bool // first come, first served
	lost     bool
	idle     []int32 // servers; the last one is used next
	runs     []run
	queue    jobHeap // the group own
	urgent   jobHeap
	waiting  int                       // jobs in the two queues, and jobs that wait for either place
	urgently time.Duration             // additions of the urgent jobs
	classes  [numClasses]time.Duration // additions of the others, by size
	work     int64                     // sum of Job.Work of them
	slowdown float64                   // measured/predicted time, moving mean
	sharing  sharing
	// spareServers is the number of servers that jobs may take which the other place could run.
	spareServers int

	// free, busy and spare are read without a lock: a server is idle and no job waits; a server is busy;
	// fewer than spareServers are.
	free, busy, spare atomic.Bool
}

type run struct {
	jobs         int // 0: idle
	start, until time.Duration
	adds, fixed  time.Duration // of the prediction, without other runs: additions of the jobs, and the rest
	ended        time.Duration // sharing.ended at the start
}

// sharing measures how the runs of a place slow each other down. The lanes of a GPU share it: eight launches that take
// 2 ms alone take up to 16 ms at the same time, or little more than 2 ms if one launch leaves most of the GPU idle.
//
// It is a linear regression with moving means. It predicts the time of a run beyond its fixed part from the additions of
// all runs that end during it. The constant of the regression is needed: without it, delays of the process would make
// the GPU seem slow, the GPU would get less work, and would then seem even slower.
type sharing struct {
	begun, ended time.Duration // sums of the additions of all runs that have begun, and that have ended
	// Moving means, in ns: the time of a run beyond its fixed part, the additions that ended during it, the variance of
	// these additions, and the covariance of both.
	took, among, variance, covariance float64
}

// takes predicts the time of a run beyond its fixed part, during which runs with the additions among end. It is 0 before
// the first observation.
func (s *sharing) takes(among time.Duration) time.Duration {
	const least = 1.0 / 64 // variance that is noise, as a part of the square of the mean
	b := max(s.covariance, 0) / (s.variance + least*s.among*s.among + 1)
	return time.Duration(max(s.took+b*(float64(among)-s.among), 0))
}

// observe adds the time of a run to the means. It bounds the influence of a single run, because a process that was
// stopped for some time does not have a slow GPU.
func (s *sharing) observe(r *run, took time.Duration) {
	const weight, most = 1.0 / 32, 4
	among := s.ended - r.ended
	if s.among == 0 {
		s.among = float64(among)
	}
	bound := most * max(s.takes(among), r.adds+r.fixed)
	y, x := float64(min(took-r.fixed, bound))-s.took, float64(among)-s.among
	s.took += weight * y
	s.among += weight * x
	s.variance += weight * (x*x*(1-weight) - s.variance)
	s.covariance += weight * (x*y*(1-weight) - s.covariance)
}

// Jobs are classed by the power of two of their addition, to sum the work ahead
// of a job without scanning the queue.
const numClasses = 32

func classOf(d time.Duration) int {
	return min(bits.Len64(uint64(d)>>10), numClasses-1)
}

func (st *station) open(p Place, servers int, inOrder bool) {
	st.place, st.inOrder, st.slowdown = p, inOrder, 1
	st.runs, st.idle = make([]run, servers), make([]int32, servers)
	st.queue, st.urgent = jobHeap{kind: inQueue}, jobHeap{kind: inQueue}
	for i := range st.idle {
		st.idle[i] = int32(servers - 1 - i)
	}
	st.spareServers = servers
	st.setLost(servers == 0)
}

func (st *station) setSpare(servers int) {
	st.spareServers = servers
	st.changed()
}

func (st *station) setLost(lost bool) {
	st.lost = lost
	st.changed()
}

func (st *station) changed() {
	set(&st.free, !st.lost && st.waiting == 0 && len(st.idle) > 0)
	set(&st.busy, len(st.idle) < len(st.runs))
	set(&st.spare, len(st.runs)-len(st.idle) < st.spareServers)
}

// set does not write an equal value, because other processors read it.
func set(b *atomic.Bool, value bool) {
	if b.Load() != value {
		b.Store(value)
	}
}

func (st *station) queued() int { return st.queue.len() + st.urgent.len() }

// account adds (sign 1) or removes (sign -1) a waiting job's addition: half of it if the
// job waits for either place.
func (st *station) account(j *Job, sign int) {
	all := min(j.adds(st.place), longest)
	adds := all
	if j.entry.group == open {
		adds /= 2
	}
	st.waiting += sign
	adds *= time.Duration(sign)
	if j.entry.group == urgent {
		st.urgently += adds
	} else {
		st.classes[classOf(all)] += adds
	}
	st.work += int64(sign) * j.Work
	st.changed()
}

const longest = time.Hour

// load is the sum and the minimum of the remaining times of a station's runs.
type load struct{ sum, least time.Duration }

func (st *station) load(now time.Duration) load {
	l := load{least: Never}
	for i := range st.runs {
		left := st.runs[i].left(now)
		l.sum += left
		l.least = min(l.least, left)
	}
	return l
}

// ahead returns the work that precedes a job with an addition of adds: urgent jobs, and
// the jobs that add no more, or all if they are served in order. less is subtracted: the
// job's own part if it waits here.
func (st *station) ahead(adds, less time.Duration) time.Duration {
	classes := st.classes[:]
	if !st.inOrder {
		classes = classes[:classOf(adds)+1]
	}
	sum := st.urgently - less
	for _, class := range classes {
		sum += class
	}
	return max(sum, 0)
}

// wait predicts the time that an arriving job with an addition of adds waits for a
// server.
func (st *station) wait(now, adds time.Duration) time.Duration {
	if st.lost {
		return Never
	}
	ahead := time.Duration(0)
	if st.waiting > 0 {
		ahead = st.ahead(adds, 0)
	}
	if ahead == 0 && len(st.idle) > 0 {
		return 0
	}
	return st.after(st.load(now), ahead)
}

// after predicts the time until a server is free for a job that follows the load and the
// work ahead of it.
func (st *station) after(l load, ahead time.Duration) time.Duration {
	if ahead > 0 {
		l.least = max(l.least, (l.sum+ahead)/time.Duration(len(st.runs)))
	}
	return time.Duration(float64(l.least) * st.slowdown)
}

// takes predicts the time of a run with the given additions that begins after, or beside, the present runs and waiting jobs
// with the additions ahead. The finished part of the present runs is not subtracted: when they end, other runs begin and
// slow the run down as well.
func (st *station) takes(ahead, adds, fixed time.Duration) time.Duration {
	alone := plus(adds, fixed)
	if st.place == CPU || alone >= longest {
		return alone
	}
	return max(alone, plus(st.sharing.takes(st.sharing.begun-st.sharing.ended+ahead+adds), fixed))
}

// orLate returns the predicted end of a job with the additions ahead of it: a time past its deadline if other runs slow it
// down until then, else end, which jobs compare to choose a place.
func (st *station) orLate(now time.Duration, j *Job, end, ahead time.Duration) time.Duration {
	adds := j.adds(st.place)
	if at := plus(now, st.takes(ahead, min(adds, longest), j.Cost[st.place]-adds)); at > j.Deadline {
		return max(end, at)
	}
	return end
}

// left predicts the remaining time of the run. A run that exceeds its
// prediction is assumed to take another eighth of its time up to now.
func (r *run) left(now time.Duration) time.Duration {
	switch {
	case r.jobs == 0:
		return 0
	case r.until > now:
		return r.until - now
	}
	return (now - r.start) / 8
}

// overdueAt returns the time from which all runs exceed their predictions, corrected by the slowdown: Never while a
// server is idle.
func (st *station) overdueAt() (at time.Duration) {
	for i := range st.runs {
		r := &st.runs[i]
		if r.jobs == 0 {
			return Never
		}
		at = max(at, r.start+time.Duration(float64(r.until-r.start)*max(st.slowdown, 1)))
	}
	return at
}

// hurries reports whether a job has waited for half of its time or more, and the remaining time is too short for a
// launch with the other waiting jobs. At overload, all jobs that the GPU takes are near their deadlines. If these
// deadlines limited the launches, each launch would take few queries, the GPU would answer a fraction of its capacity,
// and even fewer queries in time. It neither leads a launch nor joins one.
func (st *station) hurries(now time.Duration, j *Job, o *Options) bool {
	if o.RunLate || j.Batched <= 0 || j.entry.solo || j.entry.trial || j.Moves > 0 || j.Deadline == Never {
		return false
	}
	adds := st.ahead(longest, 0)
	if n := st.queued(); n >= o.MaxBatch {
		adds = adds / time.Duration(n) * time.Duration(o.MaxBatch-1)
	}
	launch := st.takes(0, adds+j.adds(GPU), j.beside())
	if o.MaxLaunch > 0 {
		launch = min(launch, max(o.MaxLaunch, j.Cost[GPU]))
	}
	return plus(now, min(launch, (j.Deadline-j.Arrived)/2)) > j.Deadline
}

// begin takes a server for a run with the predicted additions and fixed time and returns the server.
func (st *station) begin(now, adds, fixed time.Duration, jobs int) int32 {
	last := len(st.idle) - 1
	server := st.idle[last]
	st.idle = st.idle[:last]
	adds, fixed = min(adds, longest), min(fixed, longest)
	st.runs[server] = run{
		jobs: jobs, start: now, until: plus(now, min(plus(adds, fixed), longest)), adds: adds, fixed: fixed, ended: st.sharing.ended,
	}
	st.sharing.begun += adds
	st.changed()
	return server
}

// end releases a server. took is the time of its run, 0: unknown.
func (st *station) end(server int32, took time.Duration) {
	r := &st.runs[server]
	st.sharing.ended += r.adds
	if took > 0 {
		st.sharing.observe(r, took)
	}
	if predicted := r.until - r.start; took > 0 && predicted > 0 {
		const weight = 1.0 / 64
		ratio := min(max(float64(took)/float64(predicted), 0.25), 4)
		st.slowdown += weight * (ratio - st.slowdown)
	}
	*r = run{}
	st.idle = append(st.idle, server)
	st.changed()
}
