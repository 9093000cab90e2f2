package postings

// Whole returns the encoding of all DocIDs by a codec.ListCodec, followed by
// other bytes. ok is false if the list is encoded in blocks.
func (l *List) Whole() (list []byte, ok bool) { return l.payload, l.lists != nil }

// BlockBytes returns the encoded DocIDs and frequencies of block i, in [0,
// NumBlocks), followed by later blocks. The list must be encoded in blocks.
func (l *List) BlockBytes(i int) ([]byte, error) { return l.blockBytes(i) }

// Raw returns the encoded list, from its DocIDs or first block on, and its
// directory, for decoders on other processors. The caller must not change them.
func (l *List) Raw() (payload []byte, directory []BlockEntry) { return l.payload, l.directory() }
