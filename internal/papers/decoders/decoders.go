package decoders

import (
	_ "embed" // the images
	"math/bits"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/decode"
)

//go:embed image/newpfd.ptx.zst
var newpfdImage []byte

//go:embed image/patched_lrc.ptx.zst
var patchedImage []byte

var newpfd = &decode.Extension{Name: "newpfd", Image: newpfdImage}

// By codec.Scheme.
var patched = [...]*decode.Extension{
	codec.LRC:    {Name: "patched_lrc", Image: patchedImage},
	codec.LRCSeg: {Name: "patched_lrcseg", Image: patchedImage},
	codec.SegLRC: {Name: "patched_seglrc", Image: patchedImage},
	codec.HSLRC:  {Name: "patched_hslrc", Image: patchedImage},
}

// CodecOf is decode.CodecOf, and also has the codecs of this package, which decode DocIDs only.
func CodecOf(c codec.Codec) (decode.Codec, bool) {
	if n, ok := c.(codec.NewPFD); ok {
		return NewPFD(n), true
	}
	return decode.CodecOf(c)
}

// NewPFD returns the decoder of a NewPFD codec.
func NewPFD(c codec.NewPFD) decode.Codec {
	length := c.Segment
	if length == 0 {
		length = codec.BlockLen
	}
	return newpfd.Codec(uint32(bits.Len(uint(min(max(length, 32), codec.BlockLen) - 1))))
}

// Patched returns the decoder of a Regression codec that recovers exceptions concurrently.
func Patched(c codec.Regression) decode.Codec { return patched[c.Scheme].Codec(0) }
