package fastpath

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// plainList is a posting list as it is decoded.
type plainList struct{ docIDs, freqs []uint32 }

// collection is a segment in memory and on a device.
type collection struct {
	numDocs int
	base    base.DocID
	sat     score.Saturation
	lengths []uint32
	live    []uint64 // nil: all
	plain   []plainList
	lists   []postings.List

	kernels *Kernels
	stream  *cuda.Stream
	segment Segment
	onGPU   cuda.Buffer[uint32] // lengths
	data    []cuda.Buffer[byte]
	images  []Image
	// filled says that what lies between the parts of an image is written too: it is
	// going to be copied whole.
	filled bool
}

// density says how a random list lies in its segment.
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
}

// randomList returns a list of a density.
func randomList(rng *rand.Rand, numDocs int, d density, maxFreq uint32) plainList {
	var l plainList
	want := max(int(d.share*float64(numDocs)), 1)
	at := func(doc int) {
		f := uint32(1)
		for f < maxFreq && rng.IntN(3) == 0 {
			f++
		}
		if rng.IntN(200) == 0 {
			f = 1 + rng.Uint32N(maxFreq)
		}
		l.docIDs, l.freqs = append(l.docIDs, uint32(doc)), append(l.freqs, f)
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
		if len(l.docIDs) == 0 {
			at(numDocs - 1)
		}
	default:
		for doc := range numDocs {
			if rng.Float64() < d.share {
				at(doc)
			}
		}
		if len(l.docIDs) == 0 {
			at(0)
		}
	}
	return l
}

