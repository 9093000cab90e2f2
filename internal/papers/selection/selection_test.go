package selection_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/topk"
)

type bench struct {
	*gputest.Session
	selector *selection.Selector
}

func newBench(t testing.TB) *bench {
	t.Helper()
	s := gputest.NewSession(t)
	selector, err := selection.New(s.Device)
	s.Must(err)
	t.Cleanup(func() { s.Must(selector.Close()) })
	return &bench{Session: s, selector: selector}
}

// A Source on the host; docIDs and live may be nil.
type input struct {
	scores, docIDs, live []uint32
	base                 base.DocID
	least                uint32
}

func (in *input) oracle(k int) []base.Hit {
	var q topk.Queue
	q.Reset(k)
	for i, s := range in.scores {
		d := uint32(i)
		if in.docIDs != nil {
			d = in.docIDs[i]
		}
		if s >= in.least && (in.live == nil || in.live[d/32]>>(d%32)&1 != 0) {
			q.Add(base.Hit{DocID: base.DocID(d) + in.base, Score: base.Score(s)})
		}
	}
	return q.AppendSorted(nil)
}

func (in *input) source(b *bench) selection.Source[uint32] {
	s := selection.Source[uint32]{Scores: gputest.Upload(b.Session, in.scores), Base: in.base, LeastScore: in.least}
	if in.docIDs != nil {
		s.DocIDs = gputest.Upload(b.Session, in.docIDs)
	}
	if in.live != nil {
		s.Live = gputest.Upload(b.Session, in.live)
	}
	return s
}

var scoresOf = []struct {
	name  string
	score func(rng *rand.Rand, i, n int) uint32
}{
	{"random", func(rng *rand.Rand, _, _ int) uint32 { return rng.Uint32() }},
	{"like BM25", func(rng *rand.Rand, _, _ int) uint32 { return uint32(rng.ExpFloat64() * 200000) }},
	{"all alike", func(*rand.Rand, int, int) uint32 { return 12345 }},
	{"three values", func(rng *rand.Rand, _, _ int) uint32 { return 1 + rng.Uint32N(3) }},
	{"mostly none", func(rng *rand.Rand, _, _ int) uint32 { return max(rng.Uint32N(1000), 980) - 980 }},
	{"rising", func(_ *rand.Rand, i, _ int) uint32 { return uint32(i) }},
	{"falling", func(_ *rand.Rand, i, n int) uint32 { return uint32(n - i) }},
	{"extremes", func(rng *rand.Rand, _, _ int) uint32 { return -rng.Uint32N(2) }},
}

// Alternately with DocIDs, deletions and a base.
func randomInput(rng *rand.Rand, n int, score func(rng *rand.Rand, i, n int) uint32) input {
	in := input{scores: make([]uint32, n)}
	for i := range in.scores {
		in.scores[i] = score(rng, i, n)
	}
	numDocs := n
	if rng.IntN(2) == 0 {
		numDocs = 3*n + 10
		in.docIDs = make([]uint32, n)
		for i, d := range rng.Perm(numDocs)[:n] {
			in.docIDs[i] = uint32(d)
		}
		if rng.IntN(2) == 0 {
			slices.Sort(in.docIDs)
		}
	}
	if rng.IntN(2) == 0 {
		in.live = make([]uint32, (numDocs+31)/32)
		for i := range in.live {
			dead := rng.Uint32()
			in.live[i] = ^dead | rng.Uint32()
		}
	}
	if rng.IntN(2) == 0 {
		in.base = base.DocID(rng.Uint32N(math.MaxUint32 - uint32(numDocs)))
	}
	in.least = rng.Uint32N(2)
	return in
}

// compare runs all methods.
func (b *bench) compare(name string, source selection.Source[uint32], numDocs, k int, want []base.Hit) {
	b.Helper()
	scratch, err := b.selector.NewScratch(source.Scores.Len(), k, selection.Methods()...)
	b.Must(err)
	out := gputest.Alloc[selection.Key](b.Session, k)
	for _, m := range selection.Methods() {
		if m == selection.Heap && k > heapK {
			continue
		}
		b.Must(cuda.Fill(b.Stream, out, 0xAA))
		for range 2 { // the second time with the used scratch
			b.Must(b.selector.Select(b.Stream, m, source, k, out, scratch))
		}
		keys := gputest.Download(b.Session, out)
		if got := selection.AppendHits(nil, keys); !slices.Equal(got, want) {
			b.Fatalf("%s k=%d %v:\n got %v\nwant %v", name, k, m, got, want)
		}
		if at := slices.IndexFunc(keys[len(want):], func(k selection.Key) bool { return k != 0 }); at >= 0 {
			b.Fatalf("%s k=%d %v: key %d is not 0", name, k, m, len(want)+at)
		}
	}
	cpu, err := selection.NewCPU(b.Device, source.Scores.Len(), numDocs)
	b.Must(err)
	got, err := cpu.AppendHits(nil, b.Stream, source, k)
	b.Must(err)
	if !slices.Equal(got, want) {
		b.Fatalf("%s k=%d cpu:\n got %v\nwant %v", name, k, got, want)
	}
	b.Must(cpu.Free())
	b.Must(scratch.Free())
}

