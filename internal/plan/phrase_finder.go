package plan

import (
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// phraseFinder finds a phrase, a part of the documents at a time. First the documents are looked up in the lists of all
// terms, by block, and the places of their postings are kept. Then the positions of one term after the other, the rarest
// first, are read in the documents in which the phrase may still begin somewhere. So a posting is looked up
// once, and no iterator is asked for each document.
type phraseFinder struct {
	terms []finderTerm // rarest first
	phraseFound

	// Of the documents: starts of the phrase, of which spans are, and the next ones.
	starts, next []uint32
	spans        [phrasePart]span
	positions    []uint32
	failed       int // term of the last error of find
	of, at       [codec.BlockLen]uint8
	blocks       [phrasePart]blockFrom
}

// blockFrom is a block that may have documents from one of the part on.
type blockFrom struct{ block, from int }

// phrasePart documents are read together.
const phrasePart = codec.BlockLen

// prefetchFrom is the number of documents from which most of their positions are in no cache.
const prefetchFrom = 16

// partsPerStop parts, some ten microseconds, are read between two checks.
const partsPerStop = 8

// phraseFound are documents with a phrase and its frequencies there.
type phraseFound struct {
	n     int
	docs  [phrasePart]uint32
	freqs [phrasePart]uint32
}

// drop drops the documents whose score is too low.
func (f *phraseFound) drop(b *phraseBound) {
	kept := 0
	for i, doc := range f.docs[:f.n] {
		if b.scorer.Score(f.freqs[i], b.lengths[doc]) >= b.need {
			f.docs[kept], f.freqs[kept] = doc, f.freqs[i]
			kept++
		}
	}
	f.n = kept
}

type finderTerm struct {
	cursor  postings.Cursor
	reader  postings.PositionReader
	refs    [phrasePart]postings.PostingRef // by document
	term    int                             // index in the plan
	offsets []uint32                        // of the term in the phrase, rising
}

// span are starts of a document.
type span struct{ from, to int }

// phraseBound drops documents in which the score of a phrase is too low, whatever its frequency there.
type phraseBound struct {
	need    base.Score
	scorer  score.Term
	lengths []uint32
}

// findable reports whether a phraseFinder finds a phrase: its terms have a place each.
func findable(l *leaf) bool { return l.isPhrase() && l.slop == 0 && l.expand == 0 }

// begin prepares the finder for a phrase whose terms all have documents in the segment.
func (f *phraseFinder) begin(ws *words, segment int, l *leaf, rarest []int) {
	f.terms = slices.Grow(f.terms[:0], len(rarest))[:len(rarest)] // reuses the memory of offsets
	for i, term := range rarest {
		t := &f.terms[i]
		list := ws.list(segment, term)
		t.cursor.Reset(list, nil)
		t.reader.Reset(list)
		t.term, t.offsets = term, t.offsets[:0]
		for j, other := range l.terms {
			if other == term {
				t.offsets = append(t.offsets, l.offsets[j])
			}
		}
	}
}

// nextBlock makes the next documents in a range with the rarest term the part to look up; false: there are none.
func (f *phraseFinder) nextBlock(from, to base.DocID) bool {
	t := &f.terms[0]
	c := &t.cursor
	begun := c.BlockIndex() >= 0
	switch {
	case begun && c.BlockLastDocID() >= to:
		return false
	case begun && c.NextBlock() == base.NoDocID, !begun && c.NextGEQ(from) == base.NoDocID:
		return false
	}
	at := c.BlockPos()
	f.n = copy(f.docs[:], c.BlockDocIDs()[at:])
	for f.n > 0 && base.DocID(f.docs[f.n-1]) >= to {
		f.n--
	}
	for i := range f.n {
		t.refs[i] = c.Ref(uint8(at + i))
	}
	return f.n > 0
}

// find keeps the documents of the part that have the phrase. They have the first known terms. bound may be nil.
func (f *phraseFinder) find(known int, bound *phraseBound) error {
	for i := known; i < len(f.terms) && f.n > 0; i++ {
		f.lookUp(i)
	}
	for i := range f.terms {
		if f.n == 0 {
			break
		}
		if err := f.confirm(i, bound); err != nil {
			f.failed = f.terms[i].term
			return err
		}
	}
	for i, s := range f.spans[:f.n] {
		f.freqs[i] = uint32(s.to - s.from)
	}
	return nil
}

// lookUp keeps the documents in the list of a term, and the places of their postings. It finds all blocks and begins to load them,
// then decodes one after the other. The cursor has the error.
func (f *phraseFinder) lookUp(term int) {
	t := &f.terms[term]
	c := &t.cursor
	n, kept, blocks := f.n, 0, 0
	for i := 0; i < n; {
		_, begin, last, ok := c.ShallowNextGEQ(base.DocID(f.docs[i]))
		if !ok {
			break
		}
		if f.docs[i] < uint32(begin) {
			i++
			continue
		}
		block := c.ShallowBlock()
		if block != c.BlockIndex() {
			c.Prefetch(block)
		}
		f.blocks[blocks] = blockFrom{block, i}
		blocks++
		for i++; i < n && f.docs[i] <= uint32(last); i++ {
		}
	}
	for _, b := range f.blocks[:blocks] {
		if b.block != c.BlockIndex() && c.LoadBlock(b.block) == base.NoDocID {
			break
		}
		_, matches := scoring.Match(&f.of, &f.at, f.docs[b.from:n], c.Block(), uint32(c.BlockLastDocID()))
		for m, of := range f.of[:matches] {
			f.move(term, kept, b.from+int(of))
			t.refs[kept%phrasePart] = c.Ref(f.at[m])
			kept++
		}
	}
	if term == len(f.terms)-1 && kept >= prefetchFrom {
		for i := range kept {
			t.reader.Prefetch(t.refs[i])
		}
	}
	f.n = kept
}

// move moves a document with its postings in the first terms.
func (f *phraseFinder) move(terms, to, from int) {
	if to == from {
		return
	}
	f.docs[to] = f.docs[from]
	for j := range f.terms[:terms] {
		refs := &f.terms[j].refs
		refs[to] = refs[from]
	}
}

// confirm keeps the documents in which the phrase may begin by the positions of a term too.
func (f *phraseFinder) confirm(term int, bound *phraseBound) error {
	t := &f.terms[term]
	f.next = f.next[:0]
	kept := 0
	for i := range f.n {
		if term == 0 && bound != nil && bound.need > 0 {
			freq, err := t.reader.Freq(t.refs[i])
			if err != nil {
				return err
			}
			if freq > 0 && bound.scorer.Score(freq, bound.lengths[f.docs[i]]) < bound.need {
				continue
			}
		}
		from := len(f.next)
		if err := f.read(t, i, term == 0); err != nil {
			return err
		}
		if len(f.next) > from {
			f.move(len(f.terms), kept, i)
			f.spans[kept] = span{from, len(f.next)}
			kept++
		}
	}
	f.n = kept
	f.starts, f.next = f.next, f.starts
	return nil
}

// read appends the starts of a document that the positions of the term confirm.
func (f *phraseFinder) read(t *finderTerm, doc int, first bool) (err error) {
	if f.positions, err = t.reader.Append(f.positions[:0], t.refs[doc]); err != nil {
		return err
	}
	from, offsets := len(f.next), t.offsets
	if first {
		for _, p := range f.positions {
			if p >= offsets[0] {
				f.next = append(f.next, p-offsets[0])
			}
		}
		offsets = offsets[1:]
	} else {
		s := f.spans[doc]
		f.next = append(f.next, f.starts[s.from:s.to]...)
	}
	for _, offset := range offsets {
		if len(f.next) == from {
			return nil
		}
		f.next = f.next[:from+len(keepFollowed(f.next[from:], f.positions, offset))]
	}
	return nil
}

// finish adds the work to the matcher's and returns the first error of a list.
func (f *phraseFinder) finish(m *matcher) (failed error) {
	for i := range f.terms {
		t := &f.terms[i]
		m.work.Add(cursorWork(&t.cursor))
		if failed == nil {
			failed = m.termError(t.term, t.cursor.Err())
		}
	}
	return failed
}

// phraseSearch is the input of findPhrase: a phrase and the documents to search.
type phraseSearch struct {
	leaf     *leaf
	docs     *documents   // among these, which are in the range, or with nil
	from, to base.DocID   // in a range
	bound    *phraseBound // may be nil
}

// findPhrase calls f with documents of a phrase, part by part, rising, until f returns false. f may raise the need of the bound.
func (x narrower) findPhrase(s *phraseSearch, f func(found *phraseFound) bool) (err error) {
	p, d := &x.m.finder, s.docs
	rarest := x.fixedTerms(s.leaf)
	if x.m.words.list(x.m.segment, rarest[0]).DocFreq == 0 {
		return nil
	}
	p.begin(x.m.words, x.m.segment, s.leaf, rarest)
	known, at, parts := 0, 0, 0
	if d != nil && d.words != nil {
		at = int(s.from / 64)
	}
	if d == nil {
		known = 1
	}
	for {
		switch {
		case d == nil:
			if !p.nextBlock(s.from, s.to) {
				return p.finish(x.m)
			}
		case d.words == nil:
			p.n = copy(p.docs[:], d.docs[at:])
			at += p.n
		default:
			part, next := nextBits(p.docs[:0], d.words, at)
			p.n, at = len(part), next
		}
		if p.n == 0 {
			break
		}
		if parts++; parts%partsPerStop == 0 {
			if err = x.m.stop.Err(); err != nil {
				break
			}
		}
		if err = p.find(known, s.bound); err != nil {
			err = x.m.termError(p.failed, err)
			break
		}
		if p.n > 0 && !f(&p.phraseFound) {
			break
		}
	}
	if failed := p.finish(x.m); failed != nil {
		return failed
	}
	return err
}
