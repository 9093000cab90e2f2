package plan

import (
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// window is the documents of a segment that a matcher finds: all, or a range, so that several workers find the documents
// of a query together. Bitmaps have a bit for each document up to the end of the window. Their words before it are undefined.
type window struct {
	from, to base.DocID // from is a multiple of 64; to too, or it is the number of documents
	part     bool       // not all
	sets     *foundSets // of a part
}

func (w *window) size() int { return int(w.to - w.from) }

// words returns the words of the window.
func (w *window) words(bits []uint64) []uint64 { return bits[w.from/64 : (w.to+63)/64] }

// cut returns a bitmap without the words after the window.
func (w *window) cut(bits []uint64) []uint64 { return bits[:(w.to+63)/64] }

// cleared returns a cleared bitmap in the memory of bits, which grows to numDocs documents.
func (w *window) cleared(bits []uint64, numDocs int) []uint64 {
	n := (numDocs + 63) / 64
	bits = w.cut(slices.Grow(bits[:0], n)[:n])
	clear(w.words(bits))
	return bits
}

// add adds documents of the window to a bitmap.
func (w *window) add(bits []uint64, d *documents) {
	if d.words != nil {
		or(w.words(bits), w.words(d.words))
		return
	}
	d.addTo(bits)
}

// share estimates how many of n documents of a segment with numDocs documents are in the window.
func (w *window) share(n, numDocs int) int {
	if !w.part {
		return n
	}
	return int(int64(n) * int64(w.size()) / int64(numDocs))
}

// next moves a cursor to its next block in the window, and returns the documents there; none at the end.
func (w *window) next(c *postings.Cursor) []uint32 {
	if !w.part {
		if c.NextBlock() == base.NoDocID {
			return nil
		}
		return c.BlockDocIDs()
	}
	begun := c.BlockIndex() >= 0
	switch {
	case begun && c.BlockLastDocID() >= w.to:
		return nil
	case begun && c.NextBlock() == base.NoDocID, !begun && c.NextGEQ(w.from) == base.NoDocID:
		return nil
	}
	docs := c.BlockDocIDs()
	if c.BlockLastDocID() >= w.to {
		docs = docs[:scoring.Search(c.Block(), uint32(w.to))]
	}
	return docs[min(c.BlockPos(), len(docs)):]
}

// foundSets are documents of sets in a whole segment, for windows.
type foundSets struct {
	mu   sync.Mutex
	sets []foundSet
}

type foundSet struct {
	node node
	documents
}

// get returns the documents of a node. The first matcher that needs them computes them, and others wait for it.
func (f *foundSets) get(m *matcher, n node) (documents, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.sets {
		if f.sets[i].node == n {
			return f.sets[i].documents, nil
		}
	}
	in := m.in
	defer func() { m.in = in }()
	m.in = wholeSegment(m.words.numDocs(m.segment))
	text := ""
	if s, ok := n.(*set); ok {
		text = s.text
	}
	found, cached, err := m.find(n, text)
	if err != nil {
		return documents{}, err
	}
	if cached == nil {
		found.words, found.docs = slices.Clone(found.words), slices.Clone(found.docs)
	}
	f.sets = append(f.sets, foundSet{n, found})
	return found, nil
}

func (f *foundSets) has(n node) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.sets, func(s foundSet) bool { return s.node == n })
}

func wholeSegment(numDocs int) window { return window{to: base.DocID(numDocs)} }

// within returns the documents of a window.
func (w *window) within(d documents) documents {
	if d.words == nil {
		d.docs = docsBetween(d.docs, w.from, w.to)
		return documents{docs: d.docs, count: len(d.docs)}
	}
	return documents{words: w.cut(d.words), count: int(ones(w.words(d.words)))}
}

// findSets finds the documents of the sets of a node, but for those that are better tested with few documents, before
// windows share them.
func (m *matcher) findSets(f *foundSets, root node) (err error) {
	most := m.docFreq(root)
	walkSets(root, func(s *set) {
		t, _ := s.source.(tester)
		if err == nil && (t == nil || t.cost(m.words, m.segment) <= most*testCost) {
			_, err = f.get(m, s)
		}
	})
	return err
}

// walkSets visits the sets that decide about the matches of a node.
func walkSets(n node, visit func(*set)) {
	all := func(nodes []node) {
		for _, child := range nodes {
			walkSets(child, visit)
		}
	}
	switch n := n.(type) {
	case *set:
		visit(n)
	case *constant:
		walkSets(n.child, visit)
	case *group:
		all(n.required)
		all(n.optional)
		all(n.excluded)
	case *disMax:
		all(n.children)
	case *boosting:
		walkSets(n.positive, visit)
	case *functionScore:
		walkSets(n.child, visit)
	}
}
