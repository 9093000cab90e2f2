package letters

import "encoding/binary"

// WindowLen is the number of bytes of a window.
const WindowLen = 64

// Classes has a bit for each byte of a window, the first byte's lowest. At most one of the three sets has a byte.
type Classes struct {
	Letters uint64 // of ASCII
	// Others are the other bytes of words: ASCII digits, low lines and bytes beyond ASCII.
	Others uint64
	// Middles are colons, full stops and apostrophes, which join two letters to one word by Unicode Standard Annex #29.
	Middles uint64
}

// Classify classifies the bytes of a window.
func Classify(window *[WindowLen]byte) (c Classes) {
	c.Letters, c.Others, c.Middles = classify(window)
	return c
}

func classifyBytes(window *[WindowLen]byte) (letters, others, middles uint64) {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	for i := range WindowLen / 8 {
		x := binary.LittleEndian.Uint64(window[8*i:])
		low7 := x &^ high
		lower := low7 | 0x20*ones
		// Bit 7 of a sum: the byte is at least the first of a range, or past its last.
		letter := (lower + (0x80-'a')*ones) ^ (lower + (0x80-'z'-1)*ones)
		digit := (low7 + (0x80-'0')*ones) ^ (low7 + (0x80-'9'-1)*ones)
		// Bit 7 of a difference: the bytes are equal.
		lowLine := high - (low7 ^ '_'*ones)
		middle := (high - (low7 ^ ':'*ones)) | (high - (low7 ^ '.'*ones)) | (high - (low7 ^ '\''*ones))
		letters |= signs(letter&^x&high) << (8 * i)
		others |= signs((digit|lowLine|x)&high) << (8 * i)
		middles |= signs(middle&^x&high) << (8 * i)
	}
	return letters, others, middles
}

// signs gathers the high bits of bytes whose other bits are 0.
func signs(x uint64) uint64 { return x * 0x02040810204081 >> 56 }
