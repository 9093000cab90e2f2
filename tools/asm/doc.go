// Package asm is empty. Each folder below it is a command that writes the assembly of
// internal/simd/<family>, with avo, or for arm64 (neon) clang; "go generate" there runs it, and make generate-check
// compares the committed output.
package asm
