package packedsearch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// Shares of the documents in random lists; 0: one document.
var shares = []float64{1, 0.5, 0.1, 0.1, 0.02, 0.006, 0.006, 0.001, 0.001, 0}

// Every other list is clustered.
func randomList(rng *rand.Rand, numDocs, i int, maxFreq uint32) querytest.List {
	var l querytest.List
	share := shares[i%len(shares)]
	clustered, in := i%2 == 1 && share < 0.5, false
	for d := range numDocs {
		p := share
		if clustered {
			if rng.IntN(200) == 0 {
				in = rng.Float64() < share*2
			}
			p = 0
			if in {
				p = 0.5
			}
		}
		if rng.Float64() >= p {
			continue
		}
		l.DocIDs = append(l.DocIDs, uint32(d))
	}
	if len(l.DocIDs) == 0 {
		l.DocIDs = append(l.DocIDs, rng.Uint32N(uint32(numDocs)))
	}
	for range l.DocIDs {
		f := uint32(1)
		for f < maxFreq && rng.IntN(3) == 0 {
			f++
		}
		if rng.IntN(200) == 0 {
			f = 1 + rng.Uint32N(maxFreq)
		}
		l.Freqs = append(l.Freqs, f)
	}
	return l
}

func randomCollection(t testing.TB, rng *rand.Rand, numDocs, numLists int, linear bool, maxFreq uint32, deleted float64) *collection {
	t.Helper()
	lists := make([]querytest.List, numLists)
	for i := range lists {
		lists[i] = randomList(rng, numDocs, i, maxFreq)
	}
	c := newCollection(t, rng, numDocs, linear, lists)
	if deleted > 0 {
		c.DeleteSome(rng, deleted)
	}
	c.toDevice(onDevice, onHost, payloadOnHost)
	return c
}

// For hits, a count, both, and candidates.
func (c *collection) variants(rng *rand.Rand, name string, q *testQuery) {
	c.Helper()
	matches := q.matches(c)
	c.check(name, q, matches)
	k := q.gpu.K
	q.gpu.Count = true
	c.check(name+", with count", q, matches)
	q.gpu.K = 0
	c.check(name+", count", q, matches)
	q.gpu.Count = false
	if !q.gpu.Conjunctive {
		return
	}
	c.check(name+", candidates", q, matches)
	if len(q.gpu.Lists) == 1 {
		return
	}
	// From candidates of some of the lists.
	part := *q
	at := 1 + rng.IntN(len(q.gpu.Lists)-1)
	part.cpu.Legs, part.cpu.Live = q.cpu.Legs[:at], nil
	q.gpu.From = candidates(part.matches(c), c.segment.Base)
	q.gpu.Lists = q.gpu.Lists[at:]
	c.check(fmt.Sprintf("%s, candidates from %d lists", name, at), q, matches)
	q.gpu.K = k
	c.check(fmt.Sprintf("%s, from %d lists", name, at), q, matches)
	q.gpu.K, q.gpu.Count = 0, true
	c.check(fmt.Sprintf("%s, count from %d lists", name, at), q, matches)
}

// Queries at all places.
func TestRandomCollections(t *testing.T) {
	for _, tt := range []struct {
		numDocs, lists, queries int
		linear                  bool
		maxFreq                 uint32
		deleted                 float64
	}{
		{1, 2, 2, false, 3, 0},
		{33, 4, 4, false, 3, 0.5},
		{8193, 10, 6, false, 600, 0},
		{20011, 20, 6, false, 40, 0},
		{12345, 10, 6, false, 5, 0.3},
		{9000, 12, 4, true, 255, 0},
		{5000, 10, 4, true, 1, 0.1}, // all scores of a list are equal
	} {
		name := fmt.Sprintf("docs=%d/lists=%d/linear=%v/deleted=%v", tt.numDocs, tt.lists, tt.linear, tt.deleted)
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(tt.numDocs), uint64(tt.lists)))
			c := randomCollection(t, rng, tt.numDocs, tt.lists, tt.linear, tt.maxFreq, tt.deleted)
			for i := range tt.queries {
				k := []int{1, 10, 10, 100, 1000}[rng.IntN(5)]
				n := 1 + rng.IntN(min(6, tt.lists))
				conjunctive := i%2 == 0
				boost, avgLen := 1.0, c.Saturation.AvgLen
				if rng.IntN(3) == 0 {
					boost, avgLen = 0.1+3*rng.Float64(), avgLen*(0.5+rng.Float64())
				}
				p := place(rng.IntN(int(numPlaces)))
				lists := rng.Perm(tt.lists)[:n]
				q := c.query(conjunctive, k, boost, avgLen, p, lists...)
				if i%3 > 0 {
					q.filter(c, c.RandomFilter(rng))
				}
				c.variants(rng, fmt.Sprintf("query %d (conjunctive %v, k %d, lists %v, %v, filtered %v)", i, conjunctive, k, lists, p, i%3 > 0), q)
			}
		})
	}
}

