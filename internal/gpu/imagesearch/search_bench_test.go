package imagesearch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Batches in device time and single queries in wall-clock time, over random lists: 2 million
// documents on a GPU, 5000 on the emulator, where the times mean nothing. A sample of the
// answers is compared with the CPU first. bench/gpu has more realistic collections.
func BenchmarkSearch(b *testing.B) {
	numDocs, numQueries, sample := 2_000_000, 2000, 100
	if !gputest.OnGPU() {
		numDocs, numQueries, sample = 5000, 4, 4
	}
	rng := rand.New(rand.NewPCG(12, 12))
	c := randomCollection(b, rng, numDocs, 40, false, 50)
	c.toDevice()
	for _, kind := range []struct {
		name  string
		mode  Mode
		k     int
		count bool
	}{
		{"or/k=10", Or, 10, false},
		{"or/k=1000", Or, 1000, false},
		{"and/k=10", And, 10, false},
		{"or/count", Or, 0, true},
		{"and/count", And, 0, true},
	} {
		queries := make([]testQuery, numQueries)
		for i := range queries {
			// Excludes lists with all or half of the documents.
			lists := pick(rng, 1+rng.IntN(4), 30)
			for j := range lists {
				lists[j] += 2 * (1 + lists[j]/8)
			}
			queries[i] = c.query(kind.mode, kind.k, nil, c.Saturation.AvgLen, lists...)
			queries[i].gpu.Count = kind.count
		}
		batch, err := c.kernels.NewBatch(Limits{Queries: numQueries, Terms: 8 * numQueries, Hits: numQueries * kind.k})
		must(b, err)
		runBatch(b, kind.name, c, batch, queries[:sample])
		b.Run(kind.name+fmt.Sprintf("/batch=%d", numQueries), func(b *testing.B) { benchBatch(b, c, batch, queries) })
		b.Run(kind.name+"/single", func(b *testing.B) { benchSingle(b, c, queries) })
		must(b, batch.Close())
	}
}

func benchBatch(b *testing.B, c *collection, batch *Batch, queries []testQuery) {
	var device time.Duration
	for b.Loop() {
		batch.Reset(c.segment)
		for i := range queries {
			_, err := batch.Add(&queries[i].gpu)
			must(b, err)
		}
		must(b, batch.Launch(c.Stream))
		must(b, batch.Wait())
		took, err := batch.Elapsed()
		must(b, err)
		device += took
	}
	n := float64(b.N * len(queries))
	b.ReportMetric(n/device.Seconds(), "device-queries/s")
	b.ReportMetric(n/b.Elapsed().Seconds(), "queries/s")
}

func benchSingle(b *testing.B, c *collection, queries []testQuery) {
	s, err := c.kernels.NewSingle(0)
	must(b, err)
	defer func() { must(b, s.Close()) }()
	var hits []base.Hit
	var took []time.Duration
	for b.Loop() {
		for i := range queries[:min(len(queries), 200)] {
			began := time.Now()
			must(b, s.Search(c.Stream, c.segment, &queries[i].gpu))
			hits = s.AppendHits(hits[:0])
			took = append(took, time.Since(began))
		}
	}
	must(b, c.Stream.Synchronize())
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}
