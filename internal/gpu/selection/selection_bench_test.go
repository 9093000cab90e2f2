package selection_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/selection"
)

// rounds is how many selections are timed together on a GPU.
const rounds = 20

// BenchmarkSelect is griffin18 Fig. 7, with ours: the best k of n scores like those of
// BM25, from device memory to device memory, but for method=cpu, whose time is the wall's
// and has the copy to the host in it. share-% is of the bandwidth of a copy, for 4 bytes
// read a score.
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

// benchmarkScores returns n scores.
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
	source := selection.Source[uint32]{Scores: upload(b, benchmarkScores(n))}
	scratch, err := b.selector.NewScratch(n, k, m)
	b.must(err)
	defer func() { b.must(scratch.Free()) }()
	out := alloc[selection.Key](b, k)
	b.must(b.selector.Select(b.stream, m, source, k, out, scratch))
	b.must(b.stream.Synchronize())
	times := rounds
	if !gputest.OnGPU() {
		times = 1
	}
	var took time.Duration
	for tb.Loop() {
		took += gputest.Elapsed(tb, b.stream, func() {
			for range times {
				b.must(b.selector.Select(b.stream, m, source, k, out, scratch))
			}
		})
	}
	report(tb, b.device, took, tb.N*times, 4*n, n)
}

func benchmarkCPU(tb *testing.B, n, k int) {
	b := newBench(tb)
	source := selection.Source[uint32]{Scores: upload(b, benchmarkScores(n))}
	cpu, err := selection.NewCPU(b.device, n, 0)
	b.must(err)
	defer func() { b.must(cpu.Free()) }()
	var hits []base.Hit
	b.must(b.stream.Synchronize())
	start := time.Now()
	for tb.Loop() {
		hits, err = cpu.AppendHits(hits[:0], b.stream, source, k)
		b.must(err)
	}
	report(tb, b.device, time.Since(start), tb.N, 4*n, n)
}

// report reports runs that took so long together, each over so many bytes and elements.
func report(b *testing.B, d *cuda.Device, took time.Duration, runs, bytes, elements int) {
	b.Helper()
	seconds := took.Seconds() / float64(runs)
	b.ReportMetric(seconds*1e6, "us/run")
	b.ReportMetric(float64(elements)/seconds/1e9, "Gelements/s")
	b.ReportMetric(100*float64(bytes)/seconds/1e9/gputest.CopyBandwidth(b, d), "share-%")
}

// BenchmarkArrays selects from the arrays of a batch in one launch.
func BenchmarkArrays(tb *testing.B) {
	for _, shape := range []struct{ arrays, n, k int }{{1000, 1e4, 10}, {1000, 1e4, 1000}, {500, 1e5, 10}} {
		if !gputest.OnGPU() {
			shape.arrays, shape.n = 2, 1000
		}
		tb.Run(fmt.Sprintf("arrays=%d/n=%d/k=%d", shape.arrays, shape.n, shape.k), func(tb *testing.B) {
			b := newBench(tb)
			scores := upload(b, benchmarkScores(shape.arrays*shape.n))
			arrays := make([]selection.Array, shape.arrays)
			for i := range arrays {
				var err error
				arrays[i], err = selection.NewArray(selection.Source[uint32]{Scores: scores.Slice(i*shape.n, (i+1)*shape.n)})
				b.must(err)
			}
			onDevice, out := upload(b, arrays), alloc[selection.Key](b, shape.arrays*shape.k)
			b.must(b.stream.Synchronize())
			var took time.Duration
			for tb.Loop() {
				took += gputest.Elapsed(tb, b.stream, func() { b.must(b.selector.Arrays(b.stream, onDevice, shape.k, out)) })
			}
			n := shape.arrays * shape.n
			report(tb, b.device, took, tb.N, 4*n, n)
		})
	}
}