// At the limits of blocks, ranges and widths.
func TestAdversarialLists(t *testing.T) {
	const numDocs = 40000
	every := func(from, to, step int) querytest.List {
		var l querytest.List
		for d := from; d < to; d += step {
			l.DocIDs, l.Freqs = append(l.DocIDs, uint32(d)), append(l.Freqs, uint32(1+d%7))
		}
		return l
	}
	one := func(docIDs ...uint32) querytest.List {
		l := querytest.List{DocIDs: docIDs}
		for i := range docIDs {
			l.Freqs = append(l.Freqs, uint32(1+i))
		}
		return l
	}
	long := every(0, 256, 2)
	long.Freqs[3], long.Freqs[127] = 1<<31, 1<<25 // wide frequencies
	far := one(0, 1, numDocs-1)
	lists := []querytest.List{
		0: every(0, numDocs, 1),
		1: every(0, 8192, 64),        // a whole block in a range
		2: every(8191, 8191+129, 1),  // across a border of ranges: a block and a posting
		3: every(1, numDocs, 311),    // a block and some postings
		4: every(8192, 16384, 1),     // a range
		5: every(0, 128, 1),          // one block, full, width 0
		6: one(numDocs - 1),          // one posting, the last document
		7: far,                       // wide gaps
		8: long,                      //
		9: every(20000, numDocs, 13), // nothing in the first ranges
	}
	rng := rand.New(rand.NewPCG(3, 3))
	c := newCollection(t, rng, numDocs, false, lists)
	c.toDevice(onDevice, onHost)
	for i, tt := range []struct {
		k     int
		lists []int
	}{
		{10, []int{0}},
		{1000, []int{6}},
		{10, []int{6, 7}},
		{3, []int{1, 5}},
		{1000, []int{2, 4}},
		{10, []int{7, 8, 5}},
		{10, []int{0, 3, 9}},
		{7, []int{6, 9, 0, 7}},
		{10, []int{4, 1}}, // no document in both
		{1, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		q := c.query(i%2 == 0, tt.k, 1, c.Saturation.AvgLen, place(i%2), tt.lists...)
		c.variants(rng, fmt.Sprintf("lists %v, conjunctive %v", tt.lists, i%2 == 0), q)
		q = c.query(i%2 == 1, tt.k, 1, c.Saturation.AvgLen, place(i%2), tt.lists...)
		matches := q.matches(t)
		c.check(fmt.Sprintf("lists %v, conjunctive %v", tt.lists, i%2 == 1), q, matches)
	}
	// A list twice, and more lists than pending.
	q := c.query(true, 10, 1, c.Saturation.AvgLen, onHost, 3, 3, 0, 0, 0, 0, 0)
	c.variants(rng, "lists twice", q)
}

func TestContributionsOfZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	lists := []querytest.List{randomList(rng, 10000, 2, 4), randomList(rng, 10000, 3, 4)}
	c := newCollection(t, rng, 10000, true, lists)
	c.toDevice(onDevice)
	for _, conjunctive := range []bool{false, true} {
		q := c.query(conjunctive, 100, 1e-6, 0, onDevice, 0, 1)
		c.variants(rng, fmt.Sprintf("conjunctive %v", conjunctive), q)
	}
}

