//go:build !amd64 || noasm

package simd

// Detected returns the highest level that the machine has.
func Detected() Level { return PureGo }
