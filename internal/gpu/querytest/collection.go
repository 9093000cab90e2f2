package querytest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// List is a decoded posting list.
type List struct{ DocIDs, Freqs []uint32 }

// Collection is a segment in memory, searched by the CPU and by a GPU.
type Collection struct {
	NumDocs    int
	Base       base.DocID
	Saturation score.Saturation
	Lengths    []uint32 // of documents
	Live       []uint64 // bitmap of documents that are not deleted; nil: all
	Plain      []List
	Lists      []postings.List // Plain encoded with simdbp
}

// NewCollection inverts lists (of texts, or of weights if linear) with random
// document lengths.
func NewCollection(t testing.TB, rng *rand.Rand, numDocs int, linear bool, lists []List) *Collection {
	t.Helper()
	c := &Collection{NumDocs: numDocs, Base: base.DocID(rng.IntN(1000)), Lengths: make([]uint32, numDocs), Plain: lists}
	total := 0
	for i := range c.Lengths {
		c.Lengths[i] = 10 + rng.Uint32N(300)
		if rng.IntN(100) == 0 {
			c.Lengths[i] *= 50
		}
		total += int(c.Lengths[i])
	}
	c.Saturation = score.Saturation{BM25: score.DefaultBM25, AvgLen: float64(total) / float64(numDocs), Linear: linear}
	var p, f bytes.Buffer
	w := postings.NewWriter(postings.Options{Codec: codec.SIMDBP{}, Saturation: c.Saturation}, &p, nil, &f)
	metas := make([]postings.Meta, len(lists))
	for i, l := range lists {
		w.Begin(c.Lengths)
		must(t, w.AddBlock(l.DocIDs, l.Freqs, nil))
		m, err := w.Finish()
		must(t, err)
		metas[i] = m
	}
	c.Lists = make([]postings.List, len(lists))
	for i := range lists {
		must(t, c.Lists[i].Open(metas[i], codec.SIMDBP{}, p.Bytes(), nil, f.Bytes()))
	}
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// DeleteSome marks a fraction of the documents as deleted.
func (c *Collection) DeleteSome(rng *rand.Rand, part float64) {
	c.Live = make([]uint64, (c.NumDocs+63)/64)
	for d := range c.NumDocs {
		if rng.Float64() >= part {
			c.Live[d/64] |= 1 << (d % 64)
		}
	}
}

// RandomFilter returns a bitmap of random documents: 0.1 % to 99 % of them, alone or in runs, none or all.
func (c *Collection) RandomFilter(rng *rand.Rand) []uint64 {
	share := []float64{0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 1}[rng.IntN(8)]
	run := []int{1, 1, 40, 500}[rng.IntN(4)] // the mean number of adjacent documents with the same bit
	words := make([]uint64, (c.NumDocs+63)/64)
	in := rng.Float64() < share
	for d := range c.NumDocs {
		if rng.IntN(run) == 0 {
			in = rng.Float64() < share
		}
		if in {
			words[d/64] |= 1 << (d % 64)
		}
	}
	return words
}

// Intersect returns the documents of a filter that are live.
func (c *Collection) Intersect(filter []uint64) []uint64 {
	live := slices.Clone(filter)
	for i := range c.Live {
		live[i] &= c.Live[i]
	}
	return live
}

// Leg returns list i with a boost and a mean document length.
func (c *Collection) Leg(i int, boost, avgLen float64) traverse.Leg {
	l := &c.Lists[i]
	t := c.Saturation.NewTerm(score.IDF(uint64(c.NumDocs), uint64(l.DocFreq)), boost, avgLen)
	scale := score.NewScale(t, c.Saturation.AvgLen, avgLen)
	if c.Saturation.Linear {
		t = score.NewLinearTerm(boost, 1)
		scale = score.NewScale(t, 0, 0)
	}
	return traverse.Leg{Leg: leg.Leg{List: l, Term: t, Scale: scale}, Lengths: c.Lengths, MaxScore: scale.Upper(l.Max)}
}

// Matches returns all matching documents in the total order of hits, by the
// exhaustive traversal.
func Matches(t testing.TB, mode traverse.Mode, q *traverse.Query) []base.Hit {
	t.Helper()
	exhaustive, err := traverse.Lookup(mode, "exhaustive-daat")
	must(t, err)
	var queue topk.Queue
	queue.Reset(q.NumDocs)
	must(t, exhaustive.Run(t.Context(), new(traverse.Scratch), q, &queue))
	return queue.AppendSorted(nil)
}

// Diff describes the first difference between hits, or "".
func Diff(got, want []base.Hit) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	if i == len(got) && i == len(want) {
		return ""
	}
	return fmt.Sprintf("%d hits, want %d; from hit %d on %v, want %v", len(got), len(want), i, got[i:min(len(got), i+3)], want[i:min(len(want), i+3)])
}

// SortHits sorts hits by the total order.
func SortHits(hits []base.Hit) {
	slices.SortFunc(hits, func(x, y base.Hit) int {
		if x.Before(y) {
			return -1
		}
		return 1
	})
}

// Words returns a bitmap of documents in the device's format.
func Words(bitmap []uint64, numDocs int) []uint32 {
	w := make([]uint32, (numDocs+31)/32)
	for i := range w {
		w[i] = uint32(bitmap[i/2] >> (i % 2 * 32))
	}
	return w
}
