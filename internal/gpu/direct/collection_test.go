package direct

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// plainList is a posting list as it is decoded.
type plainList struct{ docIDs, freqs []uint32 }

// place is where a list lies.
type place int

const (
	onDevice place = iota
	onHost
	payloadOnHost
	numPlaces
)

func (p place) String() string { return [...]string{"device", "host", "payload-host"}[p] }

// collection is a segment in memory and on a device.
type collection struct {
	*gputest.Session
	numDocs int
	sat     score.Saturation
	lengths []uint32
	live    []uint64 // nil: all
	lists   []postings.List

	kernels *Kernels
	runner  *Runner
	segment fastpath.Segment
	onGPU   cuda.Buffer[uint32] // lengths
	placed  [numPlaces][]List   // by place, then list: what lies where
}

// newCollection inverts lists: of texts, or of weights.
func newCollection(t testing.TB, rng *rand.Rand, numDocs int, linear bool, lists []plainList) *collection {
	t.Helper()
	c := &collection{Session: gputest.NewSession(t)}
	c.invert(rng, numDocs, linear, lists)
	return c
}

// invert makes the lists in memory.
func (c *collection) invert(rng *rand.Rand, numDocs int, linear bool, lists []plainList) {
	c.Helper()
	c.numDocs, c.lengths = numDocs, make([]uint32, numDocs)
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
		c.Must(w.AddBlock(l.docIDs, l.freqs, nil))
		m, err := w.Finish()
		c.Must(err)
		metas[i] = m
	}
	c.lists = make([]postings.List, len(lists))
	for i := range lists {
		c.Must(c.lists[i].Open(metas[i], codec.SIMDBP{}, p.Bytes(), nil, f.Bytes()))
	}
	c.segment = fastpath.Segment{NumDocs: numDocs, Base: base.DocID(rng.IntN(1000))}
}

// toDevice loads the kernels and places all lists.
func (c *collection) toDevice(places ...place) {
	c.Helper()
	var err error
	c.kernels, err = New(c.Device)
	c.Must(err)
	c.runner, err = c.kernels.NewRunner(Limits{})
	c.Must(err)
	c.Cleanup(func() { c.Must(c.runner.Close()); c.Must(c.kernels.Close()) })
	c.upload(places...)
}

// upload puts all lists at places.
func (c *collection) upload(places ...place) {
	c.Helper()
	c.onGPU = gputest.Upload(c.Session, c.lengths)
	if c.live != nil {
		words := make([]uint32, (c.numDocs+31)/32)
		for i := range words {
			words[i] = uint32(c.live[i/2] >> (i % 2 * 32))
		}
		c.segment.Live = gputest.Upload(c.Session, words)
	}
	for i := range c.lists {
		for _, p := range places {
			c.placed[p] = append(c.placed[p], c.put(&c.lists[i], p))
		}
	}
	c.Must(c.Stream.Synchronize())
}

// put puts a list where it is to lie.
func (c *collection) put(l *postings.List, p place) List {
	payload, directory := l.Raw()
	words := make([]uint32, (len(payload)+15)/16*4+4) // not empty, of a list whose widths are 0
	for i, b := range payload {
		words[i/4] |= uint32(b) << (i % 4 * 8)
	}
	entries := make([]uint32, len(directory)*decode.EntryWords)
	for i, e := range directory {
		w := entries[i*decode.EntryWords:]
		w[0], w[1], w[2] = e.First, e.Last, e.Offset
		w[3] = uint32(e.Bound) | uint32(e.DocWidth)<<16 | uint32(e.FreqWidth)<<24
	}
	placed := List{NumBlocks: uint32(len(directory)), DocFreq: l.DocFreq, Max: l.Max, Kth: l.Kth, DirectoryOnHost: p == onHost}
	if p == onDevice {
		placed.Payload = gputest.Upload(c.Session, words).Ptr()
	} else {
		placed.Payload = c.host(words)
	}
	if p == onHost {
		placed.Directory = c.host(entries)
	} else {
		placed.Directory = gputest.Upload(c.Session, entries).Ptr()
	}
	return placed
}

// host puts words into page-locked memory.
func (c *collection) host(words []uint32) cuda.Ptr[uint32] {
	b, err := cuda.AllocHost[uint32](c.Device, len(words))
	c.Must(err)
	c.Cleanup(func() { c.Must(b.Free()) })
	copy(b.Data(), words)
	return b.DevicePtr()
}

// testQuery is a query on both sides.
type testQuery struct {
	cpu traverse.Query
	gpu Query
}

