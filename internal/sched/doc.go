// Package sched decides which job runs next, at which place, and with which
// others: admission, queues, deadlines, batches, stealing and shedding for the
// processors of one machine.
//
// A [Job] is a query as the scheduler sees it: predicted times, a deadline, no
// text. A [Place] is a kind of processor; it has servers (processors, or lanes
// of GPUs), each of which runs one job, or on a GPU one batch, at a time. A
// [Policy] says how places are chosen and batches are formed.
//
// The decisions are those of [Scheduler], a state machine without clock,
// goroutines or locks: every method is told the time. Two drivers use it: [Pool]
// runs real work on the goroutines that ask for it, and package simulation runs
// a million jobs a second on paper.
//
// # Policies
//
// cpu and gpu use one place (a job that cannot run there goes to the other).
// ratio begins at the GPU where that is possible; its jobs migrate by
// [Scheduler.Switch]. query is the method of Ding, He, Yan and Suel (Using
// Graphics Processors for High Performance IR Query Processing, WWW 2009, §9):
// three groups by predicted cost with thresholds that adapt, stealing, priority
// near the deadline. batch is that of Ao et al. (Efficient Parallel Lists
// Intersection and Index Compression Algorithms using Graphics Processing
// Units, VLDB 2011, §4.1): jobs gather until the sum of their work reaches a
// computational threshold. cost sends a job to where it is predicted to end
// first, with all that is queued and running there.
//
// # Order
//
// Within a place jobs are ordered by the time at which each should begin,
//
//	key = arrived + stretch * cost * (1 - affinity/2),  at most deadline - cost,  at least arrived
//
// where cost is the job's predicted time there and affinity = 1 - cost here /
// cost at the other place, at least 0 (cost 10 ms against 40 ms: 0.75). Small
// jobs overtake, and none starves: a job waits only for jobs that arrived less
// than stretch * cost after it. What has used a good part of the time to its
// deadline is taken before all others, first the one that must begin first.
//
// A job that cannot end by its deadline, as predicted, is shed when it arrives. An idle
// place tries one now and then all the same, for a sixteenth of its time at most, so that
// a prediction that is wrong is found out.
//
// It is not for what a job does, nor for predicting how long it takes: that is
// package cost, and exec ties them together.
//
// A Scheduler is for one goroutine at a time. A Pool may be used by any number.
package sched
