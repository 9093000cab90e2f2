package latency

import (
	"sort"
	"time"
)

// Bucket counts the samples above the bucket before it and not above UpTo.
type Bucket struct {
	UpTo  time.Duration
	Count int
}

// Histogram counts samples in buckets whose upper ends are 1, 2 and 5 times the
// powers of ten nanoseconds: even on a logarithmic axis, round to read. It runs
// from the bucket of the least sample to that of the greatest, empty ones
// between them included; without samples it is nil. Samples below 1 ns are in
// the bucket up to 1 ns.
func Histogram(samples []time.Duration) []Bucket {
	if len(samples) == 0 {
		return nil
	}
	counts := make([]int, len(bucketEnds))
	first, last := len(bucketEnds), 0
	for _, d := range samples {
		i := sort.Search(len(bucketEnds)-1, func(i int) bool { return d <= bucketEnds[i] })
		counts[i]++
		first, last = min(first, i), max(last, i)
	}
	histogram := make([]Bucket, 0, last-first+1)
	for i := first; i <= last; i++ {
		histogram = append(histogram, Bucket{bucketEnds[i], counts[i]})
	}
	return histogram
}

// bucketEnds are the upper ends of all buckets; the last holds whatever is
// above the one before it.
var bucketEnds = func() []time.Duration {
	const greatestPower = 1e18 // of the powers of ten that an int64 holds
	var ends []time.Duration
	for power := time.Nanosecond; ; power *= 10 {
		ends = append(ends, power, 2*power, 5*power)
		if power == greatestPower {
			return append(ends, 1<<63-1)
		}
	}
}()
