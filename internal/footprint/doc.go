// Package footprint reads the private memory of this process ([AnonymousBytes]), for metrics
// and for detecting memory growth. It does not report Go's allocations (package runtime) or
// memory limits.
//
// Its functions are safe for concurrent use.
package footprint
