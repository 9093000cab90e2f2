package codec

import "math/bits"

// A slope of m * 2^e units of 2^-32 is stored as m | e<<26, with m in [2^25, 2^26). An error of
// half a unit of m shifts a line's end by 2^-27 of its increase, less than the spread of DocIDs
// unless lists are much longer than 2^40.
const (
	slopeBits = 26
	slopeMask = 1<<slopeBits - 1
)

// packSlope returns the stored form of a slope of at least 2^32, rounded down.
func packSlope(slope uint64) uint32 {
	e := max(0, bits.Len64(slope)-slopeBits)
	return uint32(slope>>e) | uint32(e)<<slopeBits
}

func unpackSlope(packed uint32) uint64 {
	return uint64(packed&slopeMask) << (packed >> slopeBits)
}
