package exec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Options say how a query is to be answered.
type Options struct {
	Mode Mode
	// K is how many hits are wanted, >= 0.
	K int
	// Traversal is the name of the algorithm for flat queries ("": chosen for each
	// segment by traverse.Choose). Queries that are not flat do not use it.
	Traversal string
	// Accumulators names the saat.Variant of ModeSaat ("": the default), and Budget
	// bounds its work.
	Accumulators string
	Budget       saat.Budget
	// Count asks for the exact number of documents that match, too: every posting is
	// read then.
	Count bool
	// CPU keeps the query off the Searcher's GPU.
	CPU bool
	// Cached lets Run take the answer from the Searcher's ResultCache, and leave it
	// there. It has no effect where an answer depends on how it is found, or the query
	// says how: with a Budget, a Traversal, Accumulators, CPU or a Policy. A plan that was made
	// so can be run, by itself and without a trace, and no more.
	Cached bool
	// Policy chooses the places of the query's steps ("": the Dispatcher's). Those that
	// gather or group queries (query, batch) do so only if they are the Dispatcher's.
	Policy Policy
	// Placement, if not nil, takes the place of the policy.
	Placement *Placement
}

// Plan is a query made ready for the segments of a snapshot: its lists are
// found and its weights computed. It may be run any number of times, by several
// goroutines at a time, while the snapshot is held.
type Plan struct {
	searcher *Searcher
	query    query.Node
	mode     Mode
	k        int
	counts   bool // Options.Count
	notes    []string
	terms    []term
	docFreqs []uint64        // by term, over all segments
	lists    []postings.List // by segment, then term; empty where a segment has none
	stages   []stage         // one, but for ModeAndOr
	saat     impactQuery     // of ModeSaat, in the place of lists and legs
	onCPU    string          // why the Searcher's GPU cannot run it; "": it can
	policy   Policy          // "": the Dispatcher's
	// placement takes the place of the policy, if not nil.
	placement *Placement
	key       []byte       // of its answer in the Searcher's ResultCache; empty: it is not cached
	cached    *resultEntry // the answer, if it was there; then lists, legs and so on are not set

	memory  planMemory
	legs    arena[traverse.Leg]
	gpuLegs arena[pipeline.Leg]
}

// stage is one attempt at an answer.
type stage struct {
	mode Mode // ModeOr or ModeAnd: of ModeSaat, ModeOr
	root node // nil: nothing to look for
	// If root is flat (flat), the flat query, and by segment the traversal for it;
	// legs holds, by segment, then leaf, what the traversals run on.
	flat bool
	flatQuery
	kind       traverse.Mode
	named      traverse.Traversal // for all segments; nil: chosen for each
	traversals []traverse.Traversal
	main       traverse.Traversal // of the segment with the most postings
	legs       []traverse.Leg
	// order has the leaves by rising length of their lists over all segments, as the
	// legs of gpu; of a Searcher with an active Dispatcher.
	order []int
	gpu   pipeline.Query // if the plan can run on a GPU
}

// treeTraversal is the name of what runs if a query is not flat.
const treeTraversal = "tree"

func (st *stage) name() string {
	if st.flat {
		return st.main.Name()
	}
	return treeTraversal
}

// Prepare plans a query. Errors wrap base.ErrBadInput, or base.ErrCorrupt if
// the dictionary or a list is damaged.
func (s *Searcher) Prepare(sc *Scratch, q query.Node, opts Options) (*Plan, error) {
	p := new(Plan)
	if err := s.PrepareInto(p, sc, q, opts); err != nil {
		return nil, err
	}
	return p, nil
}

// PrepareInto is Prepare into the memory of a former plan, of any Searcher or
// none, that nobody uses any more. For a flat query not larger than the plan
// ever was it allocates nothing. After an error p may only be prepared again.
func (s *Searcher) PrepareInto(p *Plan, sc *Scratch, q query.Node, opts Options) error {
	if opts.K < 0 {
		return fmt.Errorf("k is %d: %w", opts.K, base.ErrBadInput)
	}
	if opts.Policy != "" {
		if _, err := ParsePolicy(string(opts.Policy)); err != nil {
			return err
		}
	}
	if opts.Placement != nil {
		if err := opts.Placement.check(s.dispatcher); err != nil {
			return err
		}
	}
	p.searcher, p.query, p.mode, p.k, p.counts, p.policy, p.placement = s, q, opts.Mode, opts.K, opts.Count, opts.Policy, opts.Placement
	p.stages, p.key, p.cached = p.stages[:0], p.key[:0], nil
	p.memory.reset()
	p.legs.reset()
	c := &sc.compiler
	c.fields, c.positions, c.weighted = s.fields, s.snapshot.Options.Positions, s.snapshot.Options.Weighted()
	c.memory, c.terms, c.notes = &p.memory, p.terms[:0], nil
	err := p.compile(c, opts)
	p.terms, p.notes = c.terms, c.notes
	c.memory, c.terms, c.notes = nil, nil, nil // the plan's own
	if err != nil {
		return err
	}
	if opts.cacheable() && s.results != nil && p.findAnswer(sc, &opts) {
		return nil
	}
	if opts.Mode == ModeSaat {
		if err := p.prepareSaat(p.stages[0].root, opts); err != nil {
			return err
		}
		p.prepareGPU(opts)
		return nil
	}
	if err := p.find(); err != nil {
		return err
	}
	for i := range p.stages {
		if err := p.weigh(&p.stages[i]); err != nil {
			return err
		}
	}
	p.prepareGPU(opts)
	return nil
}

