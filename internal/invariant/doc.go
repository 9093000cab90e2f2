// Package invariant checks conditions that must always hold inside Griffin.
//
// Check costs nothing in release builds; with the build tag "invariants" (make test uses it), a
// violated invariant panics. It is for bugs only, never for input: invalid input gets an error.
//
// A Group runs goroutines and re-raises their panics.
package invariant
