package codec

// ListCodec is a Codec that encodes the DocIDs of a whole list at once: it finds
// parameters that serve all of the list, or stores what lies outside of them in
// one place. Any block of the list, and any one DocID, can still be decoded
// without those before it.
//
// The methods of Codec then serve what is not a list of several blocks: the
// DocIDs of lists of up to BlockLen postings, and the frequencies of all lists.
//
// The encoding of a list says all that is needed to decode it but the number of
// its DocIDs, which is called n below: the codec's parameters play no part.
// Decoders trust nothing, as those of Codec: on any bytes, with any n and i, they
// return values that keep the contract or an error that wraps ErrCorrupt, and
// allocate nothing that is not in proportion to len(list).
type ListCodec interface {
	Codec

	// AppendList appends the encoding of docIDs: at least one, strictly rising,
	// below NoBase. The encoding is the same whatever dst holds.
	AppendList(dst []byte, docIDs []uint32) []byte
	// ListSize returns the number of bytes that the encoding of n DocIDs at the
	// start of list takes. Its cost does not depend on n.
	ListSize(list []byte, n int) (int, error)
	// DecodeBlock decodes DocIDs i*BlockLen to min((i+1)*BlockLen, n)-1 of the list
	// into dst, and returns their number. They are strictly rising and below
	// NoBase; that they lie above those of the block before is not checked. The
	// rest of dst is undefined after the call. It does not allocate.
	DecodeBlock(dst *[BlockLen]uint32, list []byte, n, i int) (int, error)
	// DecodeList decodes the whole list into dst, which has n values. They are
	// strictly rising and below NoBase.
	DecodeList(dst []uint32, list []byte) error
	// DocIDAt returns DocID i of the list, in [0, n), and decodes no more than it
	// must to do so. It does not allocate.
	DocIDAt(list []byte, n, i int) (uint32, error)
}