// Query returns the query as it was given.
func (p *Plan) Query() query.Node { return p.query }

// DocFreqs returns the number of documents of each term of the query, over all segments.
// It is the plan's own.
func (p *Plan) DocFreqs() []uint64 { return p.docFreqs }

// Notes tell what of the query was left out, and why.
func (p *Plan) Notes() []string { return p.notes }

// compile makes the stages.
func (p *Plan) compile(c *compiler, opts Options) error {
	modes := [...]Mode{ModeAnd, ModeOr}
	asked := modes[:]
	switch opts.Mode {
	case ModeAnd:
		asked = modes[:1]
	case ModeOr:
		asked = modes[1:]
	case ModeAndOr:
	case ModeSaat:
		if opts.Traversal != "" {
			return fmt.Errorf("mode saat has no traversal %q, but accumulators: %w", opts.Traversal, base.ErrBadInput)
		}
		asked = modes[1:]
	default:
		return fmt.Errorf("mode %v: %w", opts.Mode, base.ErrBadInput)
	}
	for _, mode := range asked {
		root, err := c.compile(p.query, mode, 1)
		if err != nil {
			return err
		}
		p.stages = append(p.stages, stage{mode: mode, root: root})
	}
	if len(p.stages) == 2 && sameNode(p.stages[0].root, p.stages[1].root) {
		p.stages = p.stages[:1] // the second could find nothing more
	}
	for i := range p.stages {
		if err := p.stages[i].flatten(opts.Traversal, &p.memory); err != nil {
			return err
		}
	}
	return nil
}

// flatten finds out whether the stage is flat, and the traversal that it has to
// take then: the named one if it is of the stage's kind, which need not be that of
// the mode that was asked for ("+a +b" is an And in every mode). A name of no kind
// is an error.
func (st *stage) flatten(name string, m *planMemory) error {
	flat, ok := flatten(st.root, m)
	kind, other := traverse.Or, traverse.And
	if flat.conjunctive && len(flat.leaves) > 1 {
		kind, other = other, kind
	}
	if name != "" {
		named, is := traverse.Named(kind, name)
		if !is {
			var isOther bool
			if named, isOther = traverse.Named(other, name); !isOther {
				_, err := traverse.Lookup(kind, name)
				_, errOther := traverse.Lookup(other, name)
				return errors.Join(err, errOther)
			}
		}
		// A single term is the same in both kinds.
		if is || len(flat.leaves) == 1 {
			st.named = named
		}
	}
	if ok {
		st.flat, st.flatQuery, st.kind = true, flat, kind
	}
	return nil
}

// find looks up the lists of all terms in all segments.
func (p *Plan) find() error {
	segments := p.searcher.snapshot.Segments
	phrases := p.phraseTerms()
	p.docFreqs = append(p.docFreqs[:0], make([]uint64, len(p.terms))...)
	p.lists = slices.Grow(p.lists[:0], len(segments)*len(p.terms))[:len(segments)*len(p.terms)]
	for i := range segments {
		for t, term := range p.terms {
			var parts segment.Parts
			if phrases != nil && phrases[t] {
				parts |= segment.Positions
			}
			if p.searcher.ownBounds {
				parts |= segment.Frontiers
			}
			l := p.list(i, t)
			found, err := segments[i].FindParts(term.field, term.bytes, parts, l)
			if err != nil {
				return err
			}
			if !found {
				*l = postings.List{}
			}
			p.docFreqs[t] += uint64(l.DocFreq)
		}
	}
	return nil
}

func (p *Plan) list(segment, term int) *postings.List {
	return &p.lists[segment*len(p.terms)+term]
}

// phraseTerms tells of each term whether a phrase has it; nil if none does.
func (p *Plan) phraseTerms() []bool {
	var phrases []bool
	for i := range p.stages {
		walkLeaves(p.stages[i].root, false, func(l *leaf, _ bool) {
			if !l.isPhrase() {
				return
			}
			if phrases == nil {
				phrases = make([]bool, len(p.terms))
			}
			for _, t := range l.terms {
				phrases[t] = true
			}
		})
	}
	return phrases
}

