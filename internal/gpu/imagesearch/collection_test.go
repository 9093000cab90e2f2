package imagesearch

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/traverse"
)

type collection struct {
	*gputest.Session
	*querytest.Collection

	kernels *Kernels
	segment Segment
	onGPU   cuda.Buffer[uint32] // lengths
	data    []cuda.Buffer[byte]
	images  []Image
	compact uint64 // bit i: of list i
	// The padding of images is written too.
	filled bool
}

type density struct {
	share     float64 // of the documents
	clustered bool
}

var densities = []density{
	{1, false},
	{0.5, false},
	{0.1, false},
	{0.1, true},
	{0.02, false},
	{0.006, false},
	{0.006, true},
	{0.001, false},
	{0.001, true},
	{0, false}, // one posting
	{0.01, false},
	{0.01, true},
}

func randomList(rng *rand.Rand, numDocs int, d density, maxFreq uint32) querytest.List {
	var l querytest.List
	want := max(int(d.share*float64(numDocs)), 1)
	at := func(doc int) {
		f := uint32(1)
		for f < maxFreq && rng.IntN(3) == 0 {
			f++
		}
		if rng.IntN(200) == 0 {
			f = 1 + rng.Uint32N(maxFreq)
		}
		l.DocIDs, l.Freqs = append(l.DocIDs, uint32(doc)), append(l.Freqs, f)
	}
	switch {
	case want == 1:
		at(rng.IntN(numDocs))
	case d.clustered: // runs of some hundred documents
		for doc := rng.IntN(50); doc < numDocs; doc++ {
			if rng.Float64()*600 < d.share*2 {
				for n := rng.IntN(600); n > 0 && doc < numDocs; n-- {
					at(doc)
					doc += 1 + rng.IntN(2)
				}
			}
		}
		if len(l.DocIDs) == 0 {
			at(numDocs - 1)
		}
	default:
		for doc := range numDocs {
			if rng.Float64() < d.share {
				at(doc)
			}
		}
		if len(l.DocIDs) == 0 {
			at(0)
		}
	}
	return l
}

func newCollection(tb testing.TB, rng *rand.Rand, numDocs int, linear bool, lists []querytest.List) *collection {
	tb.Helper()
	return &collection{Session: gputest.NewSession(tb), Collection: querytest.NewCollection(tb, rng, numDocs, linear, lists), compact: rng.Uint64()}
}

