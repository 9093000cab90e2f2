// Package simulation runs package sched on paper: a log of queries with their
// times on each processor, arrivals in open loop, virtual time. A million arrivals
// take about a second.
//
// It answers what a policy does at a rate of arrivals, and which rate it sustains:
// the experiment of Ding, He, Yan and Suel (Using Graphics Processors for High
// Performance IR Query Processing, WWW 2009, §9 and Fig. 7). A [Query] has times
// that were measured; the scheduler sees predictions of them, with an error that
// is given ([Options].Error), while the measured times rule. Latencies count from
// the scheduled arrival: nothing slows the arrivals down.
//
// Start with [Run]; [Sweep] and [SustainedRate] go over rates; [Ding09] returns the
// four configurations of the figure. The same options give the same result.
//
// It is not for what a processor does when its load changes: servers do not slow
// each other down here, and lanes of a GPU are as independent as servers of a CPU.
//
// No state is shared: runs may go on at once.
package simulation
