package experiments

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/query"
)

// Hits of a query.
const stagedK = 10

// ding09Modes are the columns of Table 2.
var ding09Modes = []plan.Mode{plan.ModeAnd, plan.ModeOr, plan.ModeAndOr}

// One of ding09FallBack queries has fewer than 10 conjunctive results. The costs of AND+OR in Table
// 2 imply it: (23.85 - 8.71) / 212.72 on the CPU, (9.98 - 7.66) / 29.31 on the GPU.
const ding09FallBack = 14

// ding09Sample is a sample of queries on the collection similar to GOV2.
type ding09Sample struct {
	c        *lab.Collection
	queries  []lab.Query
	fallBack int              // queries with fewer than stagedK conjunctive results
	matches  map[string]int64 // conjunctive results by ID
	postings []int64          // of each query
	shortest int64            // postings of the shortest lists
	// By mode, the hits of the default engine on the CPU, without times.
	want []*answers
}

// newDing09Sample returns the sample of Tables 2 and 3. It has queries that were drawn for the
// collection, whose terms occur together, and others of the same log.
func newDing09Sample(ctx context.Context, env *lab.Env) (*ding09Sample, error) {
	c, drawn, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	return lab.Shared(env, "ding09 sample of "+c.Name, func() (*ding09Sample, error) {
		ding09KeepLists(c) // until the end, for several experiments
		log, err := env.Log(lab.TB05)
		if err != nil {
			return nil, err
		}
		others, err := c.Queries(log, 0)
		if err != nil {
			return nil, err
		}
		s := &ding09Sample{c: c, matches: map[string]int64{}}
		if err := s.draw(ctx, env, drawn, others, lab.Pick(env, 300, 28)); err != nil {
			return nil, err
		}
		return s, s.answer(ctx, env, len(ding09Modes))
	})
}

// draw takes n queries. Those with too few conjunctive results come from all queries of the log.
func (s *ding09Sample) draw(ctx context.Context, env *lab.Env, drawn, others []lab.Query, n int) error {
	least := n / ding09FallBack
	others = slices.DeleteFunc(slices.Clone(others), func(q lab.Query) bool {
		return len(q.Terms) < 2 || slices.ContainsFunc(drawn, func(d lab.Query) bool { return d.ID == q.ID })
	})
	rng := rand.New(rand.NewPCG(env.Seed, 14))
	rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	scratch, err := dispatch.NewScratch(s.c.Snapshot.Options.Analyzer)
	if err != nil {
		return err
	}
	var many, few []lab.Query
	for i, q := range slices.Concat(drawn, others) {
		if i >= len(drawn) && len(few) == least || len(few) == least && len(many) == n-least {
			break
		}
		if i%64 == 0 {
			env.Progress("draw queries", len(many)+len(few), n)
		}
		p, err := s.c.Searcher.Prepare(scratch, &query.Words{Text: q.Text, Boost: 1}, dispatch.Options{Mode: plan.ModeAnd, K: stagedK, Count: true, CPU: true})
		if err != nil {
			return fmt.Errorf("query %s: %w", q.ID, err)
		}
		a, err := p.Run(ctx, scratch, nil)
		if err != nil {
			return fmt.Errorf("query %s: %w", q.ID, err)
		}
		s.matches[q.ID] = a.Matches
		switch {
		case len(a.Hits) == stagedK && len(many) < n-least:
			many = append(many, q)
		case len(a.Hits) < stagedK && len(few) < least && !slices.ContainsFunc(few, func(f lab.Query) bool { return f.Text == q.Text }):
			few = append(few, q)
		}
	}
	s.fallBack = len(few)
	for i, q := range many {
		s.queries = append(s.queries, q)
		if i%(ding09FallBack-1) == ding09FallBack-2 && len(few) > 0 {
			s.queries, few = append(s.queries, few[0]), few[1:]
		}
	}
	s.queries = append(s.queries, few...)
	return nil
}

// answer sets the hits that all engines must find, in the first modes of ding09Modes.
func (s *ding09Sample) answer(ctx context.Context, env *lab.Env, modes int) error {
	own, err := openDing09Griffin(ctx, env, s.c, s.queries, true)
	if err != nil {
		return err
	}
	for m, mode := range ding09Modes[:modes] {
		a := &answers{}
		for i := range s.queries {
			hits, err := own.search(ctx, m, i)
			if err != nil {
				return fmt.Errorf("%v: query %s: %w", mode, s.queries[i].ID, err)
			}
			a.found, a.hits = append(a.found, slices.Clone(hits)), append(a.hits, len(hits))
		}
		s.want = append(s.want, a)
	}
	for i := range s.queries {
		sum, least := int64(0), int64(math.MaxInt64)
		for _, t := range s.queries[i].Terms {
			n, err := s.c.DocFreq(t)
			if err != nil {
				return err
			}
			sum, least = sum+int64(n), min(least, int64(n))
		}
		s.shortest += least
		s.postings = append(s.postings, sum)
	}
	return nil
}

// note describes the sample.
func (s *ding09Sample) note() string {
	sum, matches := int64(0), int64(0)
	for i, n := range s.postings {
		sum += n
		matches += s.matches[s.queries[i].ID]
	}
	return fmt.Sprintf("Collection %s. %d queries with %.2f million postings each (the paper: 3.74). %d of them, %.1f %%, have fewer than 10 conjunctive results "+
		"(the paper's times imply 1 in 14, 7.1 %%); for these, AND+OR runs the OR. AND matches %.1f %% of the postings of the shortest lists (queries of one word: all), %.0f documents a query.",
		s.c.Describe(), len(s.queries), float64(sum)/float64(len(s.queries))/1e6, s.fallBack, 100*float64(s.fallBack)/float64(len(s.queries)), 100*float64(matches)/float64(max(s.shortest, 1)), float64(matches)/float64(len(s.queries)))
}

// ding09KeepLists gives a collection a cache of derived structures in which the lists of the
// engine ding09 fit, in all its codes, so that no list is coded in a timed region. restore
// brings the former cache back, for plans that are made later.
func ding09KeepLists(c *lab.Collection) (restore func()) {
	const limit = 48 << 30
	view := &c.Snapshot.Segments[0]
	former, roomy := view.Derived, derived.NewCache(limit).NewSegment()
	view.Derived = roomy
	return func() {
		view.Derived = former
		roomy.Close()
	}
}
