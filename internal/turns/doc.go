// Package turns bounds how many goroutines compute at the same time.
//
// The Go runtime preempts a goroutine after 10 ms at the earliest. With more goroutines that compute than
// GOMAXPROCS, each step of a request waits for several of them. Background work therefore runs in turns: its
// goroutines hold one while they compute, and none while they wait.
//
// Even so, a search that arrives finds all processors busy. Background work therefore passes a Gate between small
// pieces of work, where it waits for searches.
//
// It is not for the order of searches, whose scheduler is package sched, and it bounds neither memory nor the disk.
// Turns and Gate are safe for concurrent use. A goroutine that holds a turn must not wait for one that needs a turn of
// the same Turns: Wait gives it back meanwhile.
package turns
