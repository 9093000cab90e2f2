// Package footprint reads the private memory of this process ([AnonymousBytes]), for metrics
// and for detecting memory growth, and the memory that it can still take ([Available]). It does not report Go's
// allocations (package runtime), and limits nothing.
//
// Its functions are safe for concurrent use.
package footprint
