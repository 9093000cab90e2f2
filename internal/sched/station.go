package sched

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// station is a place with its servers and what waits for them.
type station struct {
	place    Place
	inOrder  bool // first come, first served
	lost     bool
	idle     []int32 // servers, the last one is used next
	runs     []run   // by server
	queue    jobHeap // the group own
	urgent   jobHeap
	waiting  int                       // jobs of the two queues, and those that wait for either place
	urgently time.Duration             // what the urgent jobs add
	classes  [numClasses]time.Duration // what the others add, by size
	work     int64                     // sum of Job.Work of them
	slowdown float64                   // measured over predicted time, a moving mean

	// free says, to who has no lock, whether a server is idle and no job waits.
	free atomic.Bool
}

// run is what a server does.
type run struct {
	jobs         int // 0: idle
	start, until time.Duration
}

// Jobs are classed by the power of two of what they add, so that what goes before
// a job of a size can be summed up without looking at the queue.
const numClasses = 32

func classOf(d time.Duration) int {
	return min(bits.Len64(uint64(d)>>10), numClasses-1)
}

// open makes st, which is zero, the station of a place.
func (st *station) open(p Place, servers int, inOrder bool) {
	st.place, st.inOrder, st.slowdown = p, inOrder, 1
	st.runs, st.idle = make([]run, servers), make([]int32, servers)
	st.queue, st.urgent = jobHeap{kind: inQueue}, jobHeap{kind: inQueue}
	for i := range st.idle {
		st.idle[i] = int32(servers - 1 - i)
	}
	st.setLost(servers == 0)
}

// setLost says whether the place is lost.
func (st *station) setLost(lost bool) {
	st.lost = lost
	st.changed()
}

// changed brings free up to date.
func (st *station) changed() { st.free.Store(!st.lost && st.waiting == 0 && len(st.idle) > 0) }

func (st *station) queued() int { return st.queue.len() + st.urgent.len() }

// account adds what a job that waits adds to this place, or takes it away: all if it waits
// here, and a half if it waits for either place.
func (st *station) account(j *Job, sign int) {
	all := min(j.adds(st.place), longest)
	adds := all
	if j.group == open {
		adds /= 2
	}
	st.waiting += sign
	adds *= time.Duration(sign)
	if j.group == urgent {
		st.urgently += adds
	} else {
		st.classes[classOf(all)] += adds
	}
	st.work += int64(sign) * j.Work
	st.changed()
}

// longest bounds costs in sums.
const longest = time.Hour

// load is how long the runs of a station go on: in sum, and the one that ends first.
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

// ahead is what waits before a job that adds so much: the jobs that add no more,
// or all if they are served in order, and the urgent ones. less is taken away: the
// job's own part, if it waits here.
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

// wait predicts how long a job that adds so much and arrives now waits for a
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

// after predicts how long it takes until a server is there for what comes after
// the load and what waits ahead of it.
func (st *station) after(l load, ahead time.Duration) time.Duration {
	if ahead > 0 {
		l.least = max(l.least, (l.sum+ahead)/time.Duration(len(st.runs)))
	}
	return time.Duration(float64(l.least) * st.slowdown)
}

// left predicts how long the run goes on. One that has taken longer than
// predicted is taken to go on for an eighth of what it took.
func (r *run) left(now time.Duration) time.Duration {
	switch {
	case r.jobs == 0:
		return 0
	case r.until > now:
		return r.until - now
	}
	return (now - r.start) / 8
}

// begin takes a server for a run that is predicted to take so long.
func (st *station) begin(now, predicted time.Duration, jobs int) int32 {
	last := len(st.idle) - 1
	server := st.idle[last]
	st.idle = st.idle[:last]
	st.runs[server] = run{jobs: jobs, start: now, until: plus(now, min(predicted, longest))}
	st.changed()
	return server
}

// end gives a server back. took is how long its run took, 0: not known.
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
