// Package load generates query load and measures how a service handles it.
//
// The loop is open: queries arrive at predetermined times (a Poisson process or
// constant intervals), whether or not earlier ones are answered, like queries
// of many independent users. The latency of a query counts from its scheduled
// arrival. So if a server stalls, the waits of all queries that arrive
// meanwhile are measured; a closed loop, in which the next query waits for the
// last answer, omits them (Tene calls this coordinated omission). A delay of
// the generator itself counts as well, and is also reported as lag.
//
//   - Run measures at one rate, and returns a Point.
//   - Sweep measures at several rates.
//   - Search finds the highest rate that a service sustains: for example, at which 99 of
//     100 queries are answered within 10 ms.
//   - Soak measures at one rate for a long time, reads the memory of the process at
//     intervals, and decides whether it grows.
//
// A Target answers queries: an HTTP server (HTTP), or code in the process. The
// package does not know indexes. To measure the cost of a query, use griffin
// bench.
//
// # Concurrency
//
// Each outstanding query has a goroutine. Memory does not grow with the number
// of queries: times are recorded in latency.Histogram.
package load
