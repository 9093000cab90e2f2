// Package asm is empty: each folder below it is a command that writes the
// assembly of one kernel family, internal/simd/<family>, with avo. "go generate"
// in the family's folder runs it; the output is committed, and make
// generate-check compares it with what the generator writes.
package asm
