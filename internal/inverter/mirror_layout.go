package inverter

import "encoding/binary"

// encodedList is a list as partial has it, without its header; empty: none.
type encodedList struct {
	docs, positions []byte
	docFreq         uint32
}

// listRef is a list in partialWriter.buf.
type listRef struct {
	docs, positions       int // offsets
	docBytes, positionLen uint32
	docFreq               uint32
}

// mirrorLayout encodes the lists of the default field.
type mirrorLayout struct {
	mirror        *mirror
	all           bool // mirror has all documents
	withPositions bool

	// The output.
	lists, positions []byte
	numTerms         int

	// The current list.
	docs, gaps []byte
	docFreq    uint32
	next       uint32 // one past the last document
	own        encodedList
	cursors    [2]mirrorCursor // of the own postings, and of the title
	text       mirrorCursor
}

func (l *mirrorLayout) reset(v *inverter) {
	l.mirror, l.all, l.withPositions = &v.mirror, v.mirror.numDocs == v.numDocs(), v.fields[0].withPositions
	l.lists, l.positions, l.numTerms = l.lists[:0], l.positions[:0], 0
}

// join sets the current list to the postings of three.
func (l *mirrorLayout) join(own, title, text encodedList) {
	l.docs, l.gaps, l.docFreq, l.next = l.docs[:0], l.gaps[:0], 0, 0
	if l.all && len(own.docs) == 0 && len(title.docs) == 0 {
		l.docs, l.docFreq = append(l.docs, text.docs...), text.docFreq
		if l.withPositions {
			l.shift(text)
		}
		return
	}
	l.cursors[0].open(own, nil)
	l.cursors[1].open(title, l.mirror)
	l.text.open(text, l.mirror)
	for {
		other := &l.cursors[0]
		if l.cursors[1].doc < other.doc {
			other = &l.cursors[1]
		}
		for l.text.doc < other.doc {
			l.add(l.text.doc, l.text.freq)
			l.addText(0)
		}
		if other.doc == endOfList {
			return
		}
		doc, freq := other.doc, other.freq
		last := uint32(0)
		if l.withPositions {
			l.gaps, last = other.appendPositions(l.gaps)
		}
		other.advance()
		if l.text.doc != doc {
			l.add(doc, freq)
			continue
		}
		l.add(doc, freq+l.text.freq)
		l.addText(last)
	}
}

// add appends a posting without its positions.
func (l *mirrorLayout) add(doc, freq uint32) {
	head := uint64(doc-l.next) << 1
	if freq == 1 {
		l.docs = appendVarint(l.docs, head|1)
	} else {
		l.docs = appendVarint(l.docs, head)
		l.docs = appendVarint(l.docs, uint64(freq))
	}
	l.next = doc + 1
	l.docFreq++
}

// addText appends the positions of the text's posting, after a position of its title (0: none), and moves to the next.
func (l *mirrorLayout) addText(last uint32) {
	c := &l.text
	if l.withPositions {
		first, n := uvarint32(c.positions)
		l.gaps = appendVarint(l.gaps, uint64(first+l.mirror.starts[c.doc]-1-last))
		size := n + vbytes(c.positions[n:], c.freq-1)
		l.gaps = append(l.gaps, c.positions[n:size]...)
		c.positions = c.positions[size:]
		c.read = true
	}
	c.advance()
}

// shift appends the positions of the text of all documents of a list.
func (l *mirrorLayout) shift(text encodedList) {
	docs, src, dst, starts := text.docs, text.positions, l.gaps, l.mirror.starts
	next := uint32(0)
	for len(docs) > 0 {
		head, n := uvarint32(docs)
		docs = docs[n:]
		doc, freq := next+head>>1, uint32(1)
		next = doc + 1
		if head&1 == 0 {
			freq, n = uvarint32(docs)
			docs = docs[n:]
		}
		first, n := uvarint32(src)
		dst = appendVarint(dst, uint64(first+starts[doc]-1))
		end := n
		if freq > 1 {
			end += vbytes(src[n:], freq-1)
			dst = append(dst, src[n:end]...)
		}
		src = src[end:]
	}
	l.gaps = dst
}

// appendVarint is binary.AppendUvarint, fast for one byte.
func appendVarint(dst []byte, v uint64) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	return binary.AppendUvarint(dst, v)
}

// endOfList is above any document.
const endOfList = ^uint32(0)

// A mirrorCursor reads a list of the default field or of a field that it mirrors.
type mirrorCursor struct {
	encodedList
	mirror *mirror // skips the documents that it does not have; nil: none
	doc    uint32  // the current document; endOfList: none
	freq   uint32
	next   uint32 // one past doc
	read   bool   // the positions of doc were read, or there are none
}

func (c *mirrorCursor) open(l encodedList, m *mirror) {
	*c = mirrorCursor{encodedList: l, mirror: m, read: true}
	c.advance()
}

// advance moves to the next document.
func (c *mirrorCursor) advance() {
	for {
		if !c.read {
			c.positions = c.positions[vbytes(c.positions, c.freq):]
		}
		if len(c.docs) == 0 {
			c.doc = endOfList
			return
		}
		head, n := uvarint32(c.docs)
		c.docs = c.docs[n:]
		c.doc, c.freq = c.next+head>>1, 1
		c.next = c.doc + 1
		if head&1 == 0 {
			c.freq, n = uvarint32(c.docs)
			c.docs = c.docs[n:]
		}
		c.read = len(c.positions) == 0
		if c.mirror == nil || c.mirror.has(c.doc) {
			return
		}
	}
}

// appendPositions appends the positions of the current document and returns the last one.
func (c *mirrorCursor) appendPositions(dst []byte) (_ []byte, last uint32) {
	size := vbytes(c.positions, c.freq)
	dst = append(dst, c.positions[:size]...)
	for gaps := c.positions[:size]; len(gaps) > 0; {
		gap, n := uvarint32(gaps)
		last += gap
		gaps = gaps[n:]
	}
	c.positions, c.read = c.positions[size:], true
	return dst, last
}

// vbytes returns the length of n numbers.
func vbytes(src []byte, n uint32) int {
	at := 0
	for ; n > 0; at++ {
		n -= uint32(^src[at] >> 7)
	}
	return at
}
