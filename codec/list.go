package codec

// ListCodec encodes the DocIDs of a whole list at once, with shared parameters or exceptions;
// any block and any DocID can still be decoded alone. Codec's methods are for DocID lists of up
// to BlockLen postings, and all frequencies.
//
// The encoding is self-contained except for the number n of DocIDs; parameters do not affect
// decoding. Decoders accept arbitrary bytes, n and i. They return values that satisfy the
// contract, or an error that wraps ErrCorrupt, and allocate at most in proportion to len(list).
type ListCodec interface {
	Codec

	// AppendList encodes docIDs: at least one value, strictly increasing, below NoBase. The
	// encoding does not depend on dst's contents.
	AppendList(dst []byte, docIDs []uint32) []byte
	// ListSize returns the bytes of the n DocIDs at the start of list, in constant time.
	ListSize(list []byte, n int) (int, error)
	// DecodeBlock decodes DocIDs i*BlockLen to min((i+1)*BlockLen, n)-1 into dst and returns
	// their number. They are strictly increasing and below NoBase; their order relative to the
	// previous block is not checked. The rest of dst is undefined. It does not allocate.
	DecodeBlock(dst *[BlockLen]uint32, list []byte, n, i int) (int, error)
	// DecodeList decodes the whole list into dst, of length n: strictly increasing values below
	// NoBase.
	DecodeList(dst []uint32, list []byte) error
	// DocIDAt decodes DocID i of the list, in [0, n), and no more than necessary. It does not
	// allocate.
	DocIDAt(list []byte, n, i int) (uint32, error)
}