// Heap extracts one hit at a time and is slow on the emulator.
var heapK = 20

func TestMethodsAgreeWithQueue(t *testing.T) {
	large := gputest.OnGPU() && !testing.Short() // the sanitizer runs short tests
	b := newBench(t)
	if large {
		heapK = selection.MaxK
	}
	rng := rand.New(rand.NewPCG(1, 2))
	shapes := []struct{ n, k int }{{0, 10}, {1, 1}, {2, 5}, {128, 1}, {511, 10}, {513, 20}, {1000, 1000}, {3000, 100}, {20000, 1}, {20000, 10}, {17000, 300}}
	if large {
		shapes = append(shapes, []struct{ n, k int }{{16384, 1000}, {16385, 1000}, {100000, 2048}, {300000, 1}, {1 << 20, 1000}, {3000001, 100}}...)
	}
	for i, kind := range scoresOf {
		t.Run(kind.name, func(t *testing.T) {
			for _, shape := range shapes {
				if shape.n > 10000 && i%2 == 1 && !large {
					continue // to save time
				}
				in := randomInput(rng, shape.n, kind.score)
				name := fmt.Sprintf("%s n=%d docIDs=%t live=%t base=%d least=%d", kind.name, shape.n, in.docIDs != nil, in.live != nil, in.base, in.least)
				b.compare(name, in.source(b), 32*len(in.live), shape.k, in.oracle(shape.k))
			}
		})
	}
}

// Only the device knows the number of scores and a condition.
func TestTopCountedOnDevice(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(23, 24))
	const n, k = 20001, 12
	scratch, err := b.selector.NewScratch(n, k, selection.Top)
	b.Must(err)
	defer func() { b.Must(scratch.Free()) }()
	in := input{scores: make([]uint32, n)}
	for i := range in.scores {
		in.scores[i] = scoresOf[1].score(rng, i, n)
	}
	out, scores := gputest.Alloc[selection.Key](b.Session, k), gputest.Upload(b.Session, in.scores)
	for _, count := range []uint32{0, 5, 127, 2048, 16512, n, n + 9} {
		source := selection.Source[uint32]{Scores: scores, LeastScore: 1, Count: gputest.Upload(b.Session, []uint32{count}), Matches: gputest.Upload(b.Session, []uint32{k - 1}), Enough: k}
		cut := input{scores: in.scores[:min(count, n)], least: 1}
		want := cut.oracle(k)
		b.Must(b.selector.Select(b.Stream, selection.Top, source, k, out, scratch))
		if got := selection.AppendHits(nil, gputest.Download(b.Session, out)); !slices.Equal(got, want) {
			t.Fatalf("count %d:\n got %v\nwant %v", count, got, want)
		}
		source.Enough, source.Count = k-1, gputest.Upload(b.Session, []uint32{1}) // enough matches
		b.Must(b.selector.Select(b.Stream, selection.Top, source, k, out, scratch))
		if got := selection.AppendHits(nil, gputest.Download(b.Session, out)); !slices.Equal(got, want) {
			t.Fatalf("count %d, enough matches: wrote %v", count, got)
		}
	}
}

// The maximum of remaining groups: k-1 whole stripes of the emulator's grid,
// and the best of another.
func TestTopOfWholeStripes(t *testing.T) {
	b := newBench(t)
	const n, k, stripeLen, stripes = 2 * 128 * 128, 40, 128, 128
	in := input{scores: make([]uint32, n)}
	for i := range in.scores {
		switch stripe := i / stripeLen % stripes; {
		case stripe < k-1:
			in.scores[i] = 9
		case stripe == k-1:
			in.scores[i] = 8
		}
	}
	if got, want := b.hits(selection.Top, &in, k), in.oracle(k); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// Top reads scores without DocIDs and deletions in vectors. Of equal scores,
// the lowest DocID must be the best of its group, or the group would be
// skipped.
func TestTopOfScoresAlone(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(21, 22))
	for _, kind := range scoresOf {
		t.Run(kind.name, func(t *testing.T) {
			for _, shape := range []struct{ n, k int }{{16385, 10}, {20001, 3}, {33000, 1}} {
				in := input{scores: make([]uint32, shape.n), base: 7, least: rng.Uint32N(3)}
				for i := range in.scores {
					in.scores[i] = kind.score(rng, i, shape.n)
				}
				if got, want := b.hits(selection.Top, &in, shape.k), in.oracle(shape.k); !slices.Equal(got, want) {
					t.Errorf("%s n=%d least=%d:\n got %v\nwant %v", kind.name, shape.n, in.least, got, want)
				}
			}
		})
	}
}
