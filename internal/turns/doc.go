// Package turns bounds how many goroutines compute at the same time.
//
// The Go runtime preempts a goroutine after 10 ms at the earliest. With more goroutines that compute than
// GOMAXPROCS, each step of a request waits for several of them. Background work therefore runs in turns: its
// goroutines hold one while they compute, and none while they wait.
//
// It is not for searches, whose scheduler is package sched, and it bounds neither memory nor the disk. Turns, the
// only type, is safe for concurrent use. A goroutine that holds a turn must not wait for one that needs a turn of
// the same Turns: Wait gives it back meanwhile.
package turns