func randomCollection(tb testing.TB, rng *rand.Rand, numDocs, numLists int, linear bool, maxFreq uint32) *collection {
	tb.Helper()
	lists := make([]querytest.List, numLists)
	for i := range lists {
		lists[i] = randomList(rng, numDocs, densities[i%len(densities)], maxFreq)
	}
	return newCollection(tb, rng, numDocs, linear, lists)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (c *collection) shape(i int) Shape {
	m := &c.Lists[i].Meta
	return Shape{NumDocs: c.NumDocs, DocFreq: int(m.DocFreq), CollFreq: m.CollFreq, Saturation: c.Saturation, Max: m.Max, Compact: c.compact>>(i%64)&1 != 0}
}

func (c *collection) toDevice() {
	c.Helper()
	var err error
	c.kernels, err = Load(c.Device)
	c.Must(err)
	c.Cleanup(func() { c.Must(c.kernels.Close()) })
	c.onGPU = gputest.Upload(c.Session, c.Lengths)
	c.segment = Segment{NumDocs: c.NumDocs, Base: c.Base}
	if c.Live != nil {
		c.segment.Live = gputest.Upload(c.Session, querytest.Words(c.Live, c.NumDocs))
	}
	for i, l := range c.Plain {
		data := gputest.Alloc[byte](c.Session, int(c.shape(i).SizeBytes()))
		if c.filled {
			c.Must(cuda.Fill(c.Stream, data, 0xA5))
		}
		m, err := c.kernels.Build(c.Stream, data, c.shape(i), gputest.Upload(c.Session, l.DocIDs), gputest.Upload(c.Session, l.Freqs), c.onGPU)
		c.Must(err)
		c.data, c.images = append(c.data, data), append(c.images, m)
	}
	c.Must(c.Stream.Synchronize())
}

type testQuery struct {
	cpu traverse.Query
	gpu Query
}

func (c *collection) query(mode Mode, k int, boosts map[int]float64, avgLen float64, lists ...int) testQuery {
	q := testQuery{cpu: traverse.Query{NumDocs: c.NumDocs, Live: c.Live, Base: c.Base}, gpu: Query{Mode: mode, K: k}}
	for _, i := range lists {
		boost := 1.0
		if b, ok := boosts[i]; ok {
			boost = b
		}
		leg := c.Leg(i, boost, avgLen)
		q.cpu.Legs = append(q.cpu.Legs, leg)
		q.gpu.Terms = append(q.gpu.Terms, Term{Leg: leg.Leg, Image: c.images[i], Lengths: c.onGPU})
	}
	return q
}

func (q *testQuery) filter(c *collection, bitmap []uint64) {
	words := querytest.Words(bitmap, c.NumDocs)
	for len(words) < FilterWords(c.NumDocs) { // documents that do not exist may pass
		words = append(words, math.MaxUint32)
	}
	q.gpu.Filter = gputest.Upload(c.Session, words)
	q.narrow(c, bitmap)
}

// narrow leaves the documents of a bitmap to the CPU.
func (q *testQuery) narrow(c *collection, bitmap []uint64) {
	if q.cpu.Live == nil {
		q.cpu.Live = c.Intersect(bitmap)
		return
	}
	q.cpu.Live = slices.Clone(q.cpu.Live)
	for i := range q.cpu.Live {
		q.cpu.Live[i] &= bitmap[i]
	}
}

// bitmap has the documents of lists.
func (c *collection) bitmap(lists ...int) []uint64 {
	words := make([]uint64, (c.NumDocs+63)/64)
	for _, i := range lists {
		for _, d := range c.Plain[i].DocIDs {
			words[d/64] |= 1 << (d % 64)
		}
	}
	return words
}

// exclude adds excluded terms.
func (q *testQuery) exclude(c *collection, lists ...int) {
	for _, i := range lists {
		q.gpu.Excluded = append(q.gpu.Excluded, Term{Image: c.images[i]})
	}
	words := c.bitmap(lists...)
	for i := range words {
		words[i] = ^words[i]
	}
	if tail := c.NumDocs % 64; tail > 0 {
		words[len(words)-1] &= 1<<tail - 1
	}
	q.narrow(c, words)
}

// require adds a clause of the query's terms, which are lists; a clause of one is a required term.
func (q *testQuery) require(c *collection, lists []int, clause uint32) {
	if clause&(clause-1) == 0 {
		q.gpu.Required |= clause
	} else {
		q.gpu.Clauses = append(q.gpu.Clauses, clause)
	}
	var of []int
	for i, l := range lists {
		if clause>>i&1 != 0 {
			of = append(of, l)
		}
	}
	q.narrow(c, c.bitmap(of...))
}

// want returns the CPU's hits, and all matches.
func (q *testQuery) want(tb testing.TB) (hits, matches []base.Hit) {
	tb.Helper()
	switch q.gpu.Mode {
	case Or:
		matches = querytest.Matches(tb, traverse.Or, &q.cpu)
	case And:
		matches = querytest.Matches(tb, traverse.And, &q.cpu)
	}
	return matches[:min(len(matches), q.gpu.K)], matches
}

func (q *testQuery) compare(tb testing.TB, name string, c *collection, got []base.Hit, count uint64) {
	tb.Helper()
	hits, matches := q.want(tb)
	if diff := querytest.Diff(got, hits); diff != "" {
		tb.Fatalf("%s: %s", name, diff)
	}
	if q.gpu.Count && count != uint64(len(matches)) {
		tb.Fatalf("%s: counts %d, want %d", name, count, len(matches))
	}
}

func pick(rng *rand.Rand, n, of int) []int { return rng.Perm(of)[:n] }