// The best k are a prefix of the best k+1, and a valid threshold changes nothing.
func TestEveryK(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	c := randomCollection(t, rng, 9000, 5, false, 9, 0.1)
	for _, conjunctive := range []bool{false, true} {
		q := c.query(conjunctive, 1, 1, c.Saturation.AvgLen, payloadOnHost, 1, 2, 4)
		if conjunctive {
			q = c.query(conjunctive, 1, 1, c.Saturation.AvgLen, payloadOnHost, 0, 1)
		}
		matches := q.matches(t)
		for _, k := range []int{1, 2, 9, 31, 200, 255, 256, 257, 511, 768, 769, 999, 1000} {
			q.gpu.K, q.gpu.Threshold = k, 0
			c.check(fmt.Sprintf("k %d", k), q, matches)
			if k <= len(matches) {
				q.gpu.Threshold = matches[k-1].Score
				c.check(fmt.Sprintf("k %d with its threshold", k), q, matches)
			}
		}
	}
}

func TestManyGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	c := randomCollection(t, rng, 30000, 4, false, 9, 0)
	for _, k := range []*kernel{&c.kernels.all, &c.kernels.anyScored, &c.kernels.anyCount} {
		for i := range k.resident {
			k.resident[i] = 2 + i
		}
	}
	c.variants(rng, "all", c.query(true, 100, 1, c.Saturation.AvgLen, onHost, 0, 1, 2))
	c.variants(rng, "any", c.query(false, 100, 1, c.Saturation.AvgLen, onHost, 1, 2, 3))
}

// Distant candidates, and more ranges than a chunk.
func TestFarApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	const numDocs = 100_000
	lists := []querytest.List{randomList(rng, numDocs, 0, 4), {}, randomList(rng, numDocs, 2, 4)}
	for d := uint32(7); d < numDocs; d += 9001 {
		lists[1].DocIDs, lists[1].Freqs = append(lists[1].DocIDs, d), append(lists[1].Freqs, d%5+1)
	}
	c := newCollection(t, rng, numDocs, false, lists)
	c.toDevice(onHost)
	for i := range c.kernels.anyScored.resident {
		c.kernels.anyScored.resident[i], c.kernels.anyCount.resident[i] = 1, 1
	}
	for _, conjunctive := range []bool{true, false} {
		q := c.query(conjunctive, 10, 1, c.Saturation.AvgLen, onHost, 0, 1, 2)
		c.variants(rng, fmt.Sprintf("conjunctive %v", conjunctive), q)
	}
}

func TestNoCandidates(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	c := randomCollection(t, rng, 300, 2, false, 9, 0)
	for _, k := range []int{0, 10} {
		q := c.query(true, k, 1, c.Saturation.AvgLen, onDevice, 0)
		q.gpu.From = &Candidates{}
		c.check("no candidates", q, nil)
	}
}

// The runner stays usable.
func TestRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	c := randomCollection(t, rng, 300, 4, false, 9, 0)
	for _, tt := range []struct {
		name string
		edit func(q *Query)
		want error
	}{
		{"k", func(q *Query) { q.K = MaxK + 1 }, ErrUnsuited},
		{"lists", func(q *Query) { q.Lists = make([]List, MaxLists+1) }, ErrUnsuited},
		{"score", func(q *Query) {
			t := c.Saturation.NewTerm(22, 4000, c.Saturation.AvgLen)
			q.Lists[0].Term, q.Lists[0].Scale = t, score.NewScale(t, 0, 0)
		}, ErrUnsuited},
		{"no lists", func(q *Query) { q.Lists = nil }, base.ErrBadInput},
		{"negative k", func(q *Query) { q.K = -1 }, base.ErrBadInput},
		{"nothing wanted", func(q *Query) { q.Conjunctive, q.K = false, 0 }, base.ErrBadInput},
		{"address", func(q *Query) { q.Lists[0].Payload += 4 }, base.ErrBadInput},
		{"postings", func(q *Query) { q.Lists[0].List = new(postings.List) }, base.ErrBadInput},
		{"lengths", func(q *Query) { q.Lists[0].Lengths = 0 }, base.ErrBadInput},
		{"bound", func(q *Query) {
			l := *q.Lists[0].List
			l.Max = 0
			q.Lists[0].List = &l
		}, base.ErrBadInput},
		{"candidates", func(q *Query) { q.From = &Candidates{DocIDs: []uint32{3}} }, base.ErrBadInput},
		{"falling candidates", func(q *Query) { q.From = &Candidates{DocIDs: []uint32{3, 3}, Scores: []uint32{1, 1}} }, base.ErrBadInput},
		{"candidate outside", func(q *Query) { q.From = &Candidates{DocIDs: []uint32{300}, Scores: []uint32{1}} }, base.ErrBadInput},
		{"filter", func(q *Query) { q.Filter = gputest.Upload(c.Session, make([]uint32, 300/32)) }, base.ErrBadInput},
		{"candidates of any", func(q *Query) { q.Conjunctive, q.From = false, &Candidates{} }, base.ErrBadInput},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := c.query(true, 10, 1, c.Saturation.AvgLen, onDevice, 0, 1)
			tt.edit(&q.gpu)
			if _, _, err := c.runner.Run(c.Stream, c.segment, &q.gpu, nil, nil); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		})
	}
	all := c.query(true, 10, 1, c.Saturation.AvgLen, onDevice, 0, 1)
	if _, _, err := c.runner.Run(c.Stream, imagesearch.Segment{NumDocs: base.MaxDocs}, &all.gpu, nil, nil); !errors.Is(err, ErrUnsuited) {
		t.Errorf("%d documents: %v", int64(base.MaxDocs), err)
	}
	if _, _, err := c.runner.Finish(nil, nil); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("Finish without Start: %v", err)
	}
	q := c.query(true, 10, 1, c.Saturation.AvgLen, onDevice, 0, 1)
	c.check("after refusals", q, q.matches(t))
}

