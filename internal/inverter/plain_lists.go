package inverter

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
)

// plainLists are the lists of the title's, the text's and the default field of a partial index in memory: the tokens of
// its documents in the order of their terms. A segment reads the lists of a field from them (plainCursor).
type plainLists[E plainEntry] struct {
	title, text base.FieldID // 0: none
	terms       []byte       // one after another
	ends        []plainEnd   // by term
	// entries are tokens, by term, then by document:
	//
	//	| document | 1: of the text, 1 bit | position, positionBits |
	entries      []E
	positionBits int
	starts       []uint32 // as mirror.starts
	kinds        []uint8  // by term: the fields that have it
	numTerms     [2]int   // of the title's and the text's field
}

// plainEntry is a token.
type plainEntry interface{ uint32 | uint64 }

// plainEnd is where a term ends in terms, and its tokens in entries.
type plainEnd struct{ term, entries uint32 }

// Bits of plainLists.kinds.
const (
	inTitle = 1 << iota
	inText
)

// reset empties l, for the documents of v and entries of some bits.
func (l *plainLists[E]) reset(v *inverter, entryBits int) {
	l.title, l.text = v.mirror.title, v.mirror.text
	l.terms, l.ends, l.kinds, l.numTerms = l.terms[:0], l.ends[:0], l.kinds[:0], [2]int{}
	l.starts = v.mirror.starts
	l.positionBits = entryBits - 1 - bits.Len32(uint32(len(v.plain.docs)-1))
}

// addTerm adds a term with a number of tokens, some of them of the title.
func (l *plainLists[E]) addTerm(term []byte, tokens, ofTitle uint32) {
	end := plainEnd{uint32(len(l.terms) + len(term)), tokens}
	if n := len(l.ends); n > 0 {
		end.entries += l.ends[n-1].entries
	}
	kind := uint8(0)
	if ofTitle > 0 {
		kind |= inTitle
		l.numTerms[0]++
	}
	if ofTitle < tokens {
		kind |= inText
		l.numTerms[1]++
	}
	l.terms, l.ends, l.kinds = append(l.terms, term...), append(l.ends, end), append(l.kinds, kind)
}

func (l *plainLists[E]) doc(e E) uint32 { return uint32(e >> (l.positionBits + 1)) }

func (l *plainLists[E]) term(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = l.ends[i-1].term
	}
	return l.terms[start:l.ends[i].term]
}

// list returns the tokens of a term.
func (l *plainLists[E]) list(i int) []E {
	start := uint32(0)
	if i > 0 {
		start = l.ends[i-1].entries
	}
	return l.entries[start:l.ends[i].entries]
}

// numTermsOf returns the number of a field's terms; false if it has other lists.
func (l *plainLists[E]) numTermsOf(field base.FieldID) (n int, ok bool) {
	switch {
	case l == nil:
		return 0, false
	case field == 0:
		return len(l.ends), true
	case field == l.title:
		return l.numTerms[0], true
	case field == l.text:
		return l.numTerms[1], true
	}
	return 0, false
}

func (l *plainLists[E]) sizeBytes() int64 {
	if l == nil {
		return 0
	}
	const endBytes, kindBytes, startBytes = 8, 1, 4
	return int64(len(l.terms) + int(unsafe.Sizeof(E(0)))*len(l.entries) + (endBytes+kindBytes)*len(l.ends) + startBytes*len(l.starts))
}

// clone returns a copy with memory of its own.
func (l *plainLists[E]) clone() *plainLists[E] {
	if l == nil {
		return nil
	}
	c := *l
	c.terms, c.ends, c.entries = slices.Clone(l.terms), slices.Clone(l.ends), slices.Clone(l.entries)
	c.starts, c.kinds = slices.Clone(l.starts), slices.Clone(l.kinds)
	return &c
}

