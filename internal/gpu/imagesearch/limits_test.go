package imagesearch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/score"
)

// Scores are around 2^32; a range across a border of 32 postings counts twice.
func TestWeightsNear32Bits(t *testing.T) {
	const numDocs, first = 140_000, 70_000
	var l querytest.List
	for doc := range uint32(64) {
		l.DocIDs, l.Freqs = append(l.DocIDs, first+doc), append(l.Freqs, 1)
	}
	l.Freqs[3] = 200                    // alone in its range
	l.Freqs[20], l.Freqs[40] = 255, 255 // in one range, across the border of 32 postings
	c := newCollection(t, rand.New(rand.NewPCG(15, 15)), numDocs, true, []querytest.List{l})
	c.toDevice()
	if k := c.images[0].kind; k != sparse {
		t.Fatalf("the list is of kind %d", k)
	}
	b, err := c.kernels.NewBatch(limits)
	must(t, err)
	defer func() { must(t, b.Close()) }()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	wide := 0
	for boost := 100.0; boost < 256; boost += 10 {
		q := c.query(Or, 1, map[int]float64{0: boost}, 0, 0)
		w, err := q.gpu.check(&c.segment)
		must(t, err)
		if w.wide() {
			wide++
		}
		must(t, s.Search(c.Stream, c.segment, &q.gpu))
		name := fmt.Sprintf("boost %v", boost)
		q.compare(t, name, c, s.AppendHits(nil), 0)
		runBatch(t, name, c, b, []testQuery{q})
	}
	if wide == 0 || wide == 16 {
		t.Errorf("%d of 16 queries are wide", wide)
	}
}

// The first and the last document of segments of all sizes are found.
func TestSegmentSizes(t *testing.T) {
	session := gputest.NewSession(t)
	stream := session.Stream
	kernels, err := Load(session.Device)
	must(t, err)
	defer func() { must(t, kernels.Close()) }()
	b, err := kernels.NewBatch(limits)
	must(t, err)
	defer func() { must(t, b.Close()) }()
	s, err := kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	for _, numDocs := range []int{1, superDocs, superDocs + 1, 1 << 31, MaxDocs, MaxDocs + 1, base.MaxDocs} {
		docIDs := slices.Compact([]uint32{0, uint32(numDocs - 1)})
		freqs := []uint32{1, 2}[:len(docIDs)]
		shape := Shape{
			NumDocs: numDocs, DocFreq: len(docIDs), CollFreq: uint64(len(docIDs)) * 2,
			Saturation: score.Saturation{BM25: score.DefaultBM25, Linear: true}, Max: 2,
		}
		encoded, err := Encode(nil, shape, docIDs, freqs, nil)
		must(t, err)
		data := gputest.Upload(session, encoded)
		image, err := NewImage(data, shape)
		must(t, err)
		term := Term{Leg: leg.Leg{Term: score.NewLinearTerm(1, 1)}, Image: image}
		term.Scale = score.NewScale(term.Term, 0, 0)
		var want []base.Hit
		for i, doc := range docIDs {
			want = append(want, base.Hit{DocID: base.DocID(doc), Score: term.Term.Score(freqs[i], 0)})
		}
		slices.Reverse(want)
		// All superblocks, or the postings of one list and the bucket of another.
		for _, q := range []Query{
			{Mode: Or, K: 10, Terms: []Term{term}},
			{Mode: And, K: 10, Count: true, Terms: []Term{term, term}},
		} {
			b.Reset(Segment{NumDocs: numDocs})
			if _, err := b.Add(&q); err != nil {
				if numDocs <= MaxDocs || !errors.Is(err, ErrUnsuited) {
					t.Errorf("%d documents, mode %d: %v", numDocs, q.Mode, err)
				}
				continue
			}
			must(t, b.Launch(stream))
			must(t, b.Wait())
			got := b.AppendHits(nil, 0)
			for i := range got {
				got[i].Score /= base.Score(len(q.Terms))
			}
			if !slices.Equal(got, want) || q.Count && b.Count(0) != uint64(len(want)) {
				t.Errorf("%d documents, mode %d: %v, %d matches, want %v", numDocs, q.Mode, got, b.Count(0), want)
			}
			if q.Mode == And || numDocs == 1<<31 || !sampletest.All() && !gputest.OnGPU() && numDocs > 1<<20 {
				continue // takes seconds on the emulator
			}
			must(t, s.Search(stream, Segment{NumDocs: numDocs}, &q))
			if got := s.AppendHits(nil); !slices.Equal(got, want) {
				t.Errorf("%d documents, a single query: %v, want %v", numDocs, got, want)
			}
		}
	}
}

// With little shared memory, windows are smaller; larger queries are rejected or need another batch.
func TestLittleSharedMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 17))
	c := randomCollection(t, rng, 40*superDocs, 6, false, 9)
	c.toDevice()
	b, err := c.kernels.NewBatch(limits)
	must(t, err)
	defer func() { must(t, b.Close()) }()
	few, many := c.query(Or, 10, nil, c.Saturation.AvgLen, 0), c.query(Or, 10, nil, c.Saturation.AvgLen, 1, 2, 3, 4, 5)
	best := c.query(Or, 300, nil, c.Saturation.AvgLen, 0)
	c.kernels.shared = sharedBytes(5, minWindow+1, capacity(10))
	if w := c.kernels.windowFor(40, 5, capacity(10)); w != minWindow {
		t.Errorf("windows of %d superblocks", w)
	}
	runBatch(t, "small windows", c, b, []testQuery{few, many})
	b.Reset(c.segment)
	if _, err := b.Add(&best.gpu); !errors.Is(err, ErrUnsuited) {
		t.Errorf("k 300: %v", err)
	}
	c.kernels.shared = sharedBytes(1, minWindow, capacity(300))
	for i, want := range []error{ErrFull, nil} { // the hits of one, and the terms of the other
		b.Reset(c.segment)
		_, err := b.Add(&[]testQuery{many, few}[i].gpu)
		must(t, err)
		if _, err := b.Add(&best.gpu); !errors.Is(err, want) {
			t.Errorf("with %d terms and k 300: %v, want %v", len([]testQuery{many, few}[i].gpu.Terms), err, want)
		}
	}
}
