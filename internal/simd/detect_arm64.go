//go:build !noasm

package simd

// Detected returns the machine's highest level.
func Detected() Level { return NEON }
