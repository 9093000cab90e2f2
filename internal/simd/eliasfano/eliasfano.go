package eliasfano

const (
	// Len is the number of values of a block.
	Len = 128
	// MaxWidth is the greatest number of low bits of a value.
	MaxWidth = 24
	// HighBits is how many bits the unary part of a block can have: an encoder that
	// takes floor(log2(mean)) low bits has a sum of high parts below 2*Len, and each
	// value ends in one bit more.
	HighBits = 3*Len - 1
	// HighBytes is the size of the largest unary part.
	HighBytes = (HighBits + 7) / 8
	// Slack is how many bytes behind those may be read.
	Slack = 16
)

// Space is how many bytes src must have for a block with width low bits a value.
func Space(width uint8) int { return Len/8*int(width) + HighBytes + Slack }

// DocIDs decodes the Elias-Fano code of Len values that do not fall, v: the low
// width bits of each, then for each the increase of the rest as that many zero
// bits and a one bit. It writes base + 1 + i + v[i] (modulo 2^32) to dst, and
// returns how many bits the unary part has. It returns 0, and dst is undefined, if
// the unary part does not end within HighBits, or dst does not rise strictly from
// base + 1 on. src has at least Space(width) bytes, and width is at most MaxWidth.
func DocIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) (bits int) {
	if bits = docIDs(dst, check(src, width), base, width); dst[0] < base+1 {
		return 0
	}
	return bits
}

// Freqs is DocIDs with base 0 for the running sums of frequencies: dst[i] is
// what DocIDs would write there less dst[i-1], which is at least 1.
func Freqs(dst *[Len]uint32, src []byte, width uint8) (bits int) {
	return freqs(dst, check(src, width), width)
}

// RiceDocIDs decodes Rice codes of Len gaps less one: the low width bits of each,
// then for each the rest as that many one bits and a zero bit. dst[i] is base plus
// the sum of gaps 0 to i, each plus 1. All else is as in DocIDs.
func RiceDocIDs(dst *[Len]uint32, src []byte, base uint32, width uint8) (bits int) {
	if bits = riceDocIDs(dst, check(src, width), base, width); dst[0] < base+1 {
		return 0
	}
	return bits
}

// RiceFreqs decodes the Rice codes of Len values; dst[i] is value i plus 1 (modulo
// 2^32). It returns 0 if the unary part does not end within HighBits.
func RiceFreqs(dst *[Len]uint32, src []byte, width uint8) (bits int) {
	return riceFreqs(dst, check(src, width), width)
}

// check returns the bytes that may be read; it panics if they are not there.
func check(src []byte, width uint8) []byte {
	if width > MaxWidth {
		panic("eliasfano: width above MaxWidth")
	}
	return src[:Space(width)]
}
