package contraction

import "math/bits"

// Buckets divides a sequence by leading bits: x is in bucket x >> Shift, and bucket h has
// positions Starts[h] to Starts[h+1]-1. An empty bucket has the next one's start.
//
// Ao et al. §4.4: a bucket is the first m of x's k binary digits, the least k with universe <=
// 2^k. Their HSs has the least m with n/s <= 2^m for n elements, so a bucket holds at most s on
// average if values are uniform.
type Buckets struct {
	Shift  uint8
	Starts []uint32 // [number of buckets + 1]; buckets after the last element are omitted
	Len    int
}

// BucketBits returns k-m, for n values below universe, size of them a bucket, both at least 1.
//
// For 1,000 values below 50,000, 16 a bucket: k = 16, m = 6, the bucket is x >> 10 (tested).
func BucketBits(n int, universe uint64, size int) uint8 {
	k := bits.Len64(universe - 1)
	m := bits.Len(uint(max(0, (n+size-1)/size-1))) // least with ceil(n/size) <= 2^m
	return uint8(max(0, k-m))
}

// NewBuckets returns buckets of at most size values below universe on average.
func NewBuckets(seq []uint32, universe uint64, size int) *Buckets {
	return NewBucketsOf(seq, BucketBits(len(seq), universe, size))
}

// NewBucketsOf returns an increasing sequence's buckets with a Shift, in memory proportional to
// the last value >> shift.
func NewBucketsOf(seq []uint32, shift uint8) *Buckets {
	b := &Buckets{Shift: shift, Len: len(seq)}
	if len(seq) == 0 {
		b.Starts = []uint32{0}
		return b
	}
	n := int(seq[len(seq)-1]>>b.Shift) + 1
	b.Starts = make([]uint32, 1, n+1)
	for i, d := range seq {
		for h := int(d >> b.Shift); len(b.Starts) <= h; {
			b.Starts = append(b.Starts, uint32(i))
		}
	}
	b.Starts = append(b.Starts, uint32(len(seq)))
	return b
}

// Range returns lo <= hi with the first position whose element is at least x in [lo, hi]; Len
// means none.
func (b *Buckets) Range(x uint32) (lo, hi int) {
	h := int(x >> b.Shift)
	if h+1 >= len(b.Starts) {
		return b.Len, b.Len
	}
	return int(b.Starts[h]), int(b.Starts[h+1])
}

// Sizes calls f with each bucket's number of elements.
func (b *Buckets) Sizes(f func(size int)) {
	for h := 1; h < len(b.Starts); h++ {
		f(int(b.Starts[h] - b.Starts[h-1]))
	}
}

// SizeBytes is the approximate memory.
func (b *Buckets) SizeBytes() int64 { return 4*int64(len(b.Starts)) + 32 }
