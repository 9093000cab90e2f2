// Package simulation simulates package sched: a log of queries with their times
// on each processor, open-loop arrivals, virtual time. A million arrivals take
// about a second. It repeats the experiment of Ding, He, Yan and Suel (Using
// Graphics Processors for High Performance IR Query Processing, WWW 2009, §9
// and Fig. 7).
//
// A [Query] runs for its measured times; the scheduler sees predictions with a
// given error ([Options].Error). Latencies count from the scheduled arrival:
// arrivals are never delayed.
//
// Start with [Run]; [At] and [SustainedRate] set its rate; [Ding09]
// returns the configurations of the figure. The same options give the same
// result.
//
// Lanes of a GPU can slow each other down ([Options].Shared); other servers do not.
//
// No state is shared: simulations may run concurrently.
package simulation
