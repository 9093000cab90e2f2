package decode

import (
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/codec"
)

// Codec is a codec that the device decodes, with its parameters.
type Codec struct {
	kind      kind
	option    uint32
	extension *Extension // has the kernels; nil: this package
}

// Extension is a codec whose kernels another package has, written against decode.cuh. Its address
// identifies it.
type Extension struct {
	// Name: kernels are named decode_NAME_docids, _gaps and _freqs. A codec may lack some of them.
	Name  string
	Image []byte // for cuda.Device.LoadImage
}

// Codec returns the codec with a value of DecodeParams.option.
func (e *Extension) Codec(option uint32) Codec { return Codec{option: option, extension: e} }

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

// What selects the output of a kernel.
type What uint8

const (
	// DocIDs of the postings.
	DocIDs What = iota
	// Gaps are differences between DocIDs; the first counts from -1.
	Gaps
	// Freqs of the postings.
	Freqs
	numWhat
)

// String returns the suffix of the kernels' names.
func (w What) String() string {
	if w >= numWhat {
		return fmt.Sprintf("What(%d)", uint8(w))
	}
	return [...]string{"docids", "gaps", "freqs"}[w]
}

type family struct {
	name  string // the kernels are named decode_NAME_WHAT
	image string // the stem of the file in directory image
	one   bool   // decode_NAME_WHAT_one exists, for single lists
}

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

// CodecOf returns the device's decoder for a codec, if there is one.
func CodecOf(c codec.Codec) (Codec, bool) {
	switch c := c.(type) {
	case codec.Raw:
		return Codec{kind: kindRaw}, true
	case codec.SIMDBP:
		return Codec{kind: kindSIMDBP}, true
	case codec.EF:
		return Codec{kind: kindEF}, !c.Plain
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

// recDepth returns the depth that codec.PForDeltaRec uses for its parameter.
func recDepth(depth int) uint32 {
	if depth == 0 {
		depth = 1
	}
	return uint32(min(max(depth, 0), 4))
}

// segmentShift returns the log2 of the segment length; length 0 means def.
func segmentShift(length, def int) uint32 {
	if length == 0 {
		length = def
	}
	return uint32(bits.Len(uint(min(max(length, 32), codec.BlockLen) - 1)))
}

// String returns the name in kernel names.
func (c Codec) String() string {
	if c.extension != nil {
		return c.extension.Name
	}
	return families[c.kind].name
}
