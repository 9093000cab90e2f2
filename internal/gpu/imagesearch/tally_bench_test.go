package imagesearch

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Counts of the values of a column over all matches: the median of the wall-clock time of a Count, and the mean device time
// of others. 8 million documents on a GPU, 5000 on the emulator, where the times mean nothing.
func BenchmarkTally(b *testing.B) {
	numDocs, rounds := 8_000_000, 200
	if !gputest.OnGPU() {
		numDocs, rounds = 5000, 2
	}
	rng := rand.New(rand.NewPCG(13, 13))
	c := randomCollection(b, rng, numDocs, len(densities), false, 3)
	c.toDevice()
	column := randomValues(rng, c, 1001, false, false, false)
	few := make([]uint64, (numDocs+63)/64)
	for range numDocs / 100 {
		d := rng.IntN(numDocs)
		few[d/64] |= 1 << (d % 64)
	}
	for _, bench := range []struct {
		name     string
		mode     Mode
		lists    []int
		filtered bool
		columns  []Values
	}{
		{"or", Or, []int{2, 4, 5, 7}, false, []Values{column.device}},
		{"or/filter=1%", Or, []int{2, 4, 5, 7}, true, []Values{column.device}},
		{"or/lists=dense", Or, []int{2, 3, 4}, false, []Values{column.device}},
		{"or/lists=half", Or, []int{1, 2}, false, []Values{column.device}},
		{"or/values=no", Or, []int{2, 4, 5, 7}, false, nil},
		{"and", And, []int{1, 2, 5}, false, []Values{column.device}},
		{"all", And, nil, false, []Values{column.device}},
	} {
		q := c.query(bench.mode, 0, nil, c.Saturation.AvgLen, bench.lists...)
		if bench.filtered {
			q.filter(c, few)
		}
		b.Run(bench.name, func(b *testing.B) {
			s, err := c.kernels.NewTally()
			must(b, err)
			defer func() { must(b, s.Close()) }()
			must(b, s.Count(c.Stream, c.segment, &q.gpu, bench.columns))
			var took []time.Duration
			var device time.Duration
			for b.Loop() {
				s.SetTimed(false)
				for range rounds {
					began := time.Now()
					must(b, s.Count(c.Stream, c.segment, &q.gpu, bench.columns))
					took = append(took, time.Since(began))
				}
				s.SetTimed(true)
				for range rounds {
					must(b, s.Count(c.Stream, c.segment, &q.gpu, bench.columns))
					one, err := s.Elapsed()
					must(b, err)
					device += one
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(device.Nanoseconds())/1e3/float64(b.N*rounds), "device-µs")
			b.ReportMetric(float64(s.Matches()), "matches")
		})
	}
}
