package plan

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/saat"
)

// ImpactQuery is a plan of ModeSaat: a bag of words over impact-ordered lists.
type ImpactQuery struct {
	saat.Query
	variant saat.Variant
	leaves  []node
	terms   []int // in the plan, by term of Query
	// unitBits sets the unit of term weights: 2^-unitBits of a boost.
	unitBits int
}

// Scale converts scores from the query's unit.
func (q *ImpactQuery) Scale(hits []base.Hit) {
	shift := q.shift()
	for i := range hits {
		hits[i].Score <<= shift
	}
}

// Impacts are integers, so a weight unit is a power of 2 in units of base.Score.
func (q *ImpactQuery) shift() int { return base.ScoreFractionBits - q.unitBits }

// boostBits is the precision of fractional boosts.
const boostBits = 6

// prepare's error wraps base.ErrBadInput if the query is not a bag of words of the default
// field, or index.ErrNoImpacts if the snapshot has no impact-ordered lists. Computing
// lists can fail as reading posting lists can.
func (q *ImpactQuery) prepare(p *Plan, opts Options) (err error) {
	root, ws := p.stages[0].root, &p.words
	if q.variant, err = saat.ParseVariant(opts.Accumulators); err != nil {
		return err
	}
	x, err := p.planner.snapshot.ImpactsUntil(opts.Stop)
	if err != nil {
		return err
	}
	q.Query = saat.Query{Index: x, Terms: q.Terms[:0], K: SelectK(p), Budget: opts.Budget}
	q.terms, q.leaves, q.unitBits = q.terms[:0], nil, 0
	if p.planner.ownBounds {
		m := x.Meta()
		p.notes = append(p.notes, fmt.Sprintf("the stored impacts keep their parameters: %s with k1=%g and b=%g", m.Ranking, m.K1, m.B))
	}
	if x.IsComputed() {
		p.notes = append(p.notes, "the index changed since its impact-ordered lists were stored: the lists of this query are computed from the posting lists (griffin impacts or a merge stores them again)")
	}
	ws.docFreqs = append(ws.docFreqs[:0], make([]uint64, len(ws.terms))...)
	if root == nil {
		return nil
	}
	flat, ok := flatten(root, &p.memory)
	if !ok && !matchesNothing(root) || len(flat.excluded) > 0 || len(flat.filters) > 0 || flat.conjunctive {
		return fmt.Errorf("mode saat supports only bags of words, without phrases, + or -: use mode or, without the engine saat, for %s: %w",
			p.query, base.ErrBadInput)
	}
	q.leaves = flat.leaves
	for _, n := range q.leaves {
		l := n.(*leaf)
		if l.field != 0 {
			return fmt.Errorf("mode saat searches the default field only, not field %q: use mode or: %w", p.planner.fields[l.field], base.ErrBadInput)
		}
		if l.boost != math.Trunc(l.boost) {
			q.unitBits = boostBits
		}
	}
	for _, n := range q.leaves {
		l := n.(*leaf)
		t := saat.Term{Weight: uint32(max(math.Round(math.Ldexp(min(l.boost, math.MaxUint16), q.unitBits)), 1))}
		found, err := x.Find(ws.terms[l.terms[0]].bytes, &t.List)
		if err != nil {
			return fmt.Errorf("term %q: %w", ws.terms[l.terms[0]].bytes, err)
		}
		if found {
			q.Terms = append(q.Terms, t)
			q.terms = append(q.terms, l.terms[0])
			ws.docFreqs[l.terms[0]] = uint64(t.List.DocFreq)
		}
	}
	return nil
}

func matchesNothing(n node) bool {
	g, ok := n.(*group)
	return ok && g.matchesNothing()
}

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

// search asks for more hits while hits of equal score may be missing.
func (q *ImpactQuery) search(ctx context.Context, p *Plan, e *saat.Engine, dst []base.Hit) (saat.Result, error) {
	r, err := e.Search(ctx, &q.Query, dst)
	if err != nil || len(p.ties) == 0 || p.k == 0 {
		return r, err
	}
	for asked := q.Query; ; asked.K *= 4 {
		var settled bool
		if r.Hits, settled = p.ties.Settle(r.Hits, p.k, asked.K); settled {
			return r, nil
		}
		more := asked // the query of a plan is shared
		more.K *= 4
		if r, err = e.Search(ctx, &more, r.Hits[:0]); err != nil {
			return r, err
		}
	}
}

func (q *ImpactQuery) run(ctx context.Context, p *Plan, sc *Scratch, dst []base.Hit, a *Answer, trace *Trace) error {
	began := time.Now()
	e, err := sc.engine(q.variant)
	if err != nil {
		return err
	}
	r, err := q.search(ctx, p, e, dst)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("query %s: %w", p.query, err)
	}
	q.Scale(r.Hits)
	a.Hits, a.Mode, a.Traversal, a.Missed = r.Hits, ModeSaat, e.Name(), r.Missed<<q.shift()
	work := Work{
		PostingsDecoded: r.Postings, PostingsScored: r.Postings, PostingsLeft: r.PostingsLeft, BlocksDecoded: r.Blocks,
		BytesRead: r.Bytes, BytesMoved: r.Traffic(),
	}
	a.Work.Add(work)
	if p.counts {
		if a.Matches, err = sc.counter.impacts(&q.Query); err != nil {
			return fmt.Errorf("query %s: %w", p.query, err)
		}
	}
	if trace != nil {
		trace.Add(began, Step{
			Name: StepImpacts, Processor: CPUName, Traversal: a.Traversal, Mode: a.Mode, Work: work, Lists: p.StageLists(0),
		})
	}
	return nil
}
