// Package sched decides which job runs next, at which place, and with which others.
//
// A [Place] is a kind of processor. It has servers (CPU cores, or lanes of
// GPUs), each of which runs one job, or on a GPU one batch, at a time.
//
// [Scheduler] is a state machine without clock, goroutines or locks: every
// method receives the time. It has two drivers: [Pool] runs real work on the
// calling goroutines, and package simulation simulates a load.
//
// # Policies
//
// cpu and gpu use one place (a job that cannot run there goes to the other).
// ratio begins at the GPU if possible; its jobs migrate by [Scheduler.Switch].
// query is the method of Ding, He, Yan and Suel (Using Graphics Processors for
// High Performance IR Query Processing, WWW 2009, §9): three groups by
// predicted cost with adaptive thresholds, stealing, and priority near the
// deadline. batch is the method of Ao et al. (Efficient Parallel Lists
// Intersection and Index Compression Algorithms using Graphics Processing
// Units, VLDB 2011, §4.1): jobs are collected until the sum of their work
// reaches a computational threshold. cost sends a job to the place with the
// earliest predicted end, considering all queued and running jobs.
//
// # Feeding a GPU
//
// A job of a batch takes a GPU a few microseconds, and a CPU about 20 to plan, launch and complete it; alone on
// a CPU it takes hundreds. While a GPU is busy, three rules keep the CPUs for feeding it. A launch beside
// others waits for enough jobs (Options.Beside). A job waits for the GPU although a CPU would end it earlier, if
// the wait is short (Options.Patience). And if goroutines of jobs that may begin are late, CPUs take fewer of the
// jobs that a GPU could run ([Pool.Spare]), and none because the GPU would answer them too late.
//
// Lanes share a GPU, but costs are predicted for launches that run alone. The scheduler learns from the times of
// launches how they slow each other down. It sheds the jobs that would therefore miss their deadlines.
//
// # Order
//
// Within a place jobs are ordered by the time at which each should begin,
//
//	key = arrived + stretch * cost * (1 - affinity/2),  at most deadline - cost,  at least arrived
//
// where cost is the job's predicted time there and affinity = 1 - cost here /
// cost at the other place, at least 0 (cost 10 ms against 40 ms: 0.75). Small
// jobs overtake, but no job starves: a job waits only for jobs that arrived
// less than stretch * cost after it. A job that has used a given share of the
// time to its deadline (Options.Urgent) precedes all others; among such jobs,
// the one that must begin first.
//
// A job that has waited for half of its time or more does not lead a launch that would have to be small to end in time,
// while others wait: it goes to the other place or is shed.
//
// A job that is predicted to miss its deadline is shed on arrival. An idle
// place runs such a job from time to time, using at most a sixteenth of its
// time, to detect wrong predictions. After a job for a GPU that CPUs feed was
// shed, a [Pool] sheds others like it without its lock, for 1/32 of the
// predicted wait. If it sheds most jobs then, it also refuses queries before they are planned
// ([Pool.Refuse]), except one of 16. When the processors cannot even plan the queries between two such
// times, it refuses a share of them, which follows the jobs that were shed in the last 10 ms.
//
// Package cost predicts the times of jobs; package dispatch connects both
// packages.
//
// A Scheduler is for one goroutine at a time. A Pool is safe for concurrent
// use.
package sched
