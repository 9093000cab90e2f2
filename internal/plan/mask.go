package plan

import "slices"

// The traversals of package traverse take a mask: a segment's live documents that match the filters and
// none of the excluded nodes, as bits. So "a b -c" and "a b +price:[10 TO 20]^=0" run there, and the
// filters of a stage need no iterators. On 250,000 passages of Wikipedia, "united kingdom
// -london" takes 40 µs, as a tree 190 µs; "the of and -united" 390 µs and 14.6 ms (2 cores of a
// Zen 5 EPYC, one thread, k=10).
//
// A stage has three ways, chosen in each segment by estimated costs:
//
//	flat    mask, then the traversal: the cost of the mask, and a part of the postings (flatShare)
//	narrow  mask, then iterators that start from its documents: if these are few
//	tree    iterators for everything: if the words are so rare that the mask costs more

// Costs of the ways, relative to decoding a posting and setting its bit, about a nanosecond.
const (
	maskDocsPerCost = 64 // documents whose bits are set in that time
	treePostingCost = 20 // a posting visited by the iterators of a tree
	flatShare       = 10 // postings for one that a traversal decodes
)

func (st *Stage) isMasked() bool { return len(st.excluded) > 0 || len(st.filters) > 0 }

// maskPays reports whether a segment's mask costs less than the tree's iterators.
func (st *Stage) maskPays(ws *words, segment int) bool {
	cost := ws.numDocs(segment) / maskDocsPerCost
	for _, n := range st.excluded {
		cost += ws.maskCost(segment, n)
	}
	visited := st.visited(ws, segment)
	tests := 0
	for _, n := range st.filters {
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
	}
	return 0
}

func (ws *words) sumOfCosts(segment int, nodes []node) (sum int) {
	for _, n := range nodes {
		sum += ws.maskCost(segment, n)
	}
	return sum
}

// mask returns the segment's mask, nil for all documents, valid until the matcher is used for another segment.
func (m *matcher) mask(st *Stage) ([]uint64, error) {
	view := m.view()
	live := view.Live.Words()
	if !st.isMasked() || len(st.filters) == 0 && !m.anyPostings(st.excluded) {
		return live, nil
	}
	words := m.take()
	m.held = append(m.held, words)
	everyDocument(words, view.NumDocs())
	if live != nil {
		copy(words, live)
	}
	for _, n := range st.filters {
		documents, _, err := m.filter(n.(*constant))
		if err != nil {
			return nil, err
		}
		and(words, documents)
	}
	return words, m.combine(words, st.excluded, andNot)
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

// given is a node of which the documents are known. It scores nothing.
type given struct {
	words []uint64
	count int
}

func (*given) isNode() {}

// narrow returns the tree of a flat stage whose mask has so few documents that iterators cost less than a
// traversal, or nil.
func (st *Stage) narrow(ws *words, segment int, mask []uint64) node {
	if len(st.filters) == 0 {
		return nil
	}
	count := int(ones(mask))
	if count*len(st.leaves)*treePostingCost*flatShare > st.visited(ws, segment) {
		return nil
	}
	documents := &given{mask, count}
	if st.conjunctive {
		return &group{required: append([]node{documents}, st.leaves...)}
	}
	return &group{required: []node{documents, &group{optional: st.leaves}}}
}
