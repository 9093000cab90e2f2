package codec

// BlockLen is the number of postings of a full block; a list's last block has 1 to BlockLen.
const BlockLen = 128

// Codec encodes and decodes blocks of postings: increasing DocIDs and their frequencies. It is
// deterministic and safe for concurrent use.
//
// width is a byte that the caller stores with the block and passes back unchanged to the
// decoder. Decoders accept arbitrary bytes: they do not panic or read outside src, and return
// values or an error that wraps ErrCorrupt.
type Codec interface {
	// Name returns the name in the registry and in an index's metadata.
	Name() string

	// AppendDocIDs encodes docIDs: 1 to BlockLen values, strictly increasing, below NoBase.
	// base is the last DocID of the previous block, or NoBase for the first block:
	// docIDs[0]-base-1 DocIDs are skipped before docIDs[0] (uint32 arithmetic).
	AppendDocIDs(dst []byte, base uint32, docIDs []uint32) (out []byte, width uint8)
	// DecodeDocIDs decodes the first n DocIDs of src into dst[:n] and returns the number of
	// bytes read. They are strictly increasing, above base and below NoBase. dst[n:] is
	// undefined after the call.
	DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (size int, err error)

	// AppendFreqs encodes 1 to BlockLen frequencies, each at least 1.
	AppendFreqs(dst []byte, freqs []uint32) (out []byte, width uint8)
	// DecodeFreqs decodes the first n frequencies of src into dst[:n].
	DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error
	// FreqAt decodes frequency i of the n at the start of src, and no more than necessary.
	FreqAt(src []byte, i, n int, width uint8) (uint32, error)
}

// NoBase is the base of a list's first block: DocID 0 minus one, modulo 2^32. It is never a
// DocID.
const NoBase = ^uint32(0)
