package eliasfano

const (
	// Len is the number of values of a block.
	Len = 128
	// MaxWidth is the greatest number of low bits.
	MaxWidth = 24
	// HighBits bounds the unary part: with floor(log2(mean)) low bits, high parts add up to
	// less than 2*Len, and each value has an end bit.
	HighBits = 3*Len - 1
	// HighBytes is HighBits in bytes.
	HighBytes = (HighBits + 7) / 8
	// Slack bytes after the unary part may be read.
	Slack = 16
)

// Space returns the bytes that src must have for width low bits.
func Space(width uint8) int { return Len/8*int(width) + HighBytes + Slack }

// DocIDs decodes the Elias-Fano code of Len non-decreasing values v: the low width bits of
// each, then the high parts' increases as zero bits and a one bit. It writes base + 1 + i +
// v[i] (modulo 2^32) to dst and returns the bits of the unary part, or 0, with dst undefined,
// if that does not end within HighBits or dst does not increase strictly from base + 1. src has
// at least Space(width) bytes; width is at most MaxWidth.
func DocIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) (bits int) {
	if bits = docIDs(dst, check(src, width), base, width); dst[0] < base+1 {
		return 0
	}
	return bits
}

// Freqs is DocIDs with base 0 for running sums: dst[i] is the difference of consecutive ones,
// at least 1.
func Freqs(dst *[Len]uint32, src []byte, width uint8) (bits int) {
	return freqs(dst, check(src, width), width)
}

// RiceDocIDs is DocIDs for Rice codes of Len gaps minus one: the low width bits of each, then
// the rests as one bits and a zero bit. dst[i] is base plus the sum of gaps 0 to i, each plus
// 1.
func RiceDocIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) (bits int) {
	if bits = riceDocIDs(dst, check(src, width), base, width); dst[0] < base+1 {
		return 0
	}
	return bits
}

// RiceFreqs decodes the Rice codes of Len values, each plus 1 (modulo 2^32). It returns 0 if
// the unary part exceeds HighBits.
func RiceFreqs(dst *[Len]uint32, src []byte, width uint8) (bits int) {
	return riceFreqs(dst, check(src, width), width)
}

func check(src []byte, width uint8) []byte {
	if width > MaxWidth {
		panic("eliasfano: width above MaxWidth")
	}
	return src[:Space(width)]
}
