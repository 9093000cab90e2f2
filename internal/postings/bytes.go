package postings

// Whole returns a codec.ListCodec's encoding of all DocIDs, followed by other bytes; not ok for
// blocks.
func (l *List) Whole() (list []byte, ok bool) { return l.payload, l.lists != nil }

// BlockBytes returns block i, in [0, NumBlocks), of a list in blocks, followed by later ones.
func (l *List) BlockBytes(i int) ([]byte, error) { return l.blockBytes(i) }

// Raw returns the encoded list and its directory, for other processors, not to be changed.
func (l *List) Raw() (payload []byte, directory []BlockEntry) { return l.payload, l.directory() }
