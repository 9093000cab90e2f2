package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	kernels "github.com/griffin-search/griffin/internal/simd/column"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Matches calls f for each segment, in order, with the live documents that match the query: bit d%64
// of words[d/64] for document d of the segment, valid and f's to change until f returns. The documents
// match the stage that RunCPU answers with: in ModeAndOr, the OR if fewer than K documents
// have all words. It scores nothing.
//
// The error is the context's, f's, or wraps base.ErrCorrupt if a list is damaged.
func (p *Plan) Matches(ctx context.Context, sc *Scratch, f func(segment int, words []uint64) error) error {
	if p.mode == ModeSaat {
		return p.saat.matches(ctx, p, sc, f)
	}
	stage, err := matchingStage(ctx, p, sc)
	if err != nil {
		return err
	}
	for i := range p.planner.snapshot.Segments {
		if err := StageMatches(ctx, p, sc, stage, i, f); err != nil {
			return err
		}
	}
	return nil
}

// StageMatches calls f with the live documents of a segment that match a stage, which must not be of ModeSaat, as
// Plan.Matches does.
func StageMatches(ctx context.Context, p *Plan, sc *Scratch, stage, segment int, f func(segment int, words []uint64) error) error {
	var work Work
	r := sc.stage(p, &p.stages[stage], ctx)
	words, err := r.matches(segment, &work)
	if err != nil {
		return err
	}
	return f(segment, words)
}

// matchingStage returns the first stage that does not fall back.
func matchingStage(ctx context.Context, p *Plan, sc *Scratch) (int, error) {
	var work Work
	for stage := 0; ; stage++ {
		if stage+1 == len(p.stages) {
			return stage, nil
		}
		r := sc.stage(p, &p.stages[stage], ctx)
		n, err := r.countAll(&work)
		if err != nil {
			return 0, err
		}
		if !p.FallsBack(stage, int(min(n, int64(p.k)))) {
			return stage, nil
		}
	}
}

// matches returns the live matching documents of a segment, valid until the next call.
func (r *stageRun) matches(segment int, w *Work) ([]uint64, error) {
	if err := r.stop.Err(); err != nil {
		return nil, err
	}
	view := &r.plan.planner.snapshot.Segments[segment]
	m := r.sc.begin(&r.plan.words, segment, r.stop)
	m.result = cleared(m.result, view.NumDocs())
	err := m.mark(m.result, r.st.root)
	w.Add(m.work)
	if err != nil {
		return nil, r.failed(segment, err)
	}
	if live := view.Live.Words(); live != nil {
		and(m.result, live)
	}
	return m.result, nil
}

// matcher computes the documents of a segment that match a node, deleted ones too, as a bitmap.
type matcher struct {
	scratch *Scratch
	words   *words
	segment int
	in      window
	stop    traverse.Interrupt
	work    Work
	filters []FilterTrace // the sets that were computed or found in the cache

	result  []uint64
	free    [][]uint64 // for take
	held    [][]uint64 // taken for sets
	lists   [][]uint32 // for docList; listed of them are taken
	listed  int
	key     []byte
	cursor  postings.Cursor
	looked  []uint32 // of lookUp
	matched postings.Matched
	finder  phraseFinder
	fixed   []int // of fixedTerms
	phrases keptPhrases
	root    group // of visit
}

// begin prepares the matcher and the builder of trees for a segment.
func (sc *Scratch) begin(ws *words, segment int, stop traverse.Interrupt) *matcher {
	m := &sc.matcher
	m.free, m.held, m.listed = append(m.free, m.held...), m.held[:0], 0
	m.scratch, m.words, m.segment, m.stop, m.work, m.filters = sc, ws, segment, stop, Work{}, m.filters[:0]
	m.phrases.begin(nil)
	m.in = wholeSegment(ws.numDocs(segment))
	sc.beginTree(ws, segment, stop)
	return m
}

// beginIn is begin for a range of documents: multiples of 64, or the number of documents.
func (sc *Scratch) beginIn(ws *words, segment int, stop traverse.Interrupt, from, to base.DocID, sets *foundSets) *matcher {
	m := sc.begin(ws, segment, stop)
	m.in = window{from: from, to: to, part: true, sets: sets}
	return m
}

func (sc *Scratch) beginTree(ws *words, segment int, stop traverse.Interrupt) {
	sc.pulse.reset(stop)
	sc.tree.reset(ws, segment, &sc.pulse, &sc.matcher)
}

func (m *matcher) view() *index.View { return &m.words.planner.snapshot.Segments[m.segment] }

// take returns a cleared bitmap of the window, until put.
func (m *matcher) take() (words []uint64) {
	if n := len(m.free); n > 0 {
		words = m.free[n-1]
		m.free = m.free[:n-1]
	}
	return m.in.cleared(words, m.words.numDocs(m.segment))
}

// hold returns a cleared bitmap until the matcher is used for another segment.
func (m *matcher) hold() []uint64 {
	words := m.take()
	m.held = append(m.held, words)
	return words
}

func (m *matcher) put(words []uint64) { m.free = append(m.free, words) }

