//go:build !amd64 || noasm

package bitpack

func unpack(dst *[Len]uint32, src []byte, width uint8, add uint32) {
	unpackGeneric(dst[:], src, add, width)
}

func unpackGaps(dst *[Len]uint32, src []byte, base uint32, width uint8) {
	unpackGapsGeneric(dst[:], src, base, 1, width)
}

func unpackN(dst *[Len]uint32, src []byte, width uint8, add uint32, n int) {
	unpackNGeneric(dst, src, width, add, n)
}

func unpackGapsN(dst *[Len]uint32, src []byte, base uint32, width uint8, n int) {
	unpackGapsNGeneric(dst, src, base, width, n)
}

func prefixSum(dst *[Len]uint32, base uint32) { prefixSumGeneric(dst, base) }
