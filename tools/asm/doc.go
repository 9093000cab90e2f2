// Package asm is empty. Each folder below it is a command that writes the assembly of one
// kernel family, internal/simd/<family>, with avo. "go generate" in the family's folder
// runs it. The output is committed; make generate-check compares it with the generator's
// output.
package asm
