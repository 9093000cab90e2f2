package plan

import (
	"slices"

	"github.com/griffin-search/griffin/internal/index"
)

// The traversals of package traverse take a mask: a segment's live documents that match the filters and
// none of the excluded nodes, as bits. So "a b -c" and "a b +price:[10 TO 20]^=0" run there, and the
// filters of a stage need no iterators. On 250,000 passages of Wikipedia, "united kingdom
// -london" takes 40 µs, as a tree 190 µs; "the of and -united" 390 µs and 14.6 ms (2 cores of a
// Zen 5 EPYC, one thread, k=10).
//
// A stage has three ways, chosen in each segment by estimated costs:
//
//	flat    mask, then the traversal
//	look-up mask, then the documents are looked up in the lists: if they are few
//	tree    iterators for everything: if the words are so rare that the mask costs more

// Costs of the ways, relative to decoding a posting and setting its bit, about a nanosecond.
const (
	maskDocsPerCost = 64 // documents whose bits are set in that time
	treePostingCost = 20 // a posting visited by the iterators of a tree
)

func (st *Stage) isMasked() bool { return len(st.excluded) > 0 || len(st.filters) > 0 }

// maskPays reports whether a segment's mask costs less than the tree's iterators. The matcher knows which filters
// are kept; nil: none.
func (st *Stage) maskPays(ws *words, segment int, m *matcher) bool {
	cost := ws.numDocs(segment) / maskDocsPerCost
	for _, n := range st.excluded {
		cost += ws.maskCost(segment, n)
	}
	visited := st.visited(ws, segment)
	tests := 0
	for _, n := range st.filters {
		if m != nil && m.isCached(n.(*constant).child) {
			continue
		}
		if t := testable(n); t != nil { // a tree may test its candidates
			cost += t.cost(ws, segment)
			tests++
			continue
		}
		cost += ws.maskCost(segment, n)
		if l, ok := n.(*constant).child.(*leaf); ok {
			visited = min(visited, ws.leafDocFreq(segment, l)*len(st.leaves))
		}
	}
	return cost <= (treePostingCost+tests*testCost)*visited
}

// visited bounds the postings of the leaves that iterators visit.
func (st *Stage) visited(ws *words, segment int) int {
	sum, least := 0, -1
	for _, n := range st.leaves {
		df := int(ws.list(segment, n.(*leaf).terms[0]).DocFreq)
		sum += df
		if least < 0 || df < least {
			least = df
		}
	}
	if st.conjunctive { // a tree iterates over the shortest list
		return least * len(st.leaves)
	}
	return sum
}

// maskCost estimates the cost of a node's bitmap beyond what its iterator costs too.
func (ws *words) maskCost(segment int, n node) int {
	switch n := n.(type) {
	case *leaf:
		if n.isPhrase() {
			return treePostingCost * len(n.terms) * ws.leafDocFreq(segment, n)
		}
		return int(ws.list(segment, n.terms[0]).DocFreq)
	case *constant:
		return ws.maskCost(segment, n.child)
	case *set:
		return ws.numDocs(segment) / maskDocsPerCost
	case *group:
		return ws.sumOfCosts(segment, n.required) + ws.sumOfCosts(segment, n.optional) + ws.sumOfCosts(segment, n.excluded)
	case *disMax:
		return ws.sumOfCosts(segment, n.children)
	case *boosting:
		return ws.maskCost(segment, n.positive)
	case *functionScore:
		return ws.maskCost(segment, n.child)
	case *combined:
		return ws.docFreqOf(segment, n)
	}
	return 0
}

func (ws *words) sumOfCosts(segment int, nodes []node) (sum int) {
	for _, n := range nodes {
		sum += ws.maskCost(segment, n)
	}
	return sum
}

// mask is the documents of a segment that a flat stage may find.
type mask struct {
	all bool // no document is excluded
	documents
}

// mask is valid until the matcher is used for another segment.
func (m *matcher) mask(st *Stage) (mask, error) {
	view := m.view()
	excludes := m.anyPostings(st.excluded)
	if len(st.filters) == 0 && !excludes {
		return maskOf(view), nil
	}
	var found documents
	for i, n := range st.filters {
		next, err := m.live(n.(*constant))
		if err != nil {
			return mask{}, err
		}
		if i > 0 {
			next = m.both(found, next)
		}
		found = next
	}
	if !excludes {
		return mask{documents: found}, nil
	}
	excluded := m.take()
	defer m.put(excluded)
	for _, n := range st.excluded {
		if err := m.mark(excluded, n); err != nil {
			return mask{}, err
		}
	}
	if len(st.filters) > 0 && found.words == nil {
		found.docs = selected(m.docList(len(found.docs)), found.docs, excluded, true)
		found.count = len(found.docs)
		return mask{documents: found}, nil
	}
	words := m.hold()
	switch live := view.Live.Words(); {
	case len(st.filters) > 0:
		copy(words, found.words)
	case live != nil:
		copy(words, live)
	default:
		everyDocument(words, view.NumDocs())
	}
	andNot(words, excluded)
	return mask{documents: documents{words: words, count: int(ones(words))}}, nil
}

// maskOf is the mask of a stage without filters and excluded nodes.
func maskOf(view *index.View) mask {
	if view.Live == nil {
		return mask{all: true, documents: documents{count: view.NumDocs()}}
	}
	return mask{documents: documents{words: view.Live.Words(), count: view.Live.Count()}}
}

// both returns the documents in a and b.
func (m *matcher) both(a, b documents) documents {
	if a.words == nil && b.words == nil {
		if len(a.docs) > len(b.docs) {
			a, b = b, a
		}
		docs := merged(m.docList(len(a.docs)), a.docs, b.docs)
		return documents{docs: docs, count: len(docs)}
	}
	if b.words == nil {
		a, b = b, a
	}
	if a.words == nil {
		docs := selected(m.docList(len(a.docs)), a.docs, b.words, false)
		return documents{docs: docs, count: len(docs)}
	}
	words := m.hold()
	part := m.in.words(words)
	copy(part, m.in.words(a.words))
	and(part, m.in.words(b.words))
	return narrower{m}.compact(documents{words: words, count: int(ones(part))})
}

func (m *matcher) anyPostings(nodes []node) bool {
	return slices.ContainsFunc(nodes, func(n node) bool { return m.docFreq(n) > 0 })
}

// everyDocument sets the bits of all documents.
func everyDocument(words []uint64, numDocs int) {
	for i := range words {
		words[i] = ^uint64(0)
	}
	if rest := numDocs % 64; rest > 0 {
		words[len(words)-1] = 1<<rest - 1
	}
}

// looksUp reports whether looking the documents up in the lists costs less than another traversal. On 250,000
// passages of Wikipedia, the top 10 of TB05 queries (OR) in a random 0.1 % take 9 µs a query so, 48 µs with
// block-max-maxscore; in 1 %, 21 and 28 µs; in 10 %, 160 and 18 µs (one thread of a Zen 5).
func (st *Stage) looksUp(m *mask) bool { return st.named == nil && !m.all && m.words == nil }
