package sched

import "time"

// A waiting job is in one queue, the queue of its group, and may also be in watch.
type queues struct {
	places  [NumPlaces]station
	open    jobHeap // ding09's third group, by arrival
	watch   jobHeap // waiting jobs, by the time to reconsider them
	stretch float64
	urgency float64
}

func (q *queues) init(o *Options) {
	q.open, q.watch = jobHeap{kind: inQueue}, jobHeap{kind: inWatch}
	q.stretch, q.urgency = o.Stretch, o.Urgent
	q.places[CPU].open(CPU, o.CPUs, o.Stretch == 0)
	q.places[GPU].open(GPU, o.Lanes, o.Stretch == 0)
}

func (q *queues) queued() int {
	return q.places[CPU].queued() + q.places[GPU].queued() + q.open.len()
}

// all returns the queues, of which each waiting job is in one.
func (q *queues) all() [2*NumPlaces + 1]*jobHeap {
	return [...]*jobHeap{&q.places[CPU].urgent, &q.places[CPU].queue, &q.places[GPU].urgent, &q.places[GPU].queue, &q.open}
}

func (q *queues) free(p Place) bool {
	st := &q.places[p]
	return !st.lost && len(st.idle) > 0 && st.queued() == 0 && q.open.len() == 0
}

func (q *queues) present(j *Job, p Place) bool { return j.can(p) && !q.places[p].lost }

// feeds reports whether the CPUs have to feed the GPU (Pool.Spare), which can run the job. Then no CPU takes the job, even
// if it is shed: a CPU that runs one job keeps many others from the GPU. feeding is Options.Feeding.
func (q *queues) feeds(j *Job, feeding time.Duration) bool {
	cpus := &q.places[CPU]
	return j.Batched > 0 && !j.entry.solo && j.Moves == 0 && j.Cost[CPU] > feeding && q.places[GPU].busy.Load() &&
		(j.Patient || cpus.spareServers < len(cpus.runs) && len(cpus.runs)-len(cpus.idle)+cpus.queued() >= cpus.spareServers)
}

func (q *queues) enqueue(now time.Duration, j *Job, p Place, g group) {
	j.entry.state, j.entry.since = waiting, now
	q.put(j, p, g)
}

// put adds a waiting job to a queue, and to the watched jobs.
func (q *queues) put(j *Job, p Place, g group) {
	j.entry.aimed, j.entry.group = p, g
	st := &q.places[p]
	switch g {
	case own:
		st.queue.push(j, q.key(j, p))
	case urgent:
		st.urgent.push(j, j.Deadline-j.Cost[p])
	case open:
		q.open.push(j, j.Arrived)
	}
	q.account(j, +1)
	at := q.urgentAt(j)
	switch g {
	case urgent:
		return
	case open:
		at = min(at, q.openUntil(j))
	}
	if at != Never {
		q.watch.push(j, at)
	}
}

func (q *queues) account(j *Job, sign int) {
	q.places[j.entry.aimed].account(j, sign)
	if j.entry.group == open {
		q.places[j.entry.aimed.Other()].account(j, sign)
	}
}

func (q *queues) take(j *Job) {
	st := &q.places[j.entry.aimed]
	q.account(j, -1)
	switch j.entry.group {
	case own:
		st.queue.remove(j)
	case urgent:
		st.urgent.remove(j)
	case open:
		q.open.remove(j)
	}
	if j.entry.index[inWatch] >= 0 {
		q.watch.remove(j)
	}
}

// key is defined in the package comment.
func (q *queues) key(j *Job, p Place) time.Duration {
	cost := min(j.Cost[p], longest)
	affinity := 0.0
	if there := j.Cost[p.Other()]; there > cost {
		affinity = 1 - float64(cost)/float64(there)
	}
	key := j.Arrived + time.Duration(q.stretch*float64(cost)*(1-affinity/2))
	if j.Deadline != Never {
		key = max(min(key, j.Deadline-cost), j.Arrived)
	}
	return key
}

// urgentAt returns the time from which the job precedes all others.
func (q *queues) urgentAt(j *Job) time.Duration {
	if j.Deadline == Never {
		return Never
	}
	return j.Arrived + time.Duration(q.urgency*float64(j.Deadline-j.Arrived))
}

// openUntil returns the time at which a job of the third group stops waiting for
// any idle server.
func (q *queues) openUntil(j *Job) time.Duration {
	return j.Arrived + time.Duration(q.stretch*float64(min(j.Cost[CPU], j.Cost[GPU], longest)))
}
