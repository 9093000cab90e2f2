// Package ptx rewrites the text of GPU kernels so that it compresses to about half the size. It does
// not compile, check or compress PTX.
//
// Most of compressed PTX is numbers: of registers, which clang counts up through a function,
// and of labels. Equal code has other numbers in each place. [Fold] writes a number relative to the
// numbers before it, so that equal code mostly becomes equal text. [Unfold] restores the PTX, byte for byte.
// Both are safe for concurrent use.
//
// # Format
//
// A number is the digits at the end of a name that starts with % or $. The characters of the name before
// it are its prefix. Numbers are distinct for each prefix and function. A line that starts with { begins a function.
//
//   - The first time, Fold writes "!" and the distance from the number after the newest one (from 1 at first): with
//     %r4 as the newest, %r5 becomes %r!0 and %r3 becomes %r!-2.
//   - Later, Fold writes how many numbers first appeared after it: %r0 is the newest.
package ptx
