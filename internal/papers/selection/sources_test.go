package selection_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/topk"
)

// Known only to the device.
func TestCountAndConditionOnDevice(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const k = 10
	in := randomInput(rng, 2500, scoresOf[1].score)
	source := in.source(b)
	for _, n := range []uint32{0, 7, 2000, 2500, 3000} {
		cut := in
		cut.scores = in.scores[:min(int(n), len(in.scores))]
		source.Count = gputest.Upload(b.Session, []uint32{n})
		source.Matches, source.Enough = gputest.Upload(b.Session, []uint32{k - 1}), k
		b.compare("counted", source, 32*len(in.live), k, cut.oracle(k))
	}
	scratch, err := b.selector.NewScratch(2500, k, selection.Methods()...)
	b.Must(err)
	b.Cleanup(func() { b.Must(scratch.Free()) })
	source.Matches = gputest.Upload(b.Session, []uint32{k})
	before := slices.Repeat([]selection.Key{7}, k)
	for _, m := range selection.Methods() {
		out := gputest.Upload(b.Session, before)
		b.Must(b.selector.Select(b.Stream, m, source, k, out, scratch))
		if got := gputest.Download(b.Session, out); !slices.Equal(got, before) {
			t.Errorf("%v wrote %v although there were enough matches", m, got)
		}
	}
}

func TestArrays(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, k := range []int{1, 10, 1000, 2048} {
		var inputs []input
		var arrays []selection.Array
		for _, n := range []int{0, 1, 300, 2049, 7000} {
			in := randomInput(rng, n, scoresOf[rng.IntN(len(scoresOf))].score)
			array, err := selection.NewArray(in.source(b))
			b.Must(err)
			inputs, arrays = append(inputs, in), append(arrays, array)
		}
		out := gputest.Alloc[selection.Key](b.Session, k*len(arrays))
		b.Must(b.selector.Arrays(b.Stream, gputest.Upload(b.Session, arrays), k, out))
		keys := gputest.Download(b.Session, out)
		for i := range inputs {
			if got, want := selection.AppendHits(nil, keys[i*k:][:k]), inputs[i].oracle(k); !slices.Equal(got, want) {
				t.Fatalf("k=%d array %d of %d scores:\n got %v\nwant %v", k, i, len(inputs[i].scores), got, want)
			}
		}
	}
}

// Scores of up to 48 bits, and documents with too few postings.
func TestWide(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, bits := range []int{1, 8, 33, 48} {
		for _, shape := range []struct{ n, k int }{{0, 1}, {1, 10}, {700, 1}, {2000, 100}} {
			sums := make([]uint64, shape.n)
			var q topk.Queue
			q.Reset(shape.k)
			count, least := uint32(0), uint32(rng.Uint64N(1<<min(bits, 32)))
			for i := range sums {
				s, postings := base.Score(rng.Uint64()>>(64-bits)), rng.IntN(4)
				sums[i] = scoring.WideSum(s, postings)
				if postings >= 2 && s >= base.Score(least) {
					q.Add(base.Hit{DocID: base.DocID(i) + 5, Score: s})
					count++
				}
			}
			source := selection.Source[uint64]{Scores: gputest.Upload(b.Session, sums), Base: 5, LeastScore: least, LeastPostings: 2}
			scratch, err := b.selector.NewScratch(shape.n, shape.k, selection.Bucket)
			b.Must(err)
			out, counted := gputest.Alloc[selection.WideKey](b.Session, shape.k), gputest.Upload(b.Session, []uint32{0})
			b.Must(b.selector.Wide(b.Stream, source, shape.k, out, scratch))
			b.Must(b.selector.CountWide(b.Stream, source, counted))
			if got, want := selection.AppendWideHits(nil, gputest.Download(b.Session, out)), q.AppendSorted(nil); !slices.Equal(got, want) {
				t.Fatalf("%d bits n=%d k=%d:\n got %v\nwant %v", bits, shape.n, shape.k, got, want)
			}
			if got := gputest.Download(b.Session, counted)[0]; got != count {
				t.Fatalf("counted %d hits, want %d", got, count)
			}
			b.Must(scratch.Free())
		}
	}
}

func TestCount(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, 5000} {
		in := randomInput(rng, n, scoresOf[4].score)
		count := gputest.Upload(b.Session, []uint32{3})
		b.Must(b.selector.Count(b.Stream, in.source(b), count))
		if got, want := int(gputest.Download(b.Session, count)[0])-3, len(in.oracle(n)); got != want {
			t.Errorf("n=%d: counted %d, want %d", n, got, want)
		}
	}
}

func TestShapesAreChecked(t *testing.T) {
	b := newBench(t)
	scratch, err := b.selector.NewScratch(100, 10, selection.Top)
	b.Must(err)
	defer func() { b.Must(scratch.Free()) }()
	scores, out := gputest.Alloc[uint32](b.Session, 200), gputest.Alloc[selection.Key](b.Session, 20)
	source := selection.Source[uint32]{Scores: scores.Slice(0, 100)}
	cpu, err := selection.NewCPU(b.Device, 100, 100)
	b.Must(err)
	defer func() { b.Must(cpu.Free()) }()
	onCPU := func(s selection.Source[uint32], k int) error {
		_, err := cpu.AppendHits(nil, b.Stream, s, k)
		return err
	}
	fewLive := selection.Source[uint32]{Scores: source.Scores, Live: scores.Slice(0, 3)}
	high := selection.Source[uint32]{Scores: source.Scores, Base: math.MaxUint32 - 99}
	for what, err := range map[string]error{
		"more scores":      b.selector.Select(b.Stream, selection.Top, selection.Source[uint32]{Scores: scores}, 10, out, scratch),
		"greater k":        b.selector.Select(b.Stream, selection.Top, source, 11, out, scratch),
		"short out":        b.selector.Select(b.Stream, selection.Top, source, 10, out.Slice(0, 9), scratch),
		"method":           b.selector.Select(b.Stream, selection.Heap, source, 10, out, scratch),
		"few DocIDs":       b.selector.Select(b.Stream, selection.Top, selection.Source[uint32]{Scores: source.Scores, DocIDs: scores.Slice(0, 9)}, 10, out, scratch),
		"unaligned":        b.selector.Select(b.Stream, selection.Top, selection.Source[uint32]{Scores: scores.Slice(1, 9)}, 10, out, scratch),
		"few live":         b.selector.Select(b.Stream, selection.Top, fewLive, 10, out, scratch),
		"a high base":      b.selector.Select(b.Stream, selection.Top, high, 10, out, scratch),
		"cpu, few DocIDs":  onCPU(selection.Source[uint32]{Scores: source.Scores, DocIDs: scores.Slice(0, 9)}, 10),
		"cpu, few live":    onCPU(fewLive, 10),
		"cpu, more scores": onCPU(selection.Source[uint32]{Scores: scores}, 10),
		"cpu, k below 0":   onCPU(source, -1),
		"arrays":           b.selector.Arrays(b.Stream, cuda.Buffer[selection.Array]{}, selection.MaxK+1, out),
	} {
		t.Run(what, func(t *testing.T) {
			if !errors.Is(err, selection.ErrShape) {
				t.Errorf("%s: %v, want ErrShape", what, err)
			}
		})
	}
}
