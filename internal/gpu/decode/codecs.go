package decode

import (
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/codec"
)

// Codec is a codec that the device decodes, with the parameters that it must know.
type Codec struct {
	kind   kind
	option uint32
}

// kind numbers the codecs with kernels.
type kind uint8

const (
	kindRaw kind = iota
	kindSIMDBP
	kindEF
	kindParaPFor
	kindPForDelta
	kindPForDeltaRec
	kindRice
	kindLRC
	kindLRCSeg
	kindSegLRC
	kindHSLRC
	numKinds
)

// What is what a kernel writes.
type What uint8

const (
	// DocIDs are those of the postings.
	DocIDs What = iota
	// Gaps are the differences between DocIDs; before the first of a list is -1.
	Gaps
	// Freqs are the frequencies of the postings.
	Freqs
	numWhat
)

// String returns the end of the name of the kernels that write w.
func (w What) String() string {
	if w >= numWhat {
		return fmt.Sprintf("What(%d)", uint8(w))
	}
	return [...]string{"docids", "gaps", "freqs"}[w]
}

// family is where the kernels of a codec are.
type family struct {
	name  string // the kernels are decode_NAME_WHAT
	image string // the stem of the file in image
	one   bool   // there is a kernel for single lists, decode_NAME_WHAT_one
}

// families has what is known of each kind.
var families = [numKinds]family{
	kindRaw:          {"raw", "decode", false},
	kindSIMDBP:       {"simdbp", "decode", true},
	kindEF:           {"ef", "decode_ef", true},
	kindParaPFor:     {"parapfor", "decode_pfor", false},
	kindPForDelta:    {"pfordelta", "decode_pfor", false},
	kindPForDeltaRec: {"rec", "decode_rec", false},
	kindRice:         {"rice", "decode_rice", false},
	kindLRC:          {"lrc", "decode_lrc", false},
	kindLRCSeg:       {"lrcseg", "decode_lrc", false},
	kindSegLRC:       {"seglrc", "decode_lrc", false},
	kindHSLRC:        {"hslrc", "decode_lrc", false},
}

// CodecOf returns how the device decodes a codec, and whether it does.
func CodecOf(c codec.Codec) (Codec, bool) {
	switch c := c.(type) {
	case codec.Raw:
		return Codec{kind: kindRaw}, true
	case codec.SIMDBP:
		return Codec{kind: kindSIMDBP}, true
	case codec.EF:
		return Codec{kind: kindEF}, true
	case codec.ParaPFor:
		return Codec{kind: kindParaPFor, option: segmentShift(c.Segment, 64)}, true
	case codec.PForDelta:
		return Codec{kind: kindPForDelta, option: segmentShift(c.Segment, codec.BlockLen)}, true
	case codec.Rice:
		return Codec{kind: kindRice}, true
	case codec.Regression:
		return Codec{kind: kindLRC + kind(c.Scheme)}, true
	case codec.PForDeltaRec:
		return Codec{kind: kindPForDeltaRec, option: recDepth(c.Depth)}, true
	}
	return Codec{}, false
}

// recDepth returns the depth that codec.PForDeltaRec uses for one that it was given.
func recDepth(depth int) uint32 {
	if depth == 0 {
		depth = 1
	}
	return uint32(min(max(depth, 0), 4))
}

// segmentShift returns the logarithm of the segment length that a codec uses for one
// that it was given, of which 0 stands for def.
func segmentShift(length, def int) uint32 {
	if length == 0 {
		length = def
	}
	return uint32(bits.Len(uint(min(max(length, 32), codec.BlockLen) - 1)))
}

// String returns the codec's name in the names of kernels.
func (c Codec) String() string { return families[c.kind].name }
