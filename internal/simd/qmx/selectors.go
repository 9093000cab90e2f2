package qmx

// Len is the number of values of a full block.
const Len = 128

// Selector is a way to fill words: Count values of Bits bits take Words words of 128 bits.
// Value j lies in lane j%4, at bit j/4*Bits. A lane is 32 bits of each word, the first word
// lowest.
type Selector struct {
	Bits, Count, Words uint8
}

// Selectors are by number.
var Selectors = [...]Selector{
	{0, 8, 0},
	{1, 128, 1},
	{2, 64, 1},
	{3, 40, 1},
	{4, 32, 1},
	{5, 24, 1},
	{6, 20, 1},
	{7, 36, 2},
	{8, 16, 1},
	{9, 28, 2},
	{10, 12, 1},
	{12, 20, 2},
	{16, 8, 1},
	{21, 12, 2},
	{32, 4, 1},
}

const (
	// WordSize is in bytes.
	WordSize = 16
	// MaxRun is the most times that one selector byte applies.
	MaxRun = 16
	// MaxTailBits is the greatest tail: a full word is not a tail.
	MaxTailBits = 8*WordSize - 1
)

// SelectorByte applies a selector run times, 1 to MaxRun.
func SelectorByte(selector, run int) byte { return byte(selector<<4 | (run - 1)) }

// ParseSelector is the inverse of SelectorByte; the selector can be out of range.
func ParseSelector(b byte) (selector, run int) { return int(b >> 4), int(b&15) + 1 }
