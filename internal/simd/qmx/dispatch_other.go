//go:build !amd64 || noasm

package qmx

func decode(dst *[Len]uint32, src []byte, numSelectors int, add uint32, n int) (size int, wide bool) {
	return decodeGeneric(dst, src, numSelectors, add, n)
}

func decodeGaps(dst *[Len]uint32, src []byte, numSelectors int, base uint32, n int) (size int, wide bool) {
	return decodeGapsGeneric(dst, src, numSelectors, base, n)
}
