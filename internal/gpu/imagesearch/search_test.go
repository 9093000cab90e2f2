package imagesearch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
)

var limits = Limits{Queries: 64, Terms: 4096, Hits: 64 * MaxK}

func randomQueries(tb testing.TB, rng *rand.Rand, c *collection, n int) []testQuery {
	tb.Helper()
	queries := make([]testQuery, n)
	for i := range queries {
		mode := Mode(rng.IntN(2))
		k := []int{1, 10, 10, 100, 1000}[rng.IntN(5)]
		terms := 1 + rng.IntN(min(6, len(c.Lists)))
		if rng.IntN(8) == 0 {
			terms = len(c.Lists)
		}
		boosts := map[int]float64{}
		avgLen := c.Saturation.AvgLen
		if rng.IntN(3) == 0 {
			avgLen *= 0.5 + rng.Float64()
			for l := range c.Lists {
				boosts[l] = 0.1 + 3*rng.Float64()
			}
		}
		q := c.query(mode, k, boosts, avgLen, pick(rng, terms, len(c.Lists))...)
		q.gpu.Count = rng.IntN(2) == 0
		if q.gpu.Count && rng.IntN(3) == 0 {
			q.gpu.K = 0
		}
		if rng.IntN(2) == 0 {
			q.filter(c, c.RandomFilter(rng))
		}
		queries[i] = q
	}
	return queries
}

func runBatch(tb testing.TB, name string, c *collection, b *Batch, queries []testQuery) {
	tb.Helper()
	b.Reset(c.segment)
	for i := range queries {
		if n, err := b.Add(&queries[i].gpu); err != nil || n != i {
			tb.Fatalf("%s: query %d is %d: %v", name, i, n, err)
		}
	}
	must(tb, b.Launch(c.Stream))
	must(tb, b.Wait())
	for i := range queries {
		q := &queries[i]
		what := fmt.Sprintf("%s: query %d (mode %d, k %d, %d terms, count %t)", name, i, q.gpu.Mode, q.gpu.K, len(q.gpu.Terms), q.gpu.Count)
		q.compare(tb, what, c, b.AppendHits(nil, i), b.Count(i))
	}
}

// Batches and single queries equal the CPU's exhaustive traversal.
func TestRandomCollections(t *testing.T) {
	for _, tt := range []struct {
		numDocs, lists, queries int
		linear                  bool
		maxFreq                 uint32
		deleted                 float64
		window                  int
	}{
		{1, 2, 4, false, 3, 0, 0},
		{33, 4, 8, false, 3, 0, 0},
		{4097, 10, 12, false, 600, 0, 0},
		{20011, 20, 16, false, 40, 0, 0},
		{12345, 10, 12, false, 5, 0.3, 0},
		{9000, 45, 8, true, 255, 0, 0},
		{9000, 40, 6, true, 5000, 0.1, 0},
		{5000, 10, 8, true, 1, 0, 0},     // all scores of a list are equal
		{131101, 8, 10, false, 9, 0, 16}, // two windows and a document; full lists of ranges
		{70000, 36, 4, true, 255, 0, 0},  // more terms than lanes, and than launch parameters hold
	} {
		name := fmt.Sprintf("docs=%d/lists=%d/linear=%v/deleted=%v", tt.numDocs, tt.lists, tt.linear, tt.deleted)
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(tt.numDocs), uint64(tt.lists)))
			c := randomCollection(t, rng, tt.numDocs, tt.lists, tt.linear, tt.maxFreq)
			if tt.deleted > 0 {
				c.DeleteSome(rng, tt.deleted)
			}
			c.toDevice()
			if tt.window > 0 {
				c.kernels.maxWindow = tt.window
				c.kernels.residentOne = 2 // two windows of a single query, too
			}
			b, err := c.kernels.NewBatch(limits)
			must(t, err)
			defer func() { must(t, b.Close()) }()
			s, err := c.kernels.NewSingle(0)
			must(t, err)
			defer func() { must(t, s.Close()) }()
			queries := randomQueries(t, rng, c, tt.queries)
			runBatch(t, "batch", c, b, queries)
			for i := range queries {
				q := &queries[i]
				must(t, s.Search(c.Stream, c.segment, &q.gpu))
				what := fmt.Sprintf("single %d (mode %d, k %d, %d terms, count %t)", i, q.gpu.Mode, q.gpu.K, len(q.gpu.Terms), q.gpu.Count)
				q.compare(t, what, c, s.AppendHits(nil), s.Count())
			}
			must(t, c.Stream.Synchronize())
		})
	}
}

