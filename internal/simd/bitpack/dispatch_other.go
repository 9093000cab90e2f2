//go:build (!amd64 && !arm64) || noasm

package bitpack

func unpack(dst *[Len]uint32, src []byte, width uint8, add uint32) {
	unpackGeneric(dst[:], check(src, width), add, width)
}

func unpackGaps(dst *[Len]uint32, src []byte, base uint32, width uint8) {
	unpackGapsGeneric(dst[:], check(src, width), base, 1, width)
}

func unpackN(dst *[Len]uint32, src []byte, width uint8, add uint32, n int) {
	if asBlock(src, width, n) {
		unpackGeneric(dst[:], src, add, width)
		return
	}
	unpackNGeneric(dst, checkN(src, width, n), width, add, n)
}

func unpackGapsN(dst *[Len]uint32, src []byte, base uint32, width uint8, n int) {
	if asBlock(src, width, n) {
		unpackGapsGeneric(dst[:], src, base, 1, width)
		return
	}
	unpackGapsNGeneric(dst, checkN(src, width, n), base, width, n)
}

func prefixSum(dst *[Len]uint32, base uint32) { prefixSumGeneric(dst, base) }
