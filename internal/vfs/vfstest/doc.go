// Package vfstest provides file systems for tests, safe for concurrent use: Mem in memory, and
// Faulty, which injects faults into another.
package vfstest
