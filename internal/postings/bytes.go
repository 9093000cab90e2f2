package postings

// Whole returns a codec.ListCodec's encoding of all DocIDs, followed by other bytes; not ok if
// the list is encoded in blocks.
func (l *List) Whole() (list []byte, ok bool) { return l.payload, l.lists != nil }

// BlockBytes returns the encoded block i, in [0, NumBlocks), followed by later ones. The list
// must be encoded in blocks.
func (l *List) BlockBytes(i int) ([]byte, error) { return l.blockBytes(i) }

// Raw returns the encoded list, from its DocIDs or first block on, and its directory, for other
// processors. They must not be changed.
func (l *List) Raw() (payload []byte, directory []BlockEntry) { return l.payload, l.directory() }
