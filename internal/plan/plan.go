package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/query"
)

// Options configure a plan.
type Options struct {
	Mode Mode
	// K is the number of requested hits, >= 0.
	K int
	// Traversal names the algorithm for flat queries; empty: traverse.Choose selects one for
	// each segment.
	Traversal string
	// Accumulators names the saat.Variant of ModeSaat ("": the default), and Budget bounds its
	// work.
	Accumulators string
	Budget       saat.Budget
	// Count requests the exact number of matches and reads every posting.
	Count bool
	// MatchesOnly makes a plan for Matches and CountMatches only, in less time. It has no effect in ModeSaat.
	MatchesOnly bool
	// Stop ends planning in ModeSaat, which can take long after a change of the index; nil: nothing does.
	Stop traverse.Interrupt
}

// Plan is a query with its lists and weights for a snapshot's segments, safe for concurrent
// runs while the snapshot is held.
type Plan struct {
	planner *Planner
	query   query.Node
	mode    Mode
	k       int
	counts  bool // Options.Count
	matches bool // Options.MatchesOnly
	notes   []string
	words   words
	stages  []Stage     // one, or up to two in ModeAndOr
	saat    ImpactQuery // in ModeSaat, instead of lists and legs
	ties    topk.Ties   // set by Bind

	memory planMemory
	legs   arena[traverse.Leg]
}

// Stage is one attempt at an answer; ModeAndOr has up to two.
type Stage struct {
	mode Mode // ModeOr or ModeAnd; ModeSaat has ModeOr
	root node // nil: matches nothing
	// For a flat root; legs by segment, then leaf.
	flat bool
	flatQuery
	kind       traverse.Mode
	named      traverse.Traversal // for all segments; nil: chosen per segment
	traversals []traverse.Traversal
	main       traverse.Traversal // in the segment with the most postings
	short      bool               // runShort runs it
	nothing    bool               // matchesNothing, set by Bind
	legs       []traverse.Leg
	order      []int // set by SortTerms
	words      []Word
	whyNoWords string
	common     []int // terms, of a stage with a phrase (common.go)
}

const treeTraversal = "tree"

// Traversal returns the name of the traversal in the segment with the most postings.
func (st *Stage) Traversal() string {
	if st.flat {
		return st.main.Name()
	}
	return treeTraversal
}

// Prepare plans a query. Errors wrap base.ErrBadInput, or base.ErrCorrupt if the dictionary or a
// list is damaged.
func (s *Planner) Prepare(sc *Scratch, q query.Node, opts Options) (*Plan, error) {
	p := new(Plan)
	if err := s.PrepareInto(p, sc, q, opts); err != nil {
		return nil, err
	}
	return p, nil
}

// PrepareInto is Prepare with the memory of an unused plan of any Planner. For a flat query no
// larger than earlier ones it does not allocate. After an error p may only be prepared again.
func (s *Planner) PrepareInto(p *Plan, sc *Scratch, q query.Node, opts Options) error {
	if err := s.Compile(p, sc, q, opts); err != nil {
		return err
	}
	return p.Bind(opts)
}

// Compile is the first half of PrepareInto and makes the stages' trees. The plan then has a key
// (AppendKey) but cannot run before Bind.
func (s *Planner) Compile(p *Plan, sc *Scratch, q query.Node, opts Options) error {
	if opts.K < 0 {
		return fmt.Errorf("k is %d: %w", opts.K, base.ErrBadInput)
	}
	p.planner, p.query, p.mode, p.k, p.counts = s, q, opts.Mode, opts.K, opts.Count
	p.matches = opts.MatchesOnly && opts.Mode != ModeSaat
	p.words.planner = s
	p.stages = p.stages[:0]
	p.memory.reset()
	p.legs.reset()
	c := &sc.compiler
	c.fields, c.positions, c.weighted = s.fields, s.snapshot.Options.Positions, s.snapshot.Options.Weighted()
	c.analyzers.setScheme(s.scheme)
	c.memory, c.terms, c.notes, c.snapshot = &p.memory, p.words.terms[:0], nil, s.snapshot
	err := compilePlan(p, c, opts)
	p.words.terms, p.notes = c.terms, c.notes
	c.memory, c.terms, c.notes = nil, nil, nil // they belong to the plan
	c.snapshot, c.similar, c.now = nil, nil, time.Time{}
	return err
}