// mark sets the bits of the documents that match n.
func (m *matcher) mark(words []uint64, n node) error {
	switch n := n.(type) {
	case *leaf:
		if n.isPhrase() {
			found, err := narrower{m}.phrase(n)
			m.in.add(words, &found)
			return err
		}
		return m.list(words, n.terms[0])
	case *group:
		return m.group(words, n)
	case *constant:
		return m.mark(words, n.child)
	case *set:
		found, err := m.set(n)
		if err == nil {
			m.in.add(words, &found)
		}
		return err
	case *disMax:
		return m.any(words, n.children)
	case *boosting:
		return m.mark(words, n.positive)
	case *functionScore:
		if n.least > 0 {
			return m.iterate(words, n)
		}
		return m.mark(words, n.child)
	case *combined:
		for _, l := range n.leaves {
			if err := m.list(words, l.terms[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *matcher) group(words []uint64, g *group) error {
	if len(g.required) == 0 && len(g.excluded) == 0 && g.atLeast <= 1 {
		return m.any(words, g.optional)
	}
	if g.atLeast > 1 {
		return m.iterate(words, g)
	}
	found, err := narrower{m}.matching(g)
	m.in.add(words, &found)
	return err
}

func (m *matcher) any(words []uint64, nodes []node) error {
	for _, n := range nodes {
		if err := m.mark(words, n); err != nil {
			return err
		}
	}
	return nil
}

// docFreq bounds the documents of a node.
func (m *matcher) docFreq(n node) int {
	switch n := n.(type) {
	case *leaf:
		return m.words.leafDocFreq(m.segment, n)
	case *constant:
		return m.docFreq(n.child)
	case *set:
		return m.words.numDocs(m.segment)
	case *disMax:
		sum := 0
		for _, child := range n.children {
			sum += m.docFreq(child)
		}
		return sum
	case *boosting:
		return m.docFreq(n.positive)
	case *functionScore:
		return m.docFreq(n.child)
	case *combined:
		return m.words.docFreqOf(m.segment, n)
	case *group:
		if len(n.required) > 0 {
			least := int(base.MaxDocs)
			for _, child := range n.required {
				least = min(least, m.docFreq(child))
			}
			return least
		}
		sum := 0
		for _, child := range n.optional {
			sum += m.docFreq(child)
		}
		return sum
	}
	return 0
}

// list sets the bits of a term's documents.
func (m *matcher) list(words []uint64, term int) error {
	l := m.words.list(m.segment, term)
	if l.DocFreq == 0 {
		return nil
	}
	if err := m.stop.Err(); err != nil {
		return err
	}
	return m.termError(term, m.markList(words, l))
}

// ofTerm returns the documents of a term.
func (m *matcher) ofTerm(term int) (documents, error) {
	l := m.words.list(m.segment, term)
	if isFew(int(l.DocFreq), m.in.size()) {
		return m.listOf(term)
	}
	words := m.hold()
	found := documents{words: words, count: int(l.DocFreq)}
	err := m.list(words, term)
	if m.in.part {
		found.count = int(ones(m.in.words(words)))
		found = narrower{m}.compact(found)
	}
	return found, err
}

func (m *matcher) termError(term int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("term %q: %w", m.words.terms[term].bytes, err)
}

func (m *matcher) markList(words []uint64, l *postings.List) error {
	c := &m.cursor
	c.Reset(l, nil)
	for docs := m.in.next(c); len(docs) > 0; docs = m.in.next(c) {
		kernels.Mark(words, docs)
	}
	m.countWork(c)
	return c.Err()
}

func (m *matcher) countWork(c *postings.Cursor) {
	stats := c.Stats()
	m.work.Add(Work{PostingsDecoded: int64(stats.PostingsDecoded), BlocksDecoded: int64(stats.BlocksDecoded)})
}

// iterate sets the bits of the documents of n's iterator.
func (m *matcher) iterate(words []uint64, n node) error {
	sc := m.scratch
	sc.beginTree(m.words, m.segment, m.stop)
	b, pulse := &sc.tree, &sc.pulse
	it, err := b.build(n)
	if err != nil || it == nil {
		return err
	}
	for doc := it.NextGEQ(m.in.from); doc < m.in.to && !pulse.stopped(); doc = it.NextGEQ(doc + 1) {
		words[doc/64] |= 1 << (doc % 64)
	}
	if err := b.finish(&m.work); err != nil {
		return err
	}
	return pulse.err
}

func and(words, other []uint64) {
	for i, w := range other[:len(words)] {
		words[i] &= w
	}
}

func andNot(words, other []uint64) {
	for i, w := range other[:len(words)] {
		words[i] &^= w
	}
}

func or(words, other []uint64) {
	for i, w := range other[:len(words)] {
		words[i] |= w
	}
}

// cleared returns zeroed words for numDocs documents, reusing words.
func cleared(words []uint64, numDocs int) []uint64 {
	n := (numDocs + 63) / 64
	words = slices.Grow(words[:0], n)[:n]
	clear(words)
	return words
}

func ones(words []uint64) int64 { return int64(kernels.Ones(words)) }

// matches is Plan.Matches of impact-ordered lists, which have live documents only.
func (q *ImpactQuery) matches(stop traverse.Interrupt, p *Plan, sc *Scratch, f func(segment int, words []uint64) error) error {
	c := &sc.counter
	if err := c.markImpacts(&q.Query); err != nil {
		return fmt.Errorf("query %s: %w", p.query, err)
	}
	m := &sc.matcher
	for i := range p.planner.snapshot.Segments {
		if err := stop.Err(); err != nil {
			return err
		}
		view := &p.planner.snapshot.Segments[i]
		m.result = cleared(m.result, view.NumDocs())
		copyBits(m.result, c.words, int(view.Base), view.NumDocs())
		if err := f(i, m.result); err != nil {
			return err
		}
	}
	return nil
}

// copyBits copies n bits from bit begin of src on; words beyond src are 0.
func copyBits(dst, src []uint64, begin, n int) {
	at := func(i int) uint64 {
		if i < len(src) {
			return src[i]
		}
		return 0
	}
	shift := begin % 64
	for i := range dst {
		j := begin/64 + i
		dst[i] = at(j)>>shift | at(j+1)<<(64-shift) // a shift by 64 gives 0
	}
	if rest := n % 64; rest > 0 {
		dst[len(dst)-1] &= 1<<rest - 1
	}
}
