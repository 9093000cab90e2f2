package imagesearch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// partsQuery has excluded terms, required ones, or alternatives of which one is required.
func partsQuery(rng *rand.Rand, c *collection) testQuery {
	numTerms := 1 + rng.IntN(min(6, len(c.Lists)))
	if rng.IntN(6) == 0 {
		numTerms = min(len(c.Lists), MaxPartTerms)
	}
	lists := pick(rng, numTerms, len(c.Lists))
	mode := Mode(rng.IntN(4) / 3) // mostly Or
	boosts := map[int]float64{}
	for _, l := range lists {
		boosts[l] = 0.1 + 3*rng.Float64()
	}
	q := c.query(mode, []int{0, 1, 10, 10, 100, 1000}[rng.IntN(6)], boosts, c.Saturation.AvgLen, lists...)
	q.gpu.Count = q.gpu.K == 0 || rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		q.filter(c, c.RandomFilter(rng))
	}
	for n := rng.IntN(4); n > 0 && mode == Or; n-- {
		clause := uint32(1) << rng.IntN(numTerms)
		for rng.IntN(2) == 0 {
			clause |= 1 << rng.IntN(numTerms)
		}
		q.require(c, lists, clause)
	}
	if n := rng.IntN(4); n > 0 || !q.gpu.some() {
		q.exclude(c, pick(rng, min(max(n, 1), len(c.Lists)), len(c.Lists))...)
	}
	return q
}

// Batches and single queries with parts equal the CPU's exhaustive traversal over the documents that the parts leave,
// beside queries without parts.
func TestParts(t *testing.T) {
	for _, tt := range []struct {
		numDocs, lists, queries int
		linear                  bool
		deleted                 float64
	}{
		{1, 2, 4, false, 0},
		{33, 4, 8, false, 0},
		{4097, 10, 14, false, 0.2},
		{20011, 20, 16, false, 0},
		{9000, 40, 8, true, 0.1},
		{131101, 10, 10, false, 0}, // several blocks a query
	} {
		t.Run(fmt.Sprintf("docs=%d", tt.numDocs), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(31, uint64(tt.numDocs)))
			c := randomCollection(t, rng, tt.numDocs, tt.lists, tt.linear, 40)
			if tt.deleted > 0 {
				c.DeleteSome(rng, tt.deleted)
			}
			c.toDevice()
			b, s := searchers(t, c)
			queries := randomQueries(t, rng, c, 2)
			for range tt.queries {
				queries = append(queries, partsQuery(rng, c))
			}
			runBatch(t, "batch", c, b, queries)
			for i := range queries {
				q := &queries[i]
				must(t, s.Search(c.Stream, c.segment, &q.gpu))
				what := fmt.Sprintf("single %d (mode %d, k %d, %d terms, required %b, clauses %b, %d excluded, count %t)",
					i, q.gpu.Mode, q.gpu.K, len(q.gpu.Terms), q.gpu.Required, q.gpu.Clauses, len(q.gpu.Excluded), q.gpu.Count)
				q.compare(t, what, c, s.AppendHits(nil), s.Count())
			}
			must(t, c.Stream.Synchronize())
		})
	}
}

func TestPartsRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	c := randomCollection(t, rng, 300, 40, false, 9)
	c.toDevice()
	b, _ := searchers(t, c)
	all := pick(rng, 40, 40)
	for _, tt := range []struct {
		name  string
		terms int
		edit  func(q *Query)
		want  error
	}{
		{"in And", 2, func(q *Query) { q.Mode, q.Required = And, 1 }, base.ErrBadInput},
		{"no such term", 2, func(q *Query) { q.Required = 4 }, base.ErrBadInput},
		{"no such term in a clause", 2, func(q *Query) { q.Clauses = []uint32{3, 7} }, base.ErrBadInput},
		{"empty clause", 2, func(q *Query) { q.Clauses = []uint32{3, 0} }, base.ErrBadInput},
		{"many terms", 33, func(q *Query) { q.Required = 1 }, ErrUnsuited},
		{"many clauses", 2, func(q *Query) {
			for range MaxClauses + 1 {
				q.Clauses = append(q.Clauses, 3)
			}
		}, ErrUnsuited},
		{"many excluded terms", 2, func(q *Query) { q.Excluded = make([]Term, MaxTerms) }, ErrUnsuited},
		{"excluded term of another segment", 2, func(q *Query) { q.Excluded = []Term{{}} }, base.ErrBadInput},
		{"wide", 2, func(q *Query) {
			q.Excluded = q.Terms[1:2]
			term := c.Saturation.NewTerm(22, 2900, c.Saturation.AvgLen)
			for i := range q.Terms {
				q.Terms[i].Term, q.Terms[i].Scale = term, score.NewScale(term, 0, 0)
			}
		}, ErrUnsuited},
	} {
		q := c.query(Or, 10, nil, c.Saturation.AvgLen, all[:tt.terms]...)
		tt.edit(&q.gpu)
		b.Reset(c.segment)
		if _, err := b.Add(&q.gpu); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	many := c.query(Or, 10, nil, c.Saturation.AvgLen, all...)
	many.exclude(c, all[:2]...)
	runBatch(t, "exclusions beside more terms than bits", c, b, []testQuery{many})
}

// The greatest K, of one block and of several.
func TestGreatestK(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	c := randomCollection(t, rng, 12_000, 2, false, 9)
	c.toDevice()
	b, s := searchers(t, c)
	queries := []testQuery{c.query(Or, MaxK, nil, c.Saturation.AvgLen, 0, 1), c.query(Or, 2500, nil, c.Saturation.AvgLen, 1), c.query(And, MaxK, nil, c.Saturation.AvgLen, 0, 1)}
	runBatch(t, "batch", c, b, queries)
	must(t, s.Search(c.Stream, c.segment, &queries[0].gpu))
	queries[0].compare(t, "single", c, s.AppendHits(nil), 0)
	must(t, c.Stream.Synchronize())
}