// Bind is the second half of PrepareInto: it finds and weights the lists.
func (p *Plan) Bind(opts Options) (err error) {
	if p.ties, err = p.planner.snapshot.Ties(); err != nil {
		return err
	}
	if opts.Mode == ModeSaat {
		return p.saat.prepare(p, opts)
	}
	plain := arePlain(p.stages)
	var phrases []bool
	if !plain {
		phrases = phraseTerms(p.stages, len(p.words.terms))
	}
	if err := p.words.find(phrases, unusedTerms(p)); err != nil {
		return err
	}
	nothing := true
	for i := range p.stages {
		p.stages[i].nothing = p.stages[i].matchesNothing(&p.words)
		nothing = nothing && p.stages[i].nothing
	}
	if !nothing {
		p.words.prefetch()
	}
	for i := range p.stages {
		if !plain {
			if err := p.words.countJoined(p.stages[i].root); err != nil {
				return err
			}
		}
		if p.matches {
			continue
		}
		if err := p.stages[i].makeLegs(p); err != nil {
			return err
		}
	}
	return nil
}

// arePlain reports whether stages have nothing but words.
func arePlain(stages []Stage) bool {
	for i := range stages {
		st := &stages[i]
		if !st.flat || len(st.excluded) > 0 || len(st.filters) > 0 {
			return false
		}
		for _, n := range st.leaves {
			if n.(*leaf).blend != nil {
				return false
			}
		}
	}
	return true
}

// matchesNothing reports whether a flat conjunction has a term without documents.
func (st *Stage) matchesNothing(ws *words) bool {
	if !st.flat || st.kind != traverse.And {
		return false
	}
	for _, n := range st.leaves {
		if ws.docFreqs[n.(*leaf).terms[0]] == 0 {
			return true
		}
	}
	return false
}

// unusedTerms reports the terms that are in no stage, in which counted left them out; nil: none.
func unusedTerms(p *Plan) []bool {
	if !p.matches || len(p.words.terms) < 2 {
		return nil
	}
	ws := &p.words
	ws.unused = slices.Grow(ws.unused[:0], len(ws.terms))[:len(ws.terms)]
	for i := range ws.unused {
		ws.unused[i] = true
	}
	for i := range p.stages {
		walkLeaves(p.stages[i].root, false, func(l *leaf, _ bool) {
			for _, t := range l.terms {
				ws.unused[t] = false
			}
		})
	}
	return ws.unused
}

// Query returns the query tree as given.
func (p *Plan) Query() query.Node { return p.query }

// DocFreqs returns each term's number of live documents over all segments. The plan owns the slice.
func (p *Plan) DocFreqs() []uint64 { return p.words.docFreqs }

// Notes lists the omitted parts of the query, with the reasons.
func (p *Plan) Notes() []string { return p.notes }

func compilePlan(p *Plan, c *compiler, opts Options) error {
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
			return fmt.Errorf("mode saat has no traversals, only accumulators; traversal %q: %w", opts.Traversal, base.ErrBadInput)
		}
		asked = modes[1:]
	default:
		return fmt.Errorf("mode %v: %w", opts.Mode, base.ErrBadInput)
	}
	for _, mode := range asked {
		root, err := c.whole(p.query, mode)
		if err != nil {
			return err
		}
		if p.matches {
			root = counted(root)
		}
		p.stages = append(p.stages, Stage{})
		st := &p.stages[len(p.stages)-1] // a composite literal would be built elsewhere and copied
		st.mode, st.root = mode, root
	}
	if len(p.stages) == 2 && sameNode(p.stages[0].root, p.stages[1].root) {
		p.stages = p.stages[:1] // the second stage cannot find more
	}
	if p.matches {
		return nil
	}
	for i := range p.stages {
		if err := p.stages[i].flatten(opts.Traversal, &p.memory); err != nil {
			return err
		}
	}
	return nil
}

