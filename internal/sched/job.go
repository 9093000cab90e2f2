package sched

import "time"

// Job is a query as the scheduler sees it. The caller fills the exported fields
// before it submits the job, and must not touch it until it has ended. Then it
// may be reused.
type Job struct {
	// Predicted time at each place, alone, including everything that follows from
	// beginning there. Never: it cannot run there; a failed run also sets this.
	Cost [NumPlaces]time.Duration
	// Time that the job adds to a batch on the GPU; 0: the same as alone. A batch
	// takes the sum of these plus the maximum of the remaining costs.
	Batched time.Duration
	// Number of postings of the shortest list (PolicyBatch).
	Work int64
	// Time from arrival to deadline; 0: Options.Deadline; Never: no deadline.
	Within time.Duration
	// Alone: the job never shares a launch with others.
	Alone bool
	// Admitted: the job is a part of a request that was admitted. It is never shed, and has no
	// deadline.
	Admitted bool
	// Patient: the job waits for the GPU if it can run there in time, though a CPU may end it earlier.
	Patient bool
	ID      int

	// Arrived and Deadline are set on arrival, in the scheduler's time.
	Arrived, Deadline time.Duration
	// Place is where the job runs or ran last, Began the start there.
	Place Place
	Began time.Duration
	// Queued is the time spent waiting for servers, Batch the number of jobs in
	// the last run, Moves the number of changes of place after the first start.
	// Stolen: this run was not at the place chosen first.
	Queued time.Duration
	Batch  int
	Stolen bool
	Moves  int

	entry entry
	task  task
}

type state uint8

const (
	idle state = iota
	waiting
	running
)

type group uint8

const (
	own    group = iota // of the aimed place
	urgent              // of the aimed place, near the deadline
	open                // of both places: ding09's third group
)

type entry struct {
	state  state
	server int32
	since  time.Duration // start of the current wait
	group  group         // of the queue in which it waits
	aimed  Place         // place chosen when it was queued
	solo   bool          // runs alone, or has begun
	trial  bool          // runs although predicted to be late
	seq    uint64        // order of arrival
	key    [2]time.Duration
	index  [2]int32 // positions in the heaps, -1: none
}

func (j *Job) can(p Place) bool { return j.Cost[p] != Never }

// adds returns the time that the job adds to the load of p.
func (j *Job) adds(p Place) time.Duration {
	if p == GPU && j.Batched > 0 && !j.entry.solo {
		return j.Batched
	}
	return j.Cost[p]
}

// beside returns the job's time on the GPU in excess of its addition to a batch.
func (j *Job) beside() time.Duration { return max(j.Cost[GPU]-j.adds(GPU), 0) }
