package plan

import (
	"math/bits"
	"sort"

	"github.com/griffin-search/griffin/internal/base"
)

// documents match a filter in a segment: bits, or a rising list if they are few. They are not
// to be changed.
type documents struct {
	words []uint64 // nil: docs
	docs  []uint32
	count int
}

// A list of documents takes at most half the memory of bits.
const docsPerListed = 64

func isFew(count, numDocs int) bool { return count <= numDocs/docsPerListed }

// listed moves few bits to a list, in dst[:0].
func listed(words []uint64, count, numDocs int, dst []uint32) documents {
	if !isFew(count, numDocs) {
		return documents{words: words, count: count}
	}
	return documents{docs: appendBits(dst[:0], words, 0), count: count}
}

// appendBits appends the numbers of bits, of which the first is a number.
func appendBits(dst []uint32, words []uint64, first base.DocID) []uint32 {
	if dst == nil {
		dst = []uint32{}
	}
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, uint32(first)+uint32(64*i+bits.TrailingZeros64(w)))
		}
	}
	return dst
}

func (d *documents) has(doc uint32) bool {
	if d.words != nil {
		return d.words[doc/64]>>(doc%64)&1 != 0
	}
	i := sort.Search(len(d.docs), func(i int) bool { return d.docs[i] >= doc })
	return i < len(d.docs) && d.docs[i] == doc
}

// addTo sets the bits of the documents.
func (d *documents) addTo(words []uint64) {
	if d.words != nil {
		or(words, d.words)
		return
	}
	for _, doc := range d.docs {
		words[doc/64] |= 1 << (doc % 64)
	}
}

// selected appends the docs that are in words, or with not the others.
func selected(dst, docs []uint32, words []uint64, not bool) []uint32 {
	flip := uint64(0)
	if not {
		flip = 1
	}
	n := len(dst)
	dst = append(dst, docs...)
	for _, doc := range docs {
		dst[n] = doc
		n += int(words[doc/64]>>(doc%64)&1 ^ flip)
	}
	return dst[:n]
}

// merged appends the common documents of two lists, the first the shorter one.
func merged(dst, a, b []uint32) []uint32 {
	for _, doc := range a {
		i := sort.Search(len(b), func(i int) bool { return b[i] >= doc })
		if b = b[i:]; len(b) == 0 {
			break
		}
		if b[0] == doc {
			dst = append(dst, doc)
		}
	}
	return dst
}

// docList returns empty memory for a list of documents, valid until the matcher is used for another segment.
func (m *matcher) docList(n int) []uint32 {
	if m.listed == len(m.lists) {
		m.lists = append(m.lists, nil)
	}
	l := &m.lists[m.listed]
	m.listed++
	if cap(*l) < n {
		*l = make([]uint32, 0, n)
	}
	return (*l)[:0:n]
}

// listOf returns a term's documents, few.
func (m *matcher) listOf(term int) (documents, error) {
	l := m.words.list(m.segment, term)
	docs := m.docList(int(l.DocFreq))
	c := &m.cursor
	c.Reset(l, nil)
	for part := m.in.next(c); len(part) > 0; part = m.in.next(c) {
		docs = append(docs, part...)
	}
	m.countWork(c)
	return documents{docs: docs, count: len(docs)}, m.termError(term, c.Err())
}
