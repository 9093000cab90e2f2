package latency

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestHistogramBuckets(t *testing.T) {
	if got := bucketOf(1000); got != 756 || bucketEnd(756) != 1001 {
		t.Errorf("bucket of 1000 is %d, its end %d; want 756 and 1001", got, bucketEnd(756))
	}
	// Every bucket ends where the next begins.
	for i := range histogramBuckets - 1 {
		end := bucketEnd(i)
		if bucketOf(end) != i || bucketOf(end+1) != i+1 {
			t.Fatalf("bucket %d ends at %d, which is in bucket %d, and the next in %d", i, end, bucketOf(end), bucketOf(end+1))
		}
	}
	if bucketOf(1<<62) != histogramBuckets-1 {
		t.Error("a time of years is not in the last bucket")
	}
}

// Equal to Summarize within 1/256.
func TestHistogramAgainstSamples(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		samples := make([]time.Duration, 1+random.IntN(3000))
		var h Histogram
		var wg sync.WaitGroup
		for i := range samples {
			samples[i] = time.Duration(random.ExpFloat64() * float64(time.Microsecond) * float64(int64(1)<<random.IntN(16)))
		}
		for part := range slices.Chunk(samples, 1000) {
			wg.Go(func() {
				for _, d := range part {
					h.Record(d)
				}
			})
		}
		wg.Wait()
		got, want := h.Summary(), Summarize(samples)
		if got.Count != want.Count || got.Mean != want.Mean || got.Max != want.Max {
			t.Fatalf("count, mean or maximum: %+v, want %+v", got, want)
		}
		for i, pair := range [][2]time.Duration{{got.P50, want.P50}, {got.P90, want.P90}, {got.P95, want.P95}, {got.P99, want.P99}, {got.P999, want.P999}} {
			if pair[0] < pair[1] || pair[0] > pair[1]+pair[1]/256 {
				t.Fatalf("quantile %d is %v, want %v and at most 1/256 more", i, pair[0], pair[1])
			}
		}
	}
	var h Histogram
	if h.Summary() != (Summary{}) {
		t.Error("the summary of no times is not zero")
	}
	h.Record(-5)
	h.Record(1 << 50)
	if h.Quantile(50, 100) != 0 || h.Quantile(1, 1) != 1<<50 {
		t.Errorf("got %v and %v, want 0 and the maximum", h.Quantile(50, 100), h.Quantile(1, 1))
	}
}

func TestHistogramAllocates(t *testing.T) {
	var h Histogram
	if n := testing.AllocsPerRun(100, func() { h.Record(12345) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}
