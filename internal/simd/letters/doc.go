// Package letters classifies the characters of text, 64 bytes at a time. It does not cut words: that is package analysis.
//
// Functions access only their arguments.
package letters

//go:generate go -C ../../../tools/asm run ./letters -out ../../internal/simd/letters/letters_amd64.s -stubs ../../internal/simd/letters/stubs_amd64.go -pkg letters