// newCollection inverts lists: of texts, or of weights up to maxFreq.
func newCollection(tb testing.TB, rng *rand.Rand, numDocs int, linear bool, maxFreq uint32, lists []plainList) *collection {
	tb.Helper()
	c := &collection{numDocs: numDocs, base: base.DocID(rng.IntN(1000)), lengths: make([]uint32, numDocs), plain: lists}
	total := 0
	for i := range c.lengths {
		c.lengths[i] = 10 + rng.Uint32N(300)
		if rng.IntN(100) == 0 {
			c.lengths[i] *= 50
		}
		total += int(c.lengths[i])
	}
	c.sat = score.Saturation{BM25: score.DefaultBM25, AvgLen: float64(total) / float64(numDocs), Linear: linear}
	var p, f bytes.Buffer
	w := postings.NewWriter(postings.Options{Codec: codec.SIMDBP{}, Saturation: c.sat}, &p, nil, &f)
	metas := make([]postings.Meta, len(lists))
	for i, l := range lists {
		w.Begin(c.lengths)
		if err := w.AddBlock(l.docIDs, l.freqs, nil); err != nil {
			tb.Fatal(err)
		}
		m, err := w.Finish()
		if err != nil {
			tb.Fatal(err)
		}
		metas[i] = m
	}
	c.lists = make([]postings.List, len(lists))
	for i := range lists {
		if err := c.lists[i].Open(metas[i], codec.SIMDBP{}, p.Bytes(), nil, f.Bytes()); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// randomCollection has lists of all densities.
func randomCollection(tb testing.TB, rng *rand.Rand, numDocs, numLists int, linear bool, maxFreq uint32) *collection {
	tb.Helper()
	lists := make([]plainList, numLists)
	for i := range lists {
		lists[i] = randomList(rng, numDocs, densities[i%len(densities)], maxFreq)
	}
	return newCollection(tb, rng, numDocs, linear, maxFreq, lists)
}

// deleteSome marks a part of the documents as deleted.
func (c *collection) deleteSome(rng *rand.Rand, part float64) {
	c.live = make([]uint64, (c.numDocs+63)/64)
	for d := range c.numDocs {
		if rng.Float64() >= part {
			c.live[d/64] |= 1 << (d % 64)
		}
	}
}

// words returns a bitmap as the device has it.
func words(bitmap []uint64, numDocs int) []uint32 {
	w := make([]uint32, (numDocs+31)/32)
	for i := range w {
		w[i] = uint32(bitmap[i/2] >> (i % 2 * 32))
	}
	return w
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// uploaded returns a copy of data in device memory.
func uploaded[T any](tb testing.TB, s *cuda.Stream, data []T) cuda.Buffer[T] {
	tb.Helper()
	b, err := cuda.Alloc[T](s.Device(), len(data))
	must(tb, err)
	tb.Cleanup(func() { must(tb, b.Free()) })
	must(tb, cuda.CopyToDevice(s, b, data))
	must(tb, s.Synchronize())
	return b
}

// shape returns the shape of list i.
func (c *collection) shape(i int) Shape {
	m := &c.lists[i].Meta
	return Shape{NumDocs: c.numDocs, DocFreq: int(m.DocFreq), CollFreq: m.CollFreq, Saturation: c.sat, Max: m.Max}
}

// toDevice builds the images of all lists on a device.
func (c *collection) toDevice(tb testing.TB, d *cuda.Device) {
	tb.Helper()
	var err error
	c.kernels, err = Load(d)
	must(tb, err)
	c.stream, err = d.NewStream()
	must(tb, err)
	tb.Cleanup(func() { must(tb, c.stream.Close()); must(tb, c.kernels.Close()) })
	c.onGPU = uploaded(tb, c.stream, c.lengths)
	c.segment = Segment{NumDocs: c.numDocs, Base: c.base}
	if c.live != nil {
		c.segment.Live = uploaded(tb, c.stream, words(c.live, c.numDocs))
	}
	for i, l := range c.plain {
		data, err := cuda.Alloc[byte](d, int(c.shape(i).SizeBytes()))
		must(tb, err)
		tb.Cleanup(func() { must(tb, data.Free()) })
		if c.filled {
			must(tb, cuda.Fill(c.stream, data, 0xA5))
		}
		m, err := c.kernels.Build(c.stream, data, c.shape(i), uploaded(tb, c.stream, l.docIDs), uploaded(tb, c.stream, l.freqs), c.onGPU)
		must(tb, err)
		must(tb, c.stream.Synchronize())
		c.data, c.images = append(c.data, data), append(c.images, m)
	}
}

// testQuery is a query on both sides.
type testQuery struct {
	cpu traverse.Query
	gpu Query
}

// query returns the query of some lists, in a collection whose mean length is
// avgLen now.
func (c *collection) query(mode Mode, k int, boosts map[int]float64, avgLen float64, lists ...int) testQuery {
	q := testQuery{cpu: traverse.Query{NumDocs: c.numDocs, Live: c.live, Base: c.base}, gpu: Query{Mode: mode, K: k}}
	for _, i := range lists {
		l := &c.lists[i]
		boost := 1.0
		if b, ok := boosts[i]; ok {
			boost = b
		}
		t := c.sat.NewTerm(score.IDF(uint64(c.numDocs), uint64(l.DocFreq)), boost, avgLen)
		scale := score.NewScale(t, c.sat.AvgLen, avgLen)
		if c.sat.Linear {
			t = score.NewLinearTerm(boost, 1)
			scale = score.NewScale(t, 0, 0)
		}
		q.cpu.Legs = append(q.cpu.Legs, traverse.Leg{List: l, Term: t, Scale: scale, Lengths: c.lengths, MaxScore: scale.Upper(l.Max)})
		q.gpu.Terms = append(q.gpu.Terms, Term{Image: c.images[i], Lengths: c.onGPU, Score: t, Scale: scale, Kth: l.Kth})
	}
	return q
}

// filter restricts both sides to a bitmap.
func (q *testQuery) filter(tb testing.TB, c *collection, bitmap []uint64) {
	q.gpu.Filter = uploaded(tb, c.stream, words(bitmap, c.numDocs))
	q.cpu.Live = slices.Clone(bitmap)
	for i := range c.live {
		q.cpu.Live[i] &= c.live[i]
	}
}

// answer is what the CPU says: all matches, by the total order of hits.
func (q *testQuery) answer(tb testing.TB, mode traverse.Mode) []base.Hit {
	tb.Helper()
	t, err := traverse.Lookup(mode, "exhaustive-daat")
	must(tb, err)
	var queue topk.Queue
	queue.Reset(q.cpu.NumDocs)
	must(tb, t.Run(tb.Context(), new(traverse.Scratch), &q.cpu, &queue))
	return queue.AppendSorted(nil)
}

// want is the answer to the query as it was asked: the hits and all matches.
func (q *testQuery) want(tb testing.TB) (hits, matches []base.Hit) {
	tb.Helper()
	switch q.gpu.Mode {
	case Or:
		matches = q.answer(tb, traverse.Or)
	case And:
		matches = q.answer(tb, traverse.And)
	case AndOr:
		if matches = q.answer(tb, traverse.And); len(matches) < q.gpu.K {
			matches = q.answer(tb, traverse.Or)
		}
	}
	return matches[:min(len(matches), q.gpu.K)], matches
}

// compare holds what the device says against the CPU.
func (q *testQuery) compare(tb testing.TB, name string, c *collection, got []base.Hit, count uint64, docIDs func() cuda.Buffer[uint32]) {
	tb.Helper()
	hits, matches := q.want(tb)
	if !slices.Equal(got, hits) {
		for i := range max(len(got), len(hits)) {
			if i >= len(got) || i >= len(hits) || got[i] != hits[i] {
				tb.Fatalf("%s: %d hits, want %d; from hit %d on %v, want %v", name, len(got), len(hits), i, got[i:min(len(got), i+3)], hits[i:min(len(hits), i+3)])
			}
		}
	}
	if q.gpu.Want != 0 && count != uint64(len(matches)) {
		tb.Fatalf("%s: counts %d, want %d", name, count, len(matches))
	}
	if q.gpu.Want&WantDocIDs == 0 {
		return
	}
	on := docIDs()
	ids := make([]uint32, on.Len())
	must(tb, cuda.CopyToHost(c.stream, ids, on))
	must(tb, c.stream.Synchronize())
	slices.SortFunc(matches, func(x, y base.Hit) int { return int(x.DocID) - int(y.DocID) })
	for i, m := range matches {
		if ids[i] != uint32(m.DocID-c.base) {
			tb.Fatalf("%s: DocID %d is %d, want %d", name, i, ids[i], m.DocID-c.base)
		}
	}
}

// pick returns n different numbers of lists.
func pick(rng *rand.Rand, n, of int) []int { return rng.Perm(of)[:n] }

// open returns a device, the emulator or a GPU.
func open(tb testing.TB) *cuda.Device { return gputest.Open(tb) }
