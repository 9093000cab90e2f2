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
	// spareServers is the number of servers that jobs may take which the other place could run.
	spareServers int

	// free, busy and spare are read without a lock: a server is idle and no job waits; a server is busy;
	// fewer than spareServers are.
	free, busy, spare atomic.Bool
}

type run struct {
	jobs         int // 0: idle
	start, until time.Duration
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
// and even fewer queries in time.
func (st *station) hurries(now time.Duration, j *Job, o *Options) bool {
	if o.RunLate || j.Batched <= 0 || j.entry.solo || j.entry.trial || j.Moves > 0 || j.Deadline == Never {
		return false
	}
	adds := st.ahead(longest, 0)
	if n := st.queued(); n >= o.MaxBatch {
		adds = adds / time.Duration(n) * time.Duration(o.MaxBatch-1)
	}
	launch := plus(j.Cost[GPU], adds)
	if o.MaxLaunch > 0 {
		launch = min(launch, max(o.MaxLaunch, j.Cost[GPU]))
	}
	return plus(now, min(launch, (j.Deadline-j.Arrived)/2)) > j.Deadline
}

// begin takes a server for a run with the predicted time and returns the server.
func (st *station) begin(now, predicted time.Duration, jobs int) int32 {
	last := len(st.idle) - 1
	server := st.idle[last]
	st.idle = st.idle[:last]
	st.runs[server] = run{jobs: jobs, start: now, until: plus(now, min(predicted, longest))}
	st.changed()
	return server
}

// end releases a server. took is the time of its run, 0: unknown.
func (st *station) end(server int32, took time.Duration) {
	r := &st.runs[server]
	if predicted := r.until - r.start; took > 0 && predicted > 0 {
		const weight = 1.0 / 64
		ratio := min(max(float64(took)/float64(predicted), 0.25), 4)
		st.slowdown += weight * (ratio - st.slowdown)
	}
	*r = run{}
	st.idle = append(st.idle, server)
	st.changed()
}
