// Package jsonout appends JSON to byte slices, without reflection and without allocations. Its output is byte-identical
// to the output of encoding/json with SetEscapeHTML(false).
//
// It is for answers that are written for every search. It does not read JSON, and it has no type for objects: the
// caller appends brackets and keys.
//
// # Concurrency
//
// The functions have no state.
package jsonout
