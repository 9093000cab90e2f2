package living

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/index"
)

// sized is a segment of documents of some bytes. Its further bytes are about a real one's.
func sized(numDocs int, docBytes int64) index.SegmentSize {
	const besides = 1600
	return index.SegmentSize{NumDocs: numDocs, NumLive: numDocs, Bytes: besides + int64(numDocs)*docBytes}
}

// merges are those that choose asks for.
type merges struct {
	sizes           []index.SegmentSize
	added, docs     int   // documents that were added, and written by merges
	bytes, inMerges int64 // of them
	most            int   // segments after merges
}

func (m *merges) add(t *testing.T, s index.SegmentSize) {
	t.Helper()
	m.added += s.NumLive
	m.bytes += s.Bytes
	m.sizes = append(m.sizes, s)
	for {
		from, to := choose(m.sizes, 1<<30, anyLevel)
		if from == to {
			break
		}
		var sum index.SegmentSize
		for _, s := range m.sizes[from:to] {
			sum.NumDocs += s.NumLive
			sum.Bytes += s.Bytes
		}
		sum.NumLive, sum.Bytes = sum.NumDocs, sum.Bytes-1600*int64(to-from-1)
		m.docs += sum.NumDocs
		m.inMerges += sum.Bytes
		m.sizes = slices.Replace(m.sizes, from, to, sum)
	}
	top := 0
	for _, s := range m.sizes {
		top = max(top, level(s))
	}
	if n := len(m.sizes); n > segmentsPerLevel*(top+1) {
		t.Fatalf("%d segments up to level %d", n, top)
	}
	m.most = max(m.most, len(m.sizes))
}

// A document is merged about once for each level, and the segments are few, whatever the sizes of the
// batches and documents.
func TestWriteAmplification(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(sizes ...int) func(int) index.SegmentSize {
		return func(int) index.SegmentSize { return sized(sizes[rng.IntN(len(sizes))], 90) }
	}
	for name, test := range map[string]struct {
		n       int
		segment func(i int) index.SegmentSize
		most    float64 // documents, and bytes, merged for each; at most 6 bytes
	}{
		"one document":             {20_000, func(int) index.SegmentSize { return sized(1, 90) }, 4.6},
		"one large document":       {20_000, func(int) index.SegmentSize { return sized(1, 20_000) }, 4.6},
		"990 documents, 8 of one":  {20_000, func(i int) index.SegmentSize { return sized(1+i%9/8*989, 90) }, 6},
		"large and small in turn":  {20_000, func(i int) index.SegmentSize { return sized(1+i%2*4095, 90) }, 6},
		"powers":                   {20_000, random(1, 8, 64, 512, 4096), 6},
		"powers of larger batches": {5000, random(100, 1000, 10_000, 100_000), 6},
		"nested": {20_000, func(i int) index.SegmentSize { // each level between two of the next
			n := 1
			for i++; i%segmentsPerLevel == 0 && n < 4096; i /= segmentsPerLevel {
				n *= segmentsPerLevel
			}
			return sized(n, 90)
		}, 8.5}, // most because of the limit of all segments
		// What _bulk writes in ten minutes at 20 MB/s.
		"batches of passages":   {1000, func(int) index.SegmentSize { return sized(15_000, 740) }, 2},
		"documents of any size": {20_000, func(int) index.SegmentSize { return sized(1, 1<<rng.IntN(24)) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			var m merges
			for i := range test.n {
				m.add(t, test.segment(i))
			}
			docs, bytes := float64(m.docs)/float64(m.added), float64(m.inMerges)/float64(m.bytes)
			t.Logf("%.2f documents and %.2f bytes merged for each, at most %d segments", docs, bytes, m.most)
			if docs > test.most || bytes > min(test.most, 6) {
				t.Errorf("want at most %.1f, and 6 bytes", test.most)
			}
			if docs < 1.5 {
				t.Error("too few merges for a test")
			}
		})
	}
}

// Large documents are not merged with each few small ones, a limit of segments is kept, and deleted
// documents are dropped when nothing else is to be done.
func TestChoose(t *testing.T) {
	small, large := sized(1, 90), sized(1, 100<<20)
	dead := index.SegmentSize{NumDocs: 100, NumLive: 79, Bytes: 10_000}
	for _, test := range []struct {
		sizes    []index.SegmentSize
		most     int
		from, to int
	}{
		{slices.Repeat([]index.SegmentSize{small}, 8), 100, 0, 0},
		{slices.Repeat([]index.SegmentSize{small}, 9), 100, 0, 9},
		{slices.Repeat([]index.SegmentSize{sized(4000, 90)}, 9), 100, 0, 9},
		{slices.Repeat([]index.SegmentSize{sized(5000, 90)}, 16), 100, 0, 0},
		{slices.Repeat([]index.SegmentSize{sized(5000, 90)}, 17), 100, 0, 17},
		{slices.Repeat([]index.SegmentSize{sized(4095, 0)}, 9), 100, 0, 9},
		{slices.Repeat([]index.SegmentSize{sized(4096, 0)}, 16), 100, 0, 0},
		{slices.Repeat([]index.SegmentSize{sized(4096<<4-1, 0)}, 17), 100, 0, 17},
		{slices.Repeat([]index.SegmentSize{sized(4096, 0)}, 16), 15, 0, 16},
		{append([]index.SegmentSize{large}, slices.Repeat([]index.SegmentSize{small}, 8)...), 100, 0, 0},
		{append([]index.SegmentSize{large}, slices.Repeat([]index.SegmentSize{small}, 9)...), 100, 1, 10},
		{[]index.SegmentSize{large, small, large, small, small}, 4, 3, 5},
		{[]index.SegmentSize{large, small, dead}, 3, 2, 3},
		{[]index.SegmentSize{large, small, {NumDocs: 100, NumLive: 80}}, 3, 0, 0},
		{[]index.SegmentSize{small}, 1, 0, 0},
		{[]index.SegmentSize{small, small}, -1, 0, 2},
	} {
		if from, to := choose(test.sizes, test.most, anyLevel); from != test.from || to != test.to {
			t.Errorf("%+v: [%d, %d), want [%d, %d)", test.sizes, from, to, test.from, test.to)
		}
	}
}
