// Package simulation simulates package sched: a log of queries with their times
// on each processor, open-loop arrivals, virtual time. A million arrivals take
// about a second.
//
// It shows the effect of a policy at an arrival rate, and the highest rate that
// it sustains: the experiment of Ding, He, Yan and Suel (Using Graphics
// Processors for High Performance IR Query Processing, WWW 2009, §9 and Fig.
// 7). A [Query] has measured times, which determine how long it runs; the
// scheduler sees predictions with a given error ([Options].Error). Latencies
// count from the scheduled arrival: arrivals are never delayed.
//
// Start with [Run]; [Sweep] and [SustainedRate] cover several rates; [Ding09]
// returns the four configurations of the figure. The same options give the same
// result.
//
// It does not model the effect of load on processors: servers do not slow each
// other down, and lanes of a GPU are as independent as CPUs.
//
// No state is shared: simulations may run concurrently.
package simulation
