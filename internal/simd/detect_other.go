//go:build (!amd64 && !arm64) || noasm

package simd

// Detected returns the machine's highest level.
func Detected() Level { return PureGo }
