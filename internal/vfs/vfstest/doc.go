// Package vfstest provides file systems for tests, safe for concurrent use: Mem in memory; Faulty,
// which injects faults into another; and Disk, which keeps any subset of the unsynced changes after a power failure.
package vfstest