// plainCursor reads the lists of a field of plainLists.
type plainCursor struct {
	lists     *plainLists[uint32]
	kind      uint8  // of the field; 0: the default one
	ofText    uint32 // 1: kind is inText
	positions bool
	at        int      // current term; -1 before the first next
	entries   []uint32 // not read yet
	buf       []byte   // positions of a block
}

// open begins with a field of lists.
func (c *plainCursor) open(lists *plainLists[uint32], field base.FieldID, positions bool) {
	*c = plainCursor{lists: lists, positions: positions, at: -1, buf: c.buf}
	switch field {
	case 0:
	case lists.title:
		c.kind = inTitle
	case lists.text:
		c.kind, c.ofText = inText, 1
	}
}

// next moves to the field's next term, which must exist.
func (c *plainCursor) next() {
	c.at++
	for c.kind != 0 && c.lists.kinds[c.at]&c.kind == 0 {
		c.at++
	}
	c.entries = c.lists.list(c.at)
	if n := maxVarintBytes * len(c.entries); c.positions && len(c.buf) < n {
		c.buf = make([]byte, max(2*n, 1<<10))
	}
}

func (c *plainCursor) term() []byte { return c.lists.term(c.at) }

func (c *plainCursor) docFreq() (n int) {
	last := ^uint32(0)
	for _, e := range c.lists.list(c.at) {
		if key := c.key(e); c.has(key) && key != last {
			last = key
			n++
		}
	}
	return n
}

// key is the document of a token, and in fields but the default one the field of the token.
func (c *plainCursor) key(e uint32) uint32 {
	if c.kind == 0 {
		return c.lists.doc(e)
	}
	return e >> c.lists.positionBits
}

// has returns whether the field has the tokens with a key.
func (c *plainCursor) has(key uint32) bool {
	return c.kind == 0 || key&1 == c.ofText
}

// readBlock reads up to a block of postings.
func (c *plainCursor) readBlock(b *segment.PostingBlock) {
	size := 0
	if c.kind == 0 {
		size = c.readMain(b)
	} else {
		size = c.readField(b)
	}
	if c.positions {
		b.Positions = c.buf[:size]
	}
}

// readMain reads postings of the default field, and returns the size of their positions.
func (c *plainCursor) readMain(b *segment.PostingBlock) (size int) {
	l, entries, n := c.lists, c.entries, 0
	shift := uint(l.positionBits) & 31
	mask := uint32(1)<<shift - 1
	for ; n < len(b.DocIDs) && len(entries) > 0; n++ {
		doc, freq := entries[0]>>shift>>1, 0
		start, last := l.starts[doc]-1, uint32(0)
		for freq < len(entries) && entries[freq]>>shift>>1 == doc {
			if e := entries[freq]; c.positions {
				position := e&mask + start&-(e>>shift&1) // start is of the text
				size = putVarint(c.buf, size, position-last)
				last = position
			}
			freq++
		}
		b.DocIDs[n], b.Freqs[n] = doc, uint32(freq)
		entries = entries[freq:]
	}
	b.N, c.entries = n, entries
	return size
}

// readField is readMain for another field.
func (c *plainCursor) readField(b *segment.PostingBlock) (size int) {
	l, entries, n := c.lists, c.entries, 0
	shift := uint(l.positionBits) & 31
	mask := uint32(1)<<shift - 1
	for n < len(b.DocIDs) && len(entries) > 0 {
		key, freq, last := entries[0]>>shift, 0, uint32(0)
		if key&1 != c.ofText {
			entries = entries[1:]
			continue
		}
		for freq < len(entries) && entries[freq]>>shift == key {
			if c.positions {
				position := entries[freq] & mask
				size = putVarint(c.buf, size, position-last)
				last = position
			}
			freq++
		}
		b.DocIDs[n], b.Freqs[n] = key>>1, uint32(freq)
		n++
		entries = entries[freq:]
	}
	b.N, c.entries = n, entries
	return size
}
