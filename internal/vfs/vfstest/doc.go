// Package vfstest provides file systems for tests, safe for concurrent use: Mem in memory; Faulty,
// which injects faults into another; and Disk, which a power failure leaves with any subset of what
// was not synced.
package vfstest
