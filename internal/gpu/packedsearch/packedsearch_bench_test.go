package packedsearch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Single queries in wall-clock time, over random lists at all places: 4 million documents on a
// GPU; a few thousand on the emulator, where the times mean nothing. A sample is compared with
// the CPU first. bench/gpu has more realistic lists.
func BenchmarkQueries(b *testing.B) {
	numDocs, numQueries, sample := 4_000_000, 200, 10
	if !gputest.OnGPU() {
		numDocs, numQueries, sample = 5000, 2, 2
	}
	rng := rand.New(rand.NewPCG(13, 13))
	c := randomCollection(b, rng, numDocs, 20, false, 30, 0)
	for _, kind := range []struct {
		name        string
		conjunctive bool
		k           int
		count       bool
	}{
		{"or/k=10", false, 10, false},
		{"or/k=1000", false, 1000, false},
		{"or/count", false, 0, true},
		{"and/k=10", true, 10, false},
		{"and/candidates", true, 0, false},
	} {
		for p := range numPlaces {
			queries := make([]*testQuery, numQueries)
			for i := range queries {
				lists := rng.Perm(18)[:2+rng.IntN(3)]
				for j := range lists { // excludes lists with all or half of the documents
					lists[j] += 2 * (1 + lists[j]/8)
					lists[j] %= 20
				}
				slices.Sort(lists)
				queries[i] = c.query(kind.conjunctive, kind.k, 1, c.Saturation.AvgLen, p, slices.Compact(lists)...)
				queries[i].gpu.Count = kind.count
				if i < sample {
					c.check(kind.name, queries[i], queries[i].matches(b))
				}
			}
			b.Run(fmt.Sprintf("%s/%v", kind.name, p), func(b *testing.B) { c.bench(b, queries) })
		}
	}
}

func (c *collection) bench(b *testing.B, queries []*testQuery) {
	var out Candidates
	var took []time.Duration
	var bytes int64
	for b.Loop() {
		for _, q := range queries {
			began := time.Now()
			_, _, err := c.runner.Run(c.Stream, c.segment, &q.gpu, nil, &out)
			took = append(took, time.Since(began))
			bytes += c.runner.Stats().Bytes
			c.Must(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
	b.ReportMetric(float64(bytes)/b.Elapsed().Seconds()/1e9, "GB/s")
}
