package codec

// BlockLen is the number of postings of a full block. The last block of a
// list holds the 1 to BlockLen postings that are left.
const BlockLen = 128

// Codec encodes and decodes blocks of postings: rising DocIDs and their
// frequencies. A Codec has no state: it is safe for concurrent use, and the
// same input gives the same bytes.
//
// width is one byte that the block's directory entry keeps for the codec (a
// bit width, a parameter b, or 0): decoding gets it back as it was returned.
//
// Decoders trust nothing: on any bytes they return, without panic and without
// reading outside src, either values or an error that wraps ErrCorrupt.
type Codec interface {
	// Name is the codec's name in the registry and in an index's metadata.
	Name() string

	// AppendDocIDs appends the encoding of docIDs: 1 to BlockLen values, strictly
	// rising, below NoBase. base is the last DocID of the block before; for the first block it
	// is NoBase, so that docIDs[0]-base-1 is the number of DocIDs left out before
	// docIDs[0] in either case (uint32 arithmetic).
	AppendDocIDs(dst []byte, base uint32, docIDs []uint32) (out []byte, width uint8)
	// DecodeDocIDs decodes the first n DocIDs of src into dst[:n] and returns
	// how many bytes of src they took. They are strictly rising, above base (at or
	// above 0 if that is NoBase) and below NoBase. dst[n:] is undefined after the
	// call.
	DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (size int, err error)

	// AppendFreqs appends the encoding of 1 to BlockLen frequencies, each at least 1.
	AppendFreqs(dst []byte, freqs []uint32) (out []byte, width uint8)
	// DecodeFreqs decodes n frequencies from the start of src into dst[:n].
	DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error
	// FreqAt returns frequency i of the n at the start of src, and decodes no
	// more than it must to do so.
	FreqAt(src []byte, i, n int, width uint8) (uint32, error)
}

// NoBase is the base of a list's first block: one before DocID 0, modulo 2^32.
// It is never a DocID itself.
const NoBase = ^uint32(0)
