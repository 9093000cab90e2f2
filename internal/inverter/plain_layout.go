package inverter

import (
	"slices"

	"github.com/griffin-search/griffin/internal/turns"
)

// plainLayout encodes plainTokens: the lists of the title's, the text's and the default field.
type plainLayout struct {
	main, title, text plainField

	// entries are tokens in the order of terms:
	//
	//	| document, 31 bits | 1: of the text, 1 bit | position, 32 bits |
	entries []uint64
	ends    []uint32    // by term, of its entries that are written
	gate    *turns.Gate // searches go first
	// Memory for a list's postings and gaps, in the default field, the title and the text.
	docs, gaps, titleDocs, titleGaps, textDocs, textGaps []byte
}

// plainField is the output for a field.
type plainField struct {
	lists, positions []byte
	previous         []byte // term
	numTerms         int
	numPostings      uint64
}

func (f *plainField) reset() { *f = plainField{lists: f.lists[:0], positions: f.positions[:0]} }

const textEntry = 1 << 32

func entryDoc(e uint64) uint32 { return uint32(e >> 33) }

// encode lays out the tokens of an inverter, whose terms in the default field keys has in order.
func (l *plainLayout) encode(v *inverter, keys []keyed) {
	for _, f := range []*plainField{&l.main, &l.title, &l.text} {
		f.reset()
	}
	l.sort(&v.plain, keys)
	positions, start := v.fields[0].withPositions, uint32(0)
	for i, k := range keys {
		if i%256 == 0 {
			l.gate.Pass()
		}
		end := l.ends[k.Number]
		if end == start {
			continue
		}
		entries, term := l.entries[start:end], v.fields[0].table.term(k.Number)
		start = end
		l.grow(len(entries))
		titled := false
		for _, e := range entries {
			if e&textEntry == 0 {
				titled = true
				break
			}
		}
		if titled {
			l.encodeBoth(entries, term, v.mirror.starts, positions)
			continue
		}
		docFreq, numDocs, numGaps, numTextGaps := l.encodeText(entries, v.mirror.starts)
		l.text.add(term, docFreq, l.docs[:numDocs], l.textGaps[:numTextGaps], positions)
		l.main.add(term, docFreq, l.docs[:numDocs], l.gaps[:numGaps], positions)
	}
}

// sort distributes the tokens by their terms, in the order of keys.
func (l *plainLayout) sort(p *plainTokens, keys []keyed) {
	l.ends = slices.Grow(l.ends[:0], len(keys))[:len(keys)]
	clear(l.ends)
	for _, n := range p.numbers {
		l.ends[n]++
	}
	sum := uint32(0)
	for _, k := range keys {
		n := l.ends[k.Number]
		l.ends[k.Number] = sum
		sum += n
	}
	l.entries = slices.Grow(l.entries[:0], len(p.numbers))[:len(p.numbers)]
	at := uint32(0)
	for doc, d := range p.docs {
		if doc%64 == 0 {
			l.gate.Pass()
		}
		high := uint64(doc) << 33
		for ; at < d.title; at++ {
			l.put(p.numbers[at], high|uint64(p.positions[at]))
		}
		high |= textEntry
		for ; at < d.text; at++ {
			l.put(p.numbers[at], high|uint64(p.positions[at]))
		}
	}
}

func (l *plainLayout) put(number uint32, entry uint64) {
	end := &l.ends[number]
	l.entries[*end] = entry
	*end++
}

// grow makes room for the lists of n tokens.
func (l *plainLayout) grow(n int) {
	if n *= maxVarintBytes; len(l.gaps) < n {
		n = max(2*n, 1<<10)
		l.docs, l.titleDocs, l.textDocs = make([]byte, 2*n), make([]byte, 2*n), make([]byte, 2*n)
		l.gaps, l.titleGaps, l.textGaps = make([]byte, n), make([]byte, n), make([]byte, n)
	}
}

// encodeText encodes the list of a term that no title has. Its postings are the same in both fields.
func (l *plainLayout) encodeText(entries []uint64, starts []uint32) (docFreq uint32, numDocs, numGaps, numTextGaps int) {
	docs, gaps, textGaps := l.docs, l.gaps, l.textGaps
	next := uint32(0)
	for len(entries) > 0 {
		doc, position := entryDoc(entries[0]), uint32(entries[0])
		numTextGaps = putVarint(textGaps, numTextGaps, position)
		numGaps = putVarint(gaps, numGaps, position+starts[doc]-1)
		n := 1
		for ; n < len(entries) && entryDoc(entries[n]) == doc; n++ {
			gap := uint32(entries[n]) - position
			position += gap
			numTextGaps = putVarint(textGaps, numTextGaps, gap)
			numGaps = putVarint(gaps, numGaps, gap)
		}
		numDocs = putPosting(docs, numDocs, doc-next, uint32(n))
		next = doc + 1
		docFreq++
		entries = entries[n:]
	}
	return docFreq, numDocs, numGaps, numTextGaps
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

// encodeBoth encodes and adds the lists of a term that is in titles.
func (l *plainLayout) encodeBoth(entries []uint64, term []byte, starts []uint32, positions bool) {
	main, title, text := plainList{docs: l.docs, gaps: l.gaps}, plainList{docs: l.titleDocs, gaps: l.titleGaps}, plainList{docs: l.textDocs, gaps: l.textGaps}
	for len(entries) > 0 {
		doc := entryDoc(entries[0])
		n := uint32(0)
		for int(n) < len(entries) && entries[n]>>32 == uint64(doc)<<1 {
			title.position(uint32(entries[n]))
			main.position(uint32(entries[n]))
			n++
		}
		all := n
		for int(all) < len(entries) && entryDoc(entries[all]) == doc {
			text.position(uint32(entries[all]))
			main.position(uint32(entries[all]) + starts[doc] - 1)
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
	f.numPostings += uint64(docFreq)
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
