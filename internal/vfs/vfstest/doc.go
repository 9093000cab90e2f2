// Package vfstest provides file systems for tests: Mem keeps files in memory,
// and Faulty injects faults into another file system. Both are safe for
// concurrent use.
package vfstest
