// Package process reads the memory, the processor time and the disk traffic of a process, and the processor time of the
// machine, from Linux's /proc, for benchmarks. Elsewhere all are 0.
//
// A [Process] is a number, which any goroutine may use.
package process
