package postings

// Whole returns the bytes that hold all DocIDs of the list, encoded by Codec as
// one (codec.ListCodec) with other bytes behind them, and true; or false if the
// list is in blocks. For algorithms that search the encoding itself.
func (l *List) Whole() (list []byte, ok bool) { return l.payload, l.lists != nil }

// BlockBytes returns the bytes that Codec made of block i, in [0, NumBlocks), of a
// list in blocks: DocIDs, frequencies, and the bytes of later blocks.
func (l *List) BlockBytes(i int) ([]byte, error) { return l.blockBytes(i) }

// Raw returns the bytes of the list's blocks, or, if its DocIDs are encoded as a
// whole, of those and the frequencies' blocks, and the directory: what another
// processor needs to decode the list. Neither may be changed.
func (l *List) Raw() (payload []byte, directory []BlockEntry) { return l.payload, l.directory() }