// Many postings in a unit, in a range, and of several lists in a range.
func TestSparseClusters(t *testing.T) {
	const numDocs = 140_000 // lists of fewer than 137 postings are sparse
	rng := rand.New(rand.NewPCG(11, 11))
	lists := make([]querytest.List, 7)
	for i := range lists[:6] { // from 1 to 126 postings, 1 to 6 documents apart
		for doc, n := 70_000+10*i, 0; n < 1+25*i; n++ {
			lists[i].DocIDs, lists[i].Freqs = append(lists[i].DocIDs, uint32(doc)), append(lists[i].Freqs, 1+rng.Uint32N(9))
			doc += 1 + rng.IntN(i+1)
		}
	}
	lists[6] = randomList(rng, numDocs, density{0.01, false}, 9)
	c := newCollection(t, rng, numDocs, false, lists)
	c.toDevice()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	for _, terms := range [][]int{{5}, {4, 5}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5, 6}, {3, 6}} {
		for _, k := range []int{1, 10, 200} {
			q := c.query(Or, k, nil, c.Saturation.AvgLen, terms...)
			must(t, s.Search(c.Stream, c.segment, &q.gpu))
			q.compare(t, fmt.Sprintf("terms %v, k %d", terms, k), c, s.AppendHits(nil), 0)
		}
	}
}

// A threshold from other segments removes only lower scores.
func TestThreshold(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	c := randomCollection(t, rng, 5000, 6, false, 9)
	c.toDevice()
	b, err := c.kernels.NewBatch(limits)
	must(t, err)
	defer func() { must(t, b.Close()) }()
	q := c.query(Or, 10, nil, c.Saturation.AvgLen, 1, 2, 3)
	hits, _ := q.want(t)
	for _, n := range []int{10, 5, 1} {
		q.gpu.Threshold = hits[n-1].Score
		b.Reset(c.segment)
		_, err := b.Add(&q.gpu)
		must(t, err)
		must(t, b.Launch(c.Stream))
		must(t, b.Wait())
		got := b.AppendHits(nil, 0)
		for i, h := range hits {
			if h.Score < q.gpu.Threshold {
				break
			}
			if i >= len(got) || got[i] != h {
				t.Fatalf("threshold %d: %v, want %v", q.gpu.Threshold, got, hits)
			}
		}
	}
}

func TestAddRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	c := randomCollection(t, rng, 300, 4, false, 9)
	c.toDevice()
	b, err := c.kernels.NewBatch(Limits{Queries: 2, Terms: 5, Hits: 20})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	b.Reset(c.segment)
	for _, tt := range []struct {
		name string
		edit func(q *Query)
		want error
	}{
		{"k", func(q *Query) { q.K = MaxK + 1 }, ErrUnsuited},
		{"score", func(q *Query) {
			t := c.Saturation.NewTerm(22, 4000, c.Saturation.AvgLen)
			q.Terms[0].Term, q.Terms[0].Scale = t, score.NewScale(t, 0, 0)
		}, ErrUnsuited},
		{"hits", func(q *Query) { q.K = 21 }, ErrFull},
		{"no terms", func(q *Query) { q.Terms = nil }, base.ErrBadInput},
		{"mode", func(q *Query) { q.Mode = 9 }, base.ErrBadInput},
		{"image", func(q *Query) { q.Terms[0].Image = Image{} }, base.ErrBadInput},
		{"lengths", func(q *Query) { q.Terms[0].Lengths = cuda.Buffer[uint32]{} }, base.ErrBadInput},
		{"linear", func(q *Query) { q.Terms[0].Term.Linear = true }, base.ErrBadInput},
		{"filter", func(q *Query) { q.Filter = gputest.Upload(c.Session, make([]uint32, FilterWords(300)-1)) }, base.ErrBadInput},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := c.query(Or, 10, nil, c.Saturation.AvgLen, 0, 1)
			tt.edit(&q.gpu)
			if _, err := b.Add(&q.gpu); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		})
	}
	q := c.query(Or, 10, nil, c.Saturation.AvgLen, 0, 1)
	b.Reset(Segment{NumDocs: c.NumDocs, Live: gputest.Upload(c.Session, make([]uint32, 300/32))})
	if _, err := b.Add(&q.gpu); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a bitmap that is too short: %v", err)
	}
	b.Reset(c.segment)
	for i := range 3 {
		_, err := b.Add(&q.gpu)
		if i < 2 && err != nil || i == 2 && !errors.Is(err, ErrFull) {
			t.Errorf("query %d: %v", i, err)
		}
	}
	runBatch(t, "after refusals", c, b, []testQuery{q, q})
}

