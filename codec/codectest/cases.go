package codectest

// Block is a block of postings that Run encodes.
type Block struct {
	Name          string
	Base          uint32 // DocID before it, or codec.NoBase
	DocIDs, Freqs []uint32
}

// Blocks returns the blocks that Run encodes.
func Blocks() []Block {
	var out []Block
	for _, b := range blocks() {
		out = append(out, Block{Name: b.name, Base: b.base, DocIDs: b.docIDs, Freqs: b.freq})
	}
	return out
}

// List is a list of DocIDs that RunList encodes.
type List struct {
	Name   string
	DocIDs []uint32
}

// Lists returns the lists that RunList encodes.
func Lists() []List {
	var out []List
	for _, l := range lists() {
		out = append(out, List{Name: l.name, DocIDs: l.docIDs})
	}
	return out
}
