package exec

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/saat"
)

// impactQuery is a plan of ModeSaat: a bag of words over impact-ordered lists.
type impactQuery struct {
	variant saat.Variant
	query   saat.Query
	leaves  []node
	terms   []int // of the plan, by term of query
	// unitBits says in which units the terms' weights are: 2^-unitBits of a boost.
	unitBits int
}

// boostBits is the precision of boosts that are not whole numbers.
const boostBits = 6

// prepareSaat plans the query for ModeSaat. The error wraps base.ErrBadInput if it
// is not a bag of words of the default field, index.ErrNoImpacts if the snapshot
// has no impact-ordered lists.
func (p *Plan) prepareSaat(root node, opts Options) (err error) {
	s := &p.saat
	if s.variant, err = saat.ParseVariant(opts.Accumulators); err != nil {
		return err
	}
	x, err := p.searcher.snapshot.Impacts()
	if err != nil {
		return err
	}
	s.query = saat.Query{Index: x, Terms: s.query.Terms[:0], K: p.k, Budget: opts.Budget}
	s.terms, s.leaves, s.unitBits = s.terms[:0], nil, 0
	if p.searcher.ownBounds {
		m := x.Meta()
		p.notes = append(p.notes, fmt.Sprintf("impacts are as they were computed, by %s with k1=%g and b=%g", m.Ranking, m.K1, m.B))
	}
	p.docFreqs = append(p.docFreqs[:0], make([]uint64, len(p.terms))...)
	if root == nil {
		return nil
	}
	flat, ok := flatten(root, &p.memory)
	if !ok && !matchesNothing(root) || len(flat.excluded) > 0 || flat.conjunctive && len(flat.leaves) > 1 {
		return fmt.Errorf("mode saat answers bags of words, of which any will do: no phrases, no words that are required or excluded; take mode or for %s: %w",
			p.query, base.ErrBadInput)
	}
	s.leaves = flat.leaves
	for _, n := range s.leaves {
		l := n.(*leaf)
		if l.field != 0 {
			return fmt.Errorf("mode saat searches the default field only, not field %q: take mode or: %w", p.searcher.fields[l.field], base.ErrBadInput)
		}
		if l.boost != math.Trunc(l.boost) {
			s.unitBits = boostBits
		}
	}
	for _, n := range s.leaves {
		l := n.(*leaf)
		t := saat.Term{Weight: uint32(max(math.Round(math.Ldexp(min(l.boost, math.MaxUint16), s.unitBits)), 1))}
		found, err := x.Find(p.terms[l.terms[0]].bytes, &t.List)
		if err != nil {
			return fmt.Errorf("term %q: %w", p.terms[l.terms[0]].bytes, err)
		}
		if found {
			s.query.Terms = append(s.query.Terms, t)
			s.terms = append(s.terms, l.terms[0])
			p.docFreqs[l.terms[0]] = uint64(t.List.DocFreq)
		}
	}
	return nil
}

// matchesNothing reports whether n is a group without anything to match.
func matchesNothing(n node) bool {
	g, ok := n.(*group)
	return ok && g.matchesNothing()
}

// engine returns the scratch's engine of a variant.
func (sc *Scratch) engine(v saat.Variant) (*saat.Engine, error) {
	if sc.saat != nil && sc.saat.Variant() == v {
		return sc.saat, nil
	}
	e, err := saat.New(v)
	if err != nil {
		return nil, err
	}
	sc.saat = e
	return e, nil
}

// runSaat answers the query by an engine of the scratch.
func (p *Plan) runSaat(ctx context.Context, sc *Scratch, dst []base.Hit, trace *Trace) (Answer, error) {
	s := &p.saat
	began := time.Now()
	e, err := sc.engine(s.variant)
	if err != nil {
		return Answer{}, err
	}
	r, err := e.Search(ctx, &s.query, dst)
	if err != nil {
		if ctx.Err() != nil {
			return Answer{}, ctx.Err()
		}
		return Answer{}, fmt.Errorf("query %s: %w", p.query, err)
	}
	// Impacts are whole numbers, so scores are.
	shift := base.ScoreFractionBits - s.unitBits
	for i := range r.Hits {
		r.Hits[i].Score <<= shift
	}
	a := Answer{
		Hits: r.Hits, Mode: ModeSaat, Traversal: e.Name(), Missed: r.Missed << shift,
		Work: Work{
			PostingsDecoded: r.Postings, PostingsScored: r.Postings, PostingsLeft: r.PostingsLeft, BlocksDecoded: r.Blocks,
			BytesRead: r.Bytes, BytesMoved: r.Traffic(),
		},
	}
	if p.counts {
		if a.Matches, err = p.countImpacts(sc); err != nil {
			return Answer{}, fmt.Errorf("query %s: %w", p.query, err)
		}
	}
	if trace != nil {
		trace.add(began, p.stepSaat(&a))
	}
	return a, nil
}

// stepSaat describes the search of the impact-ordered lists.
func (p *Plan) stepSaat(a *Answer) Step {
	step := Step{Name: stepImpacts, Processor: cpu, Traversal: a.Traversal, Mode: a.Mode, Work: a.Work}
	for i, t := range p.saat.terms {
		l := &p.saat.query.Terms[i].List
		step.Lists = append(step.Lists, ListTrace{Term: string(p.terms[t].bytes), DocFreq: l.DocFreq, Blocks: l.NumSegments()})
	}
	return step
}
