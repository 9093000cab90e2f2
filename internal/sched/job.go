package sched

import "time"

// Job is a query as the scheduler sees it. The caller fills the exported fields
// before it hands the job over, and does not touch the job until it has ended;
// then it may be filled and used again, which allocates nothing.
type Job struct {
	// Cost is the predicted time at each place, alone, counting everything that
	// follows from beginning there. Never: it cannot run there; so it is set where
	// a run failed.
	Cost [NumPlaces]time.Duration
	// Batched is the time that the job adds to a batch on the GPU; 0: as much as
	// it takes alone. A batch takes what its jobs add, and once the most that one
	// of them takes beside that.
	Batched time.Duration
	// Work is the number of postings of the shortest list (PolicyBatch).
	Work int64
	// Within is the time to the deadline from the arrival; 0: Options.Deadline;
	// Never: no deadline.
	Within time.Duration
	// Alone says that the job never shares a launch with others.
	Alone bool
	// ID is the caller's.
	ID int

	// Arrived and Deadline are times of the scheduler's clock, set when the job
	// arrives.
	Arrived, Deadline time.Duration
	// Place is where the job runs or ran last, Began when it began there.
	Place Place
	Began time.Duration
	// Queued is the time spent waiting for servers, Batch how many jobs shared
	// the last run, Stolen whether that was at the place that was not chosen
	// first, Moves how often the job changed place after it had begun.
	Queued time.Duration
	Batch  int
	Stolen bool
	Moves  int

	state  state
	server int32
	since  time.Duration // it waits since then, if it waits
	group  group         // of what it waits in
	aimed  Place         // where it was to run when it was queued
	solo   bool          // alone, or in the middle of its work
	trial  bool          // run though it is predicted to be too late
	seq    uint64        // by arrival
	key    [2]time.Duration
	index  [2]int32 // in the heaps, -1: in none

	task task // of a Pool
}

type state uint8

const (
	idle state = iota
	waiting
	running
)

// group says in which queue a job waits.
type group uint8

const (
	own    group = iota // of the place aimed at
	urgent              // of the place aimed at, near the deadline
	open                // of either place: ding09's third group
)

// can says whether the job may run at p.
func (j *Job) can(p Place) bool { return j.Cost[p] != Never }

// adds is the time that the job adds to what runs at p.
func (j *Job) adds(p Place) time.Duration {
	if p == GPU && j.Batched > 0 && !j.solo {
		return j.Batched
	}
	return j.Cost[p]
}

// beside is what the job takes on the GPU beside what it adds to a batch.
func (j *Job) beside() time.Duration { return max(j.Cost[GPU]-j.adds(GPU), 0) }
