//go:build amd64 && !noasm

package simd

import "golang.org/x/sys/cpu"

// Detected returns the machine's highest level.
func Detected() Level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2 || !x.HasFMA || !x.HasPOPCNT:
		return PureGo
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512CD && x.HasAVX512DQ && x.HasAVX512VL &&
		x.HasAVX512VBMI && x.HasAVX512VBMI2 && x.HasAVX512BITALG && x.HasAVX512VPOPCNTDQ:
		return AVX512
	}
	return AVX2
}
