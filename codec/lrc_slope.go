package codec

import "math/bits"

// Slopes are stored as floating-point numbers with 26 significant bits: a slope of m * 2^e
// units of 2^-32 is m | e<<26, with m in [2^25, 2^26). An error of half a unit of m shifts
// the end of a line by 2^-27 of its increase. This is less than the spread of DocIDs around
// the line unless lists are much longer than 2^40.
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
