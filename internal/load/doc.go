// Package load puts load on whatever answers queries and measures how it bears it.
//
// The loop is open: queries arrive at times that are fixed beforehand (a Poisson
// process, or one at a constant distance), whether earlier ones are answered or not,
// as those of many independent users do. A query's latency counts from the time at
// which it was to arrive. So the wait behind a server that stands still is in the
// figures, of all the queries that came meanwhile; a closed loop, in which the next
// query waits for the last answer, leaves it out (Tene calls that coordinated
// omission). Where the generator itself is late, that counts as well, and is told
// apart as lag.
//
//   - Run measures at one rate, and gives a Point.
//   - Sweep measures at several rates, one after another.
//   - Search looks for the highest rate that a service bears: at which, say, 99 of 100
//     queries are answered within 10 ms.
//   - Soak measures for long at one rate, reads the memory of the process at intervals,
//     and judges whether it grows.
//
// What answers is a Target: an HTTP server (HTTP), or anything in the process. The
// package knows nothing of indexes. It is not for measuring what a query costs: that
// is griffin bench.
//
// # Concurrency
//
// Each query has a goroutine while it is out. Memory does not grow with the number of
// queries: times go into latency.Histogram.
package load
