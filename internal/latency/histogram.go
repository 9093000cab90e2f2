package latency

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Histogram counts times in fixed buckets (75 KB), for measurements without a known end. Each
// time up to 511 ns has its own bucket; then each power of two has 256. A quantile is its
// bucket's upper end: at most 1/256 too large, never too small. Count, mean and maximum are
// exact.
//
// Methods are safe for concurrent use; recording takes three atomic additions and does not
// allocate. The zero value is ready.
type Histogram struct {
	counts [histogramBuckets]atomic.Int64
	count  atomic.Int64
	sum    atomic.Int64 // nanoseconds; enough for 292 years
	max    atomic.Int64
}

const (
	// The bits below a time's leading one that select the bucket.
	histogramBits = 8
	// 2^43 ns are 2.4 hours; longer times go into the last bucket.
	histogramTop     = 43
	histogramBuckets = (histogramTop - histogramBits + 1) << histogramBits
)

// bucketOf returns d's bucket, d >= 0.
//
// 1,000 ns is 1111101000 in binary: the leading one is dropped, the next 8 of its 10 bits are
// 0xf4, so the bucket is (10-8)<<8 + 0xf4 = 756, for 1,000 and 1,001.
func bucketOf(d time.Duration) int {
	n := bits.Len64(uint64(d))
	if n <= histogramBits+1 {
		return int(d)
	}
	if n > histogramTop {
		return histogramBuckets - 1
	}
	shift := n - histogramBits - 1
	return (shift+1)<<histogramBits + int(d>>shift)&(1<<histogramBits-1)
}

func bucketEnd(bucket int) time.Duration {
	shift := bucket>>histogramBits - 1
	if shift <= 0 {
		return time.Duration(bucket)
	}
	lead := int64(1<<histogramBits + bucket&(1<<histogramBits-1))
	return time.Duration((lead+1)<<shift - 1)
}

// Record counts a time; negative as 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.counts[bucketOf(d)].Add(1)
	h.count.Add(1)
	h.sum.Add(int64(d))
	for old := h.max.Load(); int64(d) > old && !h.max.CompareAndSwap(old, int64(d)); old = h.max.Load() {
	}
}

// Quantile is the function Quantile, rounded up to the end of a bucket.
func (h *Histogram) Quantile(num, den int) time.Duration {
	total := int64(0)
	for i := range h.counts {
		total += h.counts[i].Load()
	}
	if total == 0 {
		return 0
	}
	rank := max((total*int64(num)+int64(den)-1)/int64(den), 1)
	longest := time.Duration(h.max.Load())
	for i := range h.counts {
		if rank -= h.counts[i].Load(); rank <= 0 {
			if i == histogramBuckets-1 {
				return longest
			}
			return min(bucketEnd(i), longest)
		}
	}
	return longest
}

// Summary summarises the times.
func (h *Histogram) Summary() Summary {
	n := h.count.Load()
	if n == 0 {
		return Summary{}
	}
	return Summary{
		Count: int(n),
		Mean:  time.Duration(math.Round(float64(h.sum.Load()) / float64(n))),
		P50:   h.Quantile(50, 100),
		P90:   h.Quantile(90, 100),
		P95:   h.Quantile(95, 100),
		P99:   h.Quantile(99, 100),
		P999:  h.Quantile(999, 1000),
		Max:   time.Duration(h.max.Load()),
	}
}
