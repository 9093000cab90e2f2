package inverter

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/turns"
)

// plainLayout sorts plainTokens by term, and encodes the lists of the title's, the text's and the default field for a
// temporary file.
type plainLayout struct {
	main, title, text plainField

	lists plainLists[uint32]
	wide  plainLists[uint64]
	// By number of a term: the end of its tokens that are sorted, and how many are of titles.
	ends, titles []uint32
	gate         *turns.Gate // searches go first
	// Memory for a list's postings and gaps, in the default field, the title and the text.
	docs, gaps, titleDocs, titleGaps, textDocs, textGaps []byte
}

// plainField is the output for a field.
type plainField struct {
	lists, positions []byte
	previous         []byte // term
	numTerms         int
}

func (f *plainField) reset() { *f = plainField{lists: f.lists[:0], positions: f.positions[:0]} }

// layOut returns the lists of an inverter's tokens, in l's memory. keys has the terms of the default field in order. If
// numbers of 32 bits do not have room for the tokens, it encodes the lists and returns nil.
func (l *plainLayout) layOut(v *inverter, keys []keyed) *plainLists[uint32] {
	if v.plain.entryBits() <= 32 {
		sortPlain(&l.lists, l, v, keys, 32)
		return &l.lists
	}
	sortPlain(&l.wide, l, v, keys, 64)
	encodePlain(l, &l.wide, v.fields[0].withPositions)
	return nil
}

// sortPlain distributes the tokens of an inverter by their terms, in the order of keys.
func sortPlain[E plainEntry](to *plainLists[E], l *plainLayout, v *inverter, keys []keyed, bits int) {
	p, table := &v.plain, &v.fields[0].table
	l.ends, l.titles = slices.Grow(l.ends[:0], len(keys))[:len(keys)], slices.Grow(l.titles[:0], len(keys))[:len(keys)]
	clear(l.ends)
	clear(l.titles)
	for _, n := range p.numbers {
		l.ends[n]++
	}
	at := uint32(0)
	for _, d := range p.docs {
		for ; at < d.title; at++ {
			l.titles[p.numbers[at]]++
		}
		at = d.text
	}
	to.reset(v, bits)
	sum := uint32(0)
	for i, k := range keys {
		if i%1024 == 0 {
			l.gate.Pass()
		}
		n := l.ends[k.Number]
		l.ends[k.Number] = sum
		if n > 0 {
			to.addTerm(table.term(k.Number), n, l.titles[k.Number])
			sum += n
		}
	}
	to.entries = slices.Grow(to.entries[:0], len(p.numbers))[:len(p.numbers)]
	at = 0
	text := E(1) << to.positionBits
	for doc, d := range p.docs {
		if doc%64 == 0 {
			l.gate.Pass()
		}
		high := E(doc) << (to.positionBits + 1)
		for ; at < d.title; at++ {
			putPlain(to.entries, &l.ends[p.numbers[at]], high|E(p.positions[at]))
		}
		high |= text
		for ; at < d.text; at++ {
			putPlain(to.entries, &l.ends[p.numbers[at]], high|E(p.positions[at]))
		}
	}
}

func putPlain[E plainEntry](entries []E, end *uint32, e E) {
	entries[*end] = e
	*end++
}

// encodePlain encodes lists into the fields of l.
func encodePlain[E plainEntry](l *plainLayout, from *plainLists[E], positions bool) {
	for _, f := range []*plainField{&l.main, &l.title, &l.text} {
		f.reset()
	}
	for i := range from.ends {
		if i%256 == 0 {
			l.gate.Pass()
		}
		entries, term := from.list(i), from.term(i)
		l.grow(len(entries))
		encodeTerm(l, from, entries, term, positions)
	}
}

// field returns the output for a field; nil: it is neither the default one nor one of the others.
func (l *plainLayout) field(title, text, id base.FieldID) *plainField {
	switch id {
	case 0:
		return &l.main
	case title:
		return &l.title
	case text:
		return &l.text
	}
	return nil
}

// grow makes room for the lists of n tokens.
func (l *plainLayout) grow(n int) {
	if n *= maxVarintBytes; len(l.gaps) < n {
		n = max(2*n, 1<<10)
		l.docs, l.titleDocs, l.textDocs = make([]byte, 2*n), make([]byte, 2*n), make([]byte, 2*n)
		l.gaps, l.titleGaps, l.textGaps = make([]byte, n), make([]byte, n), make([]byte, n)
	}
}

// plainList is a list in progress.
type plainList struct {
	docs, gaps       []byte
	numDocs, numGaps int
	docFreq          uint32
	next             uint32 // one past the last document
	last             uint32 // position in the current document
}

func (l *plainList) position(position uint32) {
	l.numGaps = putVarint(l.gaps, l.numGaps, position-l.last)
	l.last = position
}

// end ends a document with freq positions.
func (l *plainList) end(doc, freq uint32) {
	if freq == 0 {
		return
	}
	l.numDocs = putPosting(l.docs, l.numDocs, doc-l.next, freq)
	l.next, l.last = doc+1, 0
	l.docFreq++
}

// encodeTerm encodes and adds the lists of a term.
func encodeTerm[E plainEntry](l *plainLayout, from *plainLists[E], entries []E, term []byte, positions bool) {
	main, title, text := plainList{docs: l.docs, gaps: l.gaps}, plainList{docs: l.titleDocs, gaps: l.titleGaps}, plainList{docs: l.textDocs, gaps: l.textGaps}
	mask := E(1)<<from.positionBits - 1
	for len(entries) > 0 {
		doc := from.doc(entries[0])
		n := uint32(0)
		for int(n) < len(entries) && uint32(entries[n]>>from.positionBits) == doc<<1 {
			title.position(uint32(entries[n] & mask))
			main.position(uint32(entries[n] & mask))
			n++
		}
		all := n
		for int(all) < len(entries) && from.doc(entries[all]) == doc {
			text.position(uint32(entries[all] & mask))
			main.position(uint32(entries[all]&mask) + from.starts[doc] - 1)
			all++
		}
		title.end(doc, n)
		text.end(doc, all-n)
		main.end(doc, all)
		entries = entries[all:]
	}
	l.title.addList(term, &title, positions)
	l.text.addList(term, &text, positions)
	l.main.addList(term, &main, positions)
}

func (f *plainField) addList(term []byte, l *plainList, positions bool) {
	if l.docFreq > 0 {
		f.add(term, l.docFreq, l.docs[:l.numDocs], l.gaps[:l.numGaps], positions)
	}
}

// add appends a list as partial has it.
func (f *plainField) add(term []byte, docFreq uint32, docs, gaps []byte, positions bool) {
	f.lists = append(appendListHeader(f.lists, f.previous, term, docFreq, len(docs)), docs...)
	if positions {
		f.positions = append(appendVarint(f.positions, uint64(len(gaps))), gaps...)
	}
	f.previous = term
	f.numTerms++
}

// putPosting writes a posting at an offset and returns the one after it (finishPosting).
func putPosting(dst []byte, at int, gap, freq uint32) int {
	if freq == 1 {
		return putVarint(dst, at, gap<<1|1)
	}
	return putVarint(dst, putVarint(dst, at, gap<<1), freq)
}

// putVarint writes a number at an offset and returns the one after it.
func putVarint(dst []byte, at int, v uint32) int {
	for v >= 0x80 {
		dst[at] = byte(v) | 0x80
		v >>= 7
		at++
	}
	dst[at] = byte(v)
	return at + 1
}