// weigh makes the legs of a flat stage, and chooses the traversals of the segments.
func (p *Plan) weigh(st *stage) error {
	if !st.flat {
		return nil
	}
	segments := len(p.searcher.snapshot.Segments)
	st.legs = p.legs.take(segments * len(st.leaves))
	st.traversals = p.memory.traversals.take(segments)
	st.main = st.named
	if st.main == nil {
		st.main = traverse.Default(st.kind)
	}
	most := uint64(0)
	for i := range segments {
		legs := st.segmentLegs(i)
		numPostings := uint64(0)
		for j, n := range st.leaves {
			l := n.(*leaf)
			if err := p.leg(&legs[j], i, l.terms[0], p.scorer(l)); err != nil {
				return err
			}
			numPostings += uint64(legs[j].List.DocFreq)
		}
		if st.traversals[i] = st.named; st.named == nil {
			st.traversals[i] = traverse.Choose(st.kind, legs, p.k)
		}
		if numPostings > most {
			most, st.main = numPostings, st.traversals[i]
		}
	}
	return nil
}

// segmentLegs are the legs for a segment.
func (st *stage) segmentLegs(segment int) []traverse.Leg {
	n := len(st.leaves)
	return st.legs[segment*n : (segment+1)*n]
}

// maxWeight bounds idf*boost of a leaf, so that no contribution passes 32 bits
// (score.Term). A term stays below it with any boost that a query may have; a
// phrase of several rare terms would pass it if its boost were near the largest.
const maxWeight = 60000

// idf of a term, and of a phrase the sum over its terms.
func (p *Plan) idf(l *leaf) float64 {
	sum := 0.0
	for _, t := range l.terms {
		sum += score.IDF(p.searcher.snapshot.Fields[l.field].NumDocs, p.docFreqs[t])
	}
	return sum
}

func (p *Plan) scorer(l *leaf) score.Term {
	if o := &p.searcher.snapshot.Options; o.Weighted() {
		return score.NewLinearTerm(l.boost, o.WeightScale)
	}
	weight := min(p.idf(l)*l.boost, maxWeight)
	return p.searcher.bm25.NewTerm(weight, 1, p.searcher.snapshot.Fields[l.field].AvgLen())
}

// leg fills leg with the list of a term in a segment, and the bounds of what
// scorer makes of it.
func (p *Plan) leg(leg *traverse.Leg, segment, term int, scorer score.Term) error {
	s := p.searcher
	view := &s.snapshot.Segments[segment]
	field := p.terms[term].field
	l := p.list(segment, term)
	*leg = traverse.Leg{List: l, Term: scorer}
	if l.DocFreq == 0 {
		return nil
	}
	leg.Lengths = view.Lengths(field)
	// No two lists of a segment share their frontiers, which are never empty.
	leg.Derived = view.Derived.List(l.FrontierOffset)
	avgNow := s.snapshot.Fields[field].AvgLen()
	bound := l.Max
	if s.ownBounds {
		var err error
		leg.Bounds, bound, err = l.FrontierBounds(nil, score.Saturation{BM25: s.bm25, AvgLen: avgNow})
		if err != nil {
			return fmt.Errorf("segment %s: term %q: %w", view.Name, p.terms[term].bytes, err)
		}
		leg.Scale = score.NewScale(scorer, avgNow, avgNow)
	} else {
		leg.Scale = score.NewScale(scorer, view.Meta().Fields[field].AvgLen, avgNow)
	}
	leg.MaxScore = leg.Scale.Upper(bound)
	if scorer.Linear && leg.MaxScore > maxWeight<<base.ScoreFractionBits {
		return fmt.Errorf("term %q: the weight of the query times the greatest of the documents, %.0f, passes %d: use smaller weights: %w",
			p.terms[term].bytes, leg.MaxScore.Float64(), maxWeight, base.ErrBadInput)
	}
	return nil
}

// walkLeaves calls visit with each leaf of n, and whether it is under a minus.
func walkLeaves(n node, excluded bool, visit func(l *leaf, excluded bool)) {
	switch n := n.(type) {
	case *leaf:
		visit(n, excluded)
	case *group:
		for _, child := range n.required {
			walkLeaves(child, excluded, visit)
		}
		for _, child := range n.optional {
			walkLeaves(child, excluded, visit)
		}
		for _, child := range n.excluded {
			walkLeaves(child, true, visit)
		}
	}
}

// sameNode reports whether a and b are the same tree.
func sameNode(a, b node) bool {
	switch a := a.(type) {
	case *leaf:
		b, ok := b.(*leaf)
		return ok && a.same(b) && a.boost == b.boost
	case *group:
		b, ok := b.(*group)
		return ok && slices.EqualFunc(a.required, b.required, sameNode) &&
			slices.EqualFunc(a.optional, b.optional, sameNode) && slices.EqualFunc(a.excluded, b.excluded, sameNode)
	}
	return a == nil && b == nil
}
