// Package load generates query load and measures how a service handles it.
//
// The loop is open: queries arrive at predetermined times, whether or not
// earlier ones are answered. The latency of a query counts from its scheduled
// arrival, so if a server stalls, the waits of all queries that arrive
// meanwhile are measured; a closed loop omits them (Tene calls this coordinated
// omission). A delay of the generator counts as well, and is also reported as
// lag.
//
//   - Run measures at one rate, and returns a Point.
//   - Sweep measures at several rates.
//   - Search finds the highest rate that a service sustains.
//   - Soak measures at one rate for a long time, and decides whether the memory
//     of the process grows.
//
// A Target answers queries: an HTTP server (HTTP), or code in the process.
//
// # Concurrency
//
// Each outstanding query has a goroutine, but queries to an HTTP server on Linux have none: a few goroutines
// wait for all connections. Memory does not grow with the number of queries.
package load
