package codec

// BlockLen is the number of postings of a full block. The last block of a list has 1 to
// BlockLen postings.
const BlockLen = 128

// Codec encodes and decodes blocks of postings: increasing DocIDs and their frequencies. A
// Codec has no state and is safe for concurrent use. The same input gives the same bytes.
//
// width is one byte (a bit width, a parameter b, or 0) that the caller stores with the
// block and passes back unchanged to the decoder.
//
// Decoders accept arbitrary bytes. They do not panic and do not read outside src; they
// return either values or an error that wraps ErrCorrupt.
type Codec interface {
	// Name returns the codec's name in the registry and in an index's metadata.
	Name() string

	// AppendDocIDs appends the encoding of docIDs: 1 to BlockLen values, strictly
	// increasing, below NoBase. base is the last DocID of the previous block, or NoBase for
	// the first block. In both cases docIDs[0]-base-1 is the number of DocIDs skipped
	// before docIDs[0] (uint32 arithmetic).
	AppendDocIDs(dst []byte, base uint32, docIDs []uint32) (out []byte, width uint8)
	// DecodeDocIDs decodes the first n DocIDs of src into dst[:n] and returns the number of
	// bytes read. The DocIDs are strictly increasing, above base (or from 0 if base is
	// NoBase) and below NoBase. dst[n:] is undefined after the call.
	DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (size int, err error)

	// AppendFreqs appends the encoding of 1 to BlockLen frequencies, each at least 1.
	AppendFreqs(dst []byte, freqs []uint32) (out []byte, width uint8)
	// DecodeFreqs decodes n frequencies from the start of src into dst[:n].
	DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error
	// FreqAt returns frequency i of the n at the start of src. It decodes no more than
	// necessary.
	FreqAt(src []byte, i, n int, width uint8) (uint32, error)
}

// NoBase is the base of a list's first block: DocID 0 minus one, modulo 2^32. It is never a
// DocID.
const NoBase = ^uint32(0)
