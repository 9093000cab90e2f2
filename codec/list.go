package codec

// ListCodec is a Codec that encodes the DocIDs of a whole list at once. It either uses the
// same parameters for the whole list or stores exceptions in one place. Any block and any
// single DocID can still be decoded without the blocks before it.
//
// The methods of Codec encode DocID lists of up to BlockLen postings, and the frequencies
// of all lists.
//
// The encoding of a list is self-contained except for the number of its DocIDs, called n
// below; the codec's parameters do not affect decoding. Decoders accept arbitrary bytes, n
// and i. They return values that satisfy the contract, or an error that wraps ErrCorrupt.
// Their allocations are at most proportional to len(list).
type ListCodec interface {
	Codec

	// AppendList appends the encoding of docIDs: at least one value, strictly increasing,
	// below NoBase. The encoding does not depend on the contents of dst.
	AppendList(dst []byte, docIDs []uint32) []byte
	// ListSize returns the size in bytes of the encoding of n DocIDs at the start of list.
	// Its cost does not depend on n.
	ListSize(list []byte, n int) (int, error)
	// DecodeBlock decodes DocIDs i*BlockLen to min((i+1)*BlockLen, n)-1 of the list into
	// dst and returns their number. They are strictly increasing and below NoBase; their
	// order relative to the previous block is not checked. The rest of dst is undefined
	// after the call. It does not allocate.
	DecodeBlock(dst *[BlockLen]uint32, list []byte, n, i int) (int, error)
	// DecodeList decodes the whole list into dst, whose length is n. The values are
	// strictly increasing and below NoBase.
	DecodeList(dst []uint32, list []byte) error
	// DocIDAt returns DocID i of the list, in [0, n). It decodes no more than necessary and
	// does not allocate.
	DocIDAt(list []byte, n, i int) (uint32, error)
}
