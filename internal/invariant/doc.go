// Package invariant checks what must always hold inside Griffin.
//
// Check costs nothing in release builds; with the build tag "invariants"
// (make test uses it) a broken invariant panics at the place where it broke.
// It is for bugs only, never for input: bad input gets an error.
//
// A Group is for goroutines that others wait for: a panic of one goes on there, with its
// stack.
package invariant
