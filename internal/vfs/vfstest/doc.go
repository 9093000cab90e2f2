// Package vfstest has file systems for tests: Mem keeps files in memory, and
// Faulty makes the operations of another file system fail at will.
//
// Both are safe for concurrent use.
package vfstest
