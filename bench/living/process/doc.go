// Package process reads the memory, the processor time and the disk traffic of a process from Linux's
// /proc, for benchmarks. Elsewhere all are 0. It does not measure the machine.
//
// A [Process] is a number, which any goroutine may use.
package process