// A batch of an earlier size does not allocate.
func TestQueriesDoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	c := randomCollection(t, rng, 100, 4, false, 9)
	c.toDevice()
	b, err := c.kernels.NewBatch(Limits{Queries: 4, Terms: 32, Hits: 40})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	q := c.query(And, 10, nil, c.Saturation.AvgLen, 0, 1, 2)
	hits := make([]base.Hit, 0, 10)
	if n := gputest.AllocsPerRun(2, func() {
		b.Reset(c.segment)
		for range 2 {
			_, err := b.Add(&q.gpu)
			must(t, err)
		}
		must(t, b.Launch(c.Stream))
		must(t, b.Wait())
		hits = b.AppendHits(hits[:0], 1)
		must(t, s.Search(c.Stream, c.segment, &q.gpu))
		hits = s.AppendHits(hits[:0])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	rng := rand.New(rand.NewPCG(10, 10))
	c := randomCollection(b, rng, 3000, 6, false, 9)
	c.toDevice()
	batch, err := c.kernels.NewBatch(Limits{Queries: 1000, Terms: 4000, Hits: 10000})
	must(b, err)
	defer func() { must(b, batch.Close()) }()
	q := c.query(Or, 10, nil, c.Saturation.AvgLen, 1, 2, 3, 4)
	for b.Loop() {
		batch.Reset(c.segment)
		for range 1000 {
			_, err := batch.Add(&q.gpu)
			must(b, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/query")
}

// A search by segments, each with the threshold of the previous, equals one search of all.
func TestSegments(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	var parts []*collection
	next := base.DocID(0)
	for _, numDocs := range []int{5000, 31, 7001} {
		c := randomCollection(t, rng, numDocs, 8, false, 7)
		c.Base = next
		next += base.DocID(numDocs)
		c.toDevice()
		parts = append(parts, c)
	}
	for _, mode := range []Mode{Or, And} {
		for _, k := range []int{1, 10, 100} {
			lists := pick(rng, 3, 8)
			var want, got []base.Hit
			var queue topk.Queue
			queue.Reset(k)
			for _, c := range parts {
				q := c.query(mode, k, nil, c.Saturation.AvgLen, lists...)
				hits, _ := q.want(t)
				want = append(want, hits...)
				if need := queue.Need(); need > 0 {
					q.gpu.Threshold = need - 1
				}
				s, err := c.kernels.NewSingle(0)
				must(t, err)
				must(t, s.Search(c.Stream, c.segment, &q.gpu))
				for _, h := range s.AppendHits(nil) {
					queue.Add(h)
				}
				must(t, c.Stream.Synchronize())
				must(t, s.Close())
			}
			got = queue.AppendSorted(nil)
			querytest.SortHits(want)
			if want = want[:min(k, len(want))]; !slices.Equal(got, want) {
				t.Errorf("mode %d, k %d: %v, want %v", mode, k, got, want)
			}
		}
	}
}

// Documents that have only terms after the first 32 are found.
func TestManyTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 1))
	const numDocs, numTerms = 40_000, 40
	lists := make([]querytest.List, numTerms)
	for i := range lists {
		for d := 1000 * i; d < 1000*i+50+rng.IntN(100); d++ {
			lists[i].DocIDs, lists[i].Freqs = append(lists[i].DocIDs, uint32(d)), append(lists[i].Freqs, 1+rng.Uint32N(9))
		}
	}
	c := newCollection(t, rng, numDocs, false, lists)
	c.toDevice()
	b, err := c.kernels.NewBatch(Limits{Queries: 3, Terms: 3 * numTerms, Hits: 3000})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	queries := []testQuery{}
	for _, n := range []int{32, 33, numTerms} {
		queries = append(queries, c.query(Or, 1000, nil, c.Saturation.AvgLen, pick(rng, n, numTerms)...))
	}
	runBatch(t, "many terms", c, b, queries)
	every := make([]uint64, numDocs/64)
	for i := range every {
		every[i] = ^uint64(1 << (i % 64))
	}
	for i := range queries {
		queries[i].filter(c, every)
	}
	runBatch(t, "many terms with a filter", c, b, queries)
}
