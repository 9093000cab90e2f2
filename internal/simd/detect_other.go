//go:build !amd64 || noasm

package simd

// Detected returns the highest level of the machine.
func Detected() Level { return PureGo }