// query returns the query of some lists, by rising length; boost is of all terms, and
// the mean length is avgLen now.
func (c *collection) query(conjunctive bool, k int, boost, avgLen float64, p place, lists ...int) *testQuery {
	lists = slices.Clone(lists)
	slices.SortStableFunc(lists, func(x, y int) int { return int(c.lists[x].DocFreq) - int(c.lists[y].DocFreq) })
	q := &testQuery{cpu: traverse.Query{NumDocs: c.numDocs, Live: c.live, Base: c.segment.Base}, gpu: Query{Conjunctive: conjunctive, K: k}}
	for _, i := range lists {
		l := &c.lists[i]
		t := c.sat.NewTerm(score.IDF(uint64(c.numDocs), uint64(l.DocFreq)), boost, avgLen)
		scale := score.NewScale(t, c.sat.AvgLen, avgLen)
		if c.sat.Linear {
			t = score.NewLinearTerm(boost, 1)
			scale = score.NewScale(t, 0, 0)
		}
		q.cpu.Legs = append(q.cpu.Legs, traverse.Leg{List: l, Term: t, Scale: scale, Lengths: c.lengths, MaxScore: scale.Upper(l.Max)})
		placed := c.placed[p][i]
		placed.Lengths, placed.Score, placed.Scale = c.onGPU.Ptr(), t, scale
		q.gpu.Lists = append(q.gpu.Lists, placed)
	}
	return q
}

// matches are all documents that match, by the total order of hits, as the exhaustive
// traversal finds them.
func (q *testQuery) matches(t testing.TB) []base.Hit {
	t.Helper()
	mode := traverse.Or
	if q.gpu.Conjunctive {
		mode = traverse.And
	}
	exhaustive, err := traverse.Lookup(mode, "exhaustive-daat")
	if err != nil {
		t.Fatal(err)
	}
	var queue topk.Queue
	queue.Reset(q.cpu.NumDocs)
	if err := exhaustive.Run(t.Context(), new(traverse.Scratch), &q.cpu, &queue); err != nil {
		t.Fatal(err)
	}
	return queue.AppendSorted(nil)
}

// candidates are hits as candidates of a segment.
func candidates(hits []base.Hit, from base.DocID) *Candidates {
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(x, y base.Hit) int { return int(x.DocID) - int(y.DocID) })
	c := &Candidates{}
	for _, h := range hits {
		c.DocIDs = append(c.DocIDs, uint32(h.DocID-from))
		c.Scores = append(c.Scores, uint32(h.Score))
	}
	return c
}

// check runs a query and compares with what all matches say.
func (c *collection) check(name string, q *testQuery, matches []base.Hit) {
	c.Helper()
	out := Candidates{DocIDs: []uint32{7}, Scores: []uint32{7}} // to be overwritten
	hits, count, err := c.runner.Run(c.Stream, c.segment, &q.gpu, nil, &out)
	if err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	want := matches[:min(q.gpu.K, len(matches))]
	if !slices.Equal(hits, want) {
		for i := range max(len(hits), len(want)) {
			if i >= len(hits) || i >= len(want) || hits[i] != want[i] {
				c.Fatalf("%s: %d hits, want %d of %d; from hit %d on %v, want %v", name, len(hits), len(want), len(matches), i,
					hits[min(i, len(hits)):min(len(hits), i+3)], want[min(i, len(want)):min(len(want), i+3)])
			}
		}
	}
	if wantCount := len(matches); q.gpu.Count && count != int64(wantCount) {
		c.Fatalf("%s: counts %d, want %d", name, count, wantCount)
	}
	if q.gpu.K > 0 || !q.gpu.Conjunctive {
		if len(out.DocIDs) > 0 {
			c.Fatalf("%s: candidates that were not asked for: %v", name, out)
		}
		return
	}
	if q.gpu.Count { // the number alone
		_, count, err := c.runner.Run(c.Stream, c.segment, &q.gpu, nil, nil)
		if err != nil || count != int64(len(matches)) {
			c.Fatalf("%s: counts %d, want %d: %v", name, count, len(matches), err)
		}
	}
	if w := candidates(matches, c.segment.Base); !slices.Equal(out.DocIDs, w.DocIDs) || !slices.Equal(out.Scores, w.Scores) {
		c.Fatalf("%s: %d candidates %v, want %d %v", name, len(out.DocIDs), out.DocIDs[:min(len(out.DocIDs), 5)], len(w.DocIDs), w.DocIDs[:min(len(w.DocIDs), 5)])
	}
}