func TestSupported(t *testing.T) {
	if err := Supported(codec.SIMDBP{}); err != nil {
		t.Error(err)
	}
	for _, c := range []codec.Codec{nil, codec.EF{}, codec.Raw{}, codec.Rice{}} {
		if err := Supported(c); !errors.Is(err, ErrCodec) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// The kernels' bounds are at least the bounds of package score.
func TestWorth(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	for range 100000 {
		term := score.DefaultBM25.NewTerm(rng.Float64()*22, 0.001+rng.Float64()*30, 100)
		scale := score.NewScale(term, 100, 50+100*rng.Float64())
		if rng.IntN(4) == 0 {
			term = score.NewLinearTerm(rng.Float64()*100, 1)
			scale = score.NewScale(term, 0, 0)
		}
		b := score.Bound(rng.Uint32N(1 << 16))
		if got, want := uint64(b)*worth(scale)>>16+1, uint64(scale.Upper(b)); got < want || got > want+want/1000+2 {
			t.Fatalf("bound %d is worth %d, want %d", b, got, want)
		}
	}
}

func TestQueriesDoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	c := randomCollection(t, rng, 300, 4, false, 9, 0)
	anyOf := c.query(false, 10, 1, c.Saturation.AvgLen, onHost, 0, 1, 2)
	all := c.query(true, 0, 1, c.Saturation.AvgLen, onHost, 0, 1)
	all.gpu.From = candidates(all.matches(t), c.segment.Base)
	var out Candidates
	hits := make([]base.Hit, 0, 10)
	if n := gputest.AllocsPerRun(2, func() {
		var err error
		hits, _, err = c.runner.Run(c.Stream, c.segment, &anyOf.gpu, hits[:0], nil)
		c.Must(err)
		_, _, err = c.runner.Run(c.Stream, c.segment, &all.gpu, nil, &out)
		c.Must(err)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A block can cross 2^32 bytes.
func TestLongPayload(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	var list querytest.List
	for d := uint32(1); d < 9000; d += 90 + d%7 {
		list.DocIDs, list.Freqs = append(list.DocIDs, d), append(list.Freqs, 1+d%5)
	}
	c := newCollection(t, rng, 9000, false, []querytest.List{list})
	c.toDevice(onHost)
	placed := &c.placed[onHost][0]
	entry := *c.Lists[0].Block(0)
	entry.Offset = 1<<32 - 16
	placed.Payload -= cuda.Ptr[uint32](entry.Offset)
	placed.Directory = c.host([]uint32{entry.First, entry.Last, entry.Offset, uint32(entry.Bound) | uint32(entry.DocWidth)<<16 | uint32(entry.FreqWidth)<<24})
	for _, conjunctive := range []bool{true, false} {
		c.variants(rng, "long payload", c.query(conjunctive, 10, 1, c.Saturation.AvgLen, onHost, 0))
	}
}