// flatten determines whether the stage is flat, its kind, which may differ from the mode ("+a
// +b" is an And in every mode), and the named traversal if it is of that kind. A name of no
// kind is an error.
func (st *Stage) flatten(name string, m *planMemory) error {
	ok := false
	st.flatQuery, ok = flatten(st.root, m)
	flat := &st.flatQuery
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
		// A single term is equal in both kinds.
		if is || len(flat.leaves) == 1 {
			st.named = named
		}
	}
	if st.flat, st.kind = ok, kind; !ok {
		st.flatQuery = flatQuery{}
	}
	return nil
}

func (st *Stage) makeLegs(p *Plan) error {
	if !st.flat {
		return nil
	}
	segments := len(p.planner.snapshot.Segments)
	st.legs = p.legs.take(segments * len(st.leaves))
	st.traversals = p.memory.traversals.take(segments)
	st.main = st.named
	if st.main == nil {
		st.main = traverse.Default(st.kind)
	}
	most, all := uint64(0), uint64(0)
	for i := range segments {
		legs := st.Legs(i)
		numPostings := uint64(0)
		for j, n := range st.leaves {
			l := n.(*leaf)
			if err := p.words.leg(&legs[j], i, l.terms[0], p.words.scorer(l)); err != nil {
				return err
			}
			numPostings += uint64(legs[j].List.DocFreq)
		}
		if st.traversals[i] = st.named; st.named == nil {
			st.traversals[i] = traverse.Choose(st.kind, legs, p.k, st.isMasked() || p.planner.snapshot.Segments[i].Live.Words() != nil)
		}
		all += numPostings
		if numPostings > most {
			most, st.main = numPostings, st.traversals[i]
		}
	}
	st.short = p.k > 0 && !p.counts && st.isShort(p.planner.crew, all)
	return nil
}

// Legs returns a flat stage's legs in a segment, in query order; none in ModeSaat.
func (st *Stage) Legs(segment int) []traverse.Leg {
	n := len(st.leaves)
	return st.legs[segment*n : (segment+1)*n]
}

// phraseTerms reports for each of n terms whether a phrase has it; nil: none.
func phraseTerms(stages []Stage, n int) []bool {
	var phrases []bool
	for i := range stages {
		walkLeaves(stages[i].root, false, func(l *leaf, _ bool) {
			if !l.isPhrase() {
				return
			}
			if phrases == nil {
				phrases = make([]bool, n)
			}
			for _, t := range l.terms {
				phrases[t] = true
			}
		})
	}
	return phrases
}

// walkLeaves visits all leaves; excluded: they are no parts of the query's documents or scores.
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
	case *constant:
		walkLeaves(n.child, excluded || n.score == 0, visit)
	case *disMax:
		for _, child := range n.children {
			walkLeaves(child, excluded, visit)
		}
	case *functionScore:
		walkLeaves(n.child, excluded, visit)
		for _, filter := range n.filters() {
			walkLeaves(filter, true, visit)
		}
	case *combined:
		for _, l := range n.leaves {
			visit(l, excluded)
		}
	case *boosting:
		walkLeaves(n.positive, excluded, visit)
		walkLeaves(n.negative, true, visit)
	}
}

func sameNode(a, b node) bool {
	switch a := a.(type) {
	case *leaf:
		b, ok := b.(*leaf)
		return ok && a.same(b) && a.boost == b.boost
	case *group:
		b, ok := b.(*group)
		return ok && slices.EqualFunc(a.required, b.required, sameNode) &&
			slices.EqualFunc(a.optional, b.optional, sameNode) && slices.EqualFunc(a.excluded, b.excluded, sameNode) &&
			a.atLeast == b.atLeast
	case *functionScore:
		b, ok := b.(*functionScore)
		return ok && a.same(b)
	case *combined:
		b, ok := b.(*combined)
		return ok && a.same(b) && a.boost == b.boost
	case *constant:
		b, ok := b.(*constant)
		return ok && a.score == b.score && sameNode(a.child, b.child)
	case *set:
		b, ok := b.(*set)
		return ok && a.key == b.key
	case *disMax:
		b, ok := b.(*disMax)
		return ok && a.tie == b.tie && slices.EqualFunc(a.children, b.children, sameNode)
	case *boosting:
		b, ok := b.(*boosting)
		return ok && a.factor == b.factor && sameNode(a.positive, b.positive) && sameNode(a.negative, b.negative)
	}
	return a == nil && b == nil
}
