// Package vfstest provides file systems for tests, safe for concurrent use: Mem keeps files in
// memory, and Faulty injects faults into another.
package vfstest
