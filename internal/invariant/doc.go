// Package invariant checks conditions that must always hold inside Griffin.
//
// Check costs nothing in release builds. With the build tag "invariants" (make test uses
// it), a violated invariant panics. It is for bugs only, never for input: invalid input
// gets an error.
//
// A Group runs goroutines and re-raises a panic of one in the goroutine that waits, with
// its stack.
package invariant
