package selection_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/selection"
)

// Selections timed together on a GPU.
const rounds = 20

// griffin18 Fig. 7 with our method: the best k of n scores like BM25's, from
// device memory to device memory. method=cpu has wall time including the copy
// to the host. share-% is relative to the bandwidth of a copy, for 4 bytes read
// per score.
func BenchmarkSelect(b *testing.B) {
	shapes := []struct{ n, k int }{
		{1e3, 10}, {1e4, 10}, {1e5, 10}, {1e6, 10}, {1e7, 10}, {25.2e6, 10}, {1e5, 1000}, {1e6, 1000}, {25.2e6, 1000},
	}
	if !gputest.OnGPU() {
		shapes = shapes[:1]
	}
	for _, m := range selection.Methods() {
		for _, shape := range shapes {
			b.Run(fmt.Sprintf("method=%v/n=%d/k=%d", m, shape.n, shape.k), func(b *testing.B) { benchmarkSelect(b, m, shape.n, shape.k) })
		}
	}
	for _, shape := range shapes {
		b.Run(fmt.Sprintf("method=cpu/n=%d/k=%d", shape.n, shape.k), func(b *testing.B) { benchmarkCPU(b, shape.n, shape.k) })
	}
}

func benchmarkScores(n int) []uint32 {
	rng := rand.New(rand.NewPCG(11, 12))
	scores := make([]uint32, n)
	for i := range scores {
		scores[i] = scoresOf[1].score(rng, i, n)
	}
	return scores
}

func benchmarkSelect(tb *testing.B, m selection.Method, n, k int) {
	b := newBench(tb)
	source := selection.Source[uint32]{Scores: gputest.Upload(b.Session, benchmarkScores(n))}
	scratch, err := b.selector.NewScratch(n, k, m)
	b.Must(err)
	defer func() { b.Must(scratch.Free()) }()
	out := gputest.Alloc[selection.Key](b.Session, k)
	b.Must(b.selector.Select(b.Stream, m, source, k, out, scratch))
	b.Must(b.Stream.Synchronize())
	times := rounds
	if !gputest.OnGPU() {
		times = 1
	}
	var took time.Duration
	for tb.Loop() {
		took += gputest.Elapsed(tb, b.Stream, func() {
			for range times {
				b.Must(b.selector.Select(b.Stream, m, source, k, out, scratch))
			}
		})
	}
	report(tb, b.Device, took, tb.N*times, 4*n, n)
}

func benchmarkCPU(tb *testing.B, n, k int) {
	b := newBench(tb)
	source := selection.Source[uint32]{Scores: gputest.Upload(b.Session, benchmarkScores(n))}
	cpu, err := selection.NewCPU(b.Device, n, 0)
	b.Must(err)
	defer func() { b.Must(cpu.Free()) }()
	var hits []base.Hit
	b.Must(b.Stream.Synchronize())
	start := time.Now()
	for tb.Loop() {
		hits, err = cpu.AppendHits(hits[:0], b.Stream, source, k)
		b.Must(err)
	}
	report(tb, b.Device, time.Since(start), tb.N, 4*n, n)
}

// took is of all runs, bytes and elements of each.
func report(b *testing.B, d *cuda.Device, took time.Duration, runs, bytes, elements int) {
	b.Helper()
	seconds := took.Seconds() / float64(runs)
	b.ReportMetric(seconds*1e6, "us/run")
	b.ReportMetric(float64(elements)/seconds/1e9, "Gelements/s")
	b.ReportMetric(100*float64(bytes)/seconds/1e9/gputest.CopyBandwidth(b, d), "share-%")
}

// The arrays of a batch in one launch.
func BenchmarkArrays(tb *testing.B) {
	for _, shape := range []struct{ arrays, n, k int }{{1000, 1e4, 10}, {1000, 1e4, 1000}, {500, 1e5, 10}} {
		if !gputest.OnGPU() {
			shape.arrays, shape.n = 2, 1000
		}
		tb.Run(fmt.Sprintf("arrays=%d/n=%d/k=%d", shape.arrays, shape.n, shape.k), func(tb *testing.B) {
			b := newBench(tb)
			scores := gputest.Upload(b.Session, benchmarkScores(shape.arrays*shape.n))
			arrays := make([]selection.Array, shape.arrays)
			for i := range arrays {
				var err error
				arrays[i], err = selection.NewArray(selection.Source[uint32]{Scores: scores.Slice(i*shape.n, (i+1)*shape.n)})
				b.Must(err)
			}
			onDevice, out := gputest.Upload(b.Session, arrays), gputest.Alloc[selection.Key](b.Session, shape.arrays*shape.k)
			b.Must(b.Stream.Synchronize())
			var took time.Duration
			for tb.Loop() {
				took += gputest.Elapsed(tb, b.Stream, func() { b.Must(b.selector.Arrays(b.Stream, onDevice, shape.k, out)) })
			}
			n := shape.arrays * shape.n
			report(tb, b.Device, took, tb.N, 4*n, n)
		})
	}
}
