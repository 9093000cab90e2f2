package imagesearch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/score"
)

func searchers(tb testing.TB, c *collection) (*Batch, *Single) {
	tb.Helper()
	b, err := c.kernels.NewBatch(limits)
	must(tb, err)
	tb.Cleanup(func() { must(tb, b.Close()) })
	s, err := c.kernels.NewSingle(0)
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	return b, s
}

// search compares a batch and a Single with the CPU.
func search(tb testing.TB, name string, c *collection, b *Batch, s *Single, q testQuery) {
	tb.Helper()
	runBatch(tb, name, c, b, []testQuery{q})
	must(tb, s.Search(c.Stream, c.segment, &q.gpu))
	q.compare(tb, name+", single", c, s.AppendHits(nil), s.Count())
}

// Contributions are 2^31, 2^31 - 128, and 127 to 129.
func TestScoresAt32Bits(t *testing.T) {
	const first = 3000
	large, other, rest := querytest.List{}, querytest.List{}, querytest.List{}
	for i := range uint32(3) {
		for _, l := range []*querytest.List{&large, &other, &rest} {
			l.DocIDs, l.Freqs = append(l.DocIDs, first+40*i), append(l.Freqs, 1)
		}
		rest.Freqs[i] = 127 + i
	}
	for numDocs, name := range map[int]string{3500: "dense", 1 << 17: "sparse", 1<<12 - 1: "DocIDs of 12 bits", 1 << 12: "DocIDs of 13 bits"} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(32, 32))
			c := newCollection(t, rng, numDocs, true, []querytest.List{large, other, rest})
			c.toDevice()
			b, s := searchers(t, c)
			boosts := map[int]float64{0: 1 << 15, 1: (1<<31 - 128) / 65536.0, 2: 1 / 65536.0}
			for _, mode := range []Mode{Or, And} {
				q := c.query(mode, 3, boosts, 0, 0, 1, 2)
				q.gpu.Count = true
				hits, _ := q.want(t)
				for i, want := range []base.Score{1<<32 + 1, 1 << 32, 1<<32 - 1} {
					if len(hits) != 3 || hits[i].Score != want {
						t.Fatalf("hits %v, want hit %d to have the score %d", hits, i, want)
					}
				}
				if w, err := q.gpu.check(&c.segment); err != nil || !w.wide() {
					t.Errorf("width %+v, error %v", w, err)
				}
				search(t, fmt.Sprintf("mode %d", mode), c, b, s, q)
				for _, theta := range []base.Score{1<<32 - 1, 1 << 32, 1<<32 + 1} {
					q.cpu.NumDocs = c.NumDocs
					q.gpu.Threshold, q.gpu.K = theta, int(1<<32+2-theta)
					search(t, fmt.Sprintf("mode %d, threshold %d", mode, theta), c, b, s, q)
				}
			}
		})
	}
}

// Wide and narrow queries in a batch: document weights up to 255, query weights of about 200.
func TestWideQueries(t *testing.T) {
	for _, tt := range []struct {
		numDocs, lists int
		deleted        float64
	}{
		{9000, 45, 0},
		{9000, 20, 0.2},
		{70001, 36, 0},
		{131101, 10, 0}, // lists of all kinds
	} {
		t.Run(fmt.Sprintf("docs=%d/lists=%d/deleted=%v", tt.numDocs, tt.lists, tt.deleted), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(tt.numDocs), uint64(tt.lists)))
			c := randomCollection(t, rng, tt.numDocs, tt.lists, true, 255)
			if tt.deleted > 0 {
				c.DeleteSome(rng, tt.deleted)
			}
			c.toDevice()
			b, s := searchers(t, c)
			queries := randomQueries(t, rng, c, 12)
			wide := 0
			for i := range queries {
				if i%3 == 0 {
					continue
				}
				boosts := map[int]float64{}
				for l := range c.Lists {
					boosts[l] = float64(150 + rng.IntN(100))
					if i%2 == 0 { // not an integer
						boosts[l] += rng.Float64()
					}
				}
				old := &queries[i].gpu
				q := c.query(old.Mode, old.K, boosts, 0, pick(rng, 2+rng.IntN(len(c.Lists)-1), len(c.Lists))...)
				q.gpu.Count = old.Count
				if i%4 == 1 {
					q.filter(c, c.RandomFilter(rng))
				}
				queries[i] = q
				if w, err := q.gpu.check(&c.segment); err == nil && w.wide() {
					wide++
				}
			}
			if wide < 4 {
				t.Fatalf("%d of %d queries are wide", wide, len(queries))
			}
			runBatch(t, "batch", c, b, queries)
			for i := range queries {
				search(t, fmt.Sprintf("query %d", i), c, b, s, queries[i])
			}
		})
	}
}

func TestTooWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	c := randomCollection(t, rng, 1000, 4, true, 255)
	c.toDevice()
	b, _ := searchers(t, c)
	b.Reset(c.segment)
	limit := 65536 / float64(c.Lists[0].Max)
	for name, boost := range map[string]float64{"contribution": limit, "far more": 1e9} {
		t.Run(name, func(t *testing.T) {
			q := c.query(Or, 10, map[int]float64{0: boost}, 0, 0)
			if _, err := b.Add(&q.gpu); !errors.Is(err, ErrUnsuited) {
				t.Errorf("%s: %v, want %v", name, err, ErrUnsuited)
			}
		})
	}
	q := c.query(Or, 10, map[int]float64{0: limit * 0.999}, 0, 0)
	if _, err := b.Add(&q.gpu); err != nil {
		t.Error(err)
	}
	for _, numDocs := range []int{1, 1000, 1 << 20, MaxDocs} {
		most := MaxScore(numDocs)
		term := Term{Image: Image{shape: Shape{NumDocs: numDocs, Max: 1, Saturation: score.Saturation{Linear: true}}, data: 128, unit: 255}, Leg: leg.Leg{Term: score.NewLinearTerm(65535, 1)}}
		term.Scale = score.NewScale(term.Term, 0, 0)
		each := term.Scale.Upper(1)
		n := int(min(most/each, MaxTerms-1))
		q := Query{K: 1}
		for range n {
			q.Terms = append(q.Terms, term)
		}
		if w, err := q.check(&Segment{NumDocs: numDocs}); err != nil || n > 1 && !w.wide() {
			t.Errorf("%d documents, %d terms: width %+v, error %v", numDocs, n, w, err)
		}
		if n == MaxTerms-1 {
			continue
		}
		q.Terms = append(q.Terms, term)
		if _, err := q.check(&Segment{NumDocs: numDocs}); !errors.Is(err, ErrUnsuited) {
			t.Errorf("%d documents, %d terms: %v, want %v", numDocs, n+1, err, ErrUnsuited)
		}
	}
}
