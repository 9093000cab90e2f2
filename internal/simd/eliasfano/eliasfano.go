package eliasfano

const (
	// Len is the number of values of a block.
	Len = 128
	// MaxWidth is the maximum number of low bits of a value.
	MaxWidth = 24
	// HighBits is the maximum number of bits of a block's unary part: with
	// floor(log2(mean)) low bits, the sum of the high parts is below 2*Len, and each value
	// has one end bit.
	HighBits = 3*Len - 1
	// HighBytes is the size of the largest unary part.
	HighBytes = (HighBits + 7) / 8
	// Slack is the number of bytes after the unary part that may be read.
	Slack = 16
)

// Space returns the number of bytes that src must have for a block with width low bits a
// value.
func Space(width uint8) int { return Len/8*int(width) + HighBytes + Slack }

// DocIDs decodes the Elias-Fano code of Len non-decreasing values v: the low width bits of
// each, then for each the increase of the high part as a count of zero bits and a one bit.
// It writes base + 1 + i + v[i] (modulo 2^32) to dst and returns the number of bits of the
// unary part. It returns 0, with dst undefined, if the unary part does not end within
// HighBits, or if dst is not strictly increasing from base + 1. src has at least
// Space(width) bytes; width is at most MaxWidth.
func DocIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) (bits int) {
	if bits = docIDs(dst, check(src, width), base, width); dst[0] < base+1 {
		return 0
	}
	return bits
}

// Freqs is DocIDs with base 0 for the running sums of frequencies: dst[i] is the difference
// of consecutive sums, which is at least 1.
func Freqs(dst *[Len]uint32, src []byte, width uint8) (bits int) {
	return freqs(dst, check(src, width), width)
}

// RiceDocIDs decodes Rice codes of Len gaps minus one: the low width bits of each, then for
// each the rest as a count of one bits and a zero bit. dst[i] is base plus the sum of gaps
// 0 to i, each plus 1. Otherwise it is like DocIDs.
func RiceDocIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) (bits int) {
	if bits = riceDocIDs(dst, check(src, width), base, width); dst[0] < base+1 {
		return 0
	}
	return bits
}

// RiceFreqs decodes the Rice codes of Len values; dst[i] is value i plus 1 (modulo 2^32).
// It returns 0 if the unary part does not end within HighBits.
func RiceFreqs(dst *[Len]uint32, src []byte, width uint8) (bits int) {
	return riceFreqs(dst, check(src, width), width)
}

// check returns the bytes that may be read. It panics if src is too short.
func check(src []byte, width uint8) []byte {
	if width > MaxWidth {
		panic("eliasfano: width above MaxWidth")
	}
	return src[:Space(width)]
}
