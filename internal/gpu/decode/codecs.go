package decode

import (
	"fmt"

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
}

// families has what is known of each kind.
var families = [numKinds]family{
	kindRaw:    {"raw", "decode"},
	kindSIMDBP: {"simdbp", "decode"},
}

// CodecOf returns how the device decodes a codec, and whether it does.
func CodecOf(c codec.Codec) (Codec, bool) {
	switch c.(type) {
	case codec.Raw:
		return Codec{kind: kindRaw}, true
	case codec.SIMDBP:
		return Codec{kind: kindSIMDBP}, true
	}
	return Codec{}, false
}

// String returns the codec's name in the names of kernels.
func (c Codec) String() string { return families[c.kind].name }
