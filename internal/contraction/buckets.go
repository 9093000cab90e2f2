package contraction

import "math/bits"

// Buckets divides a sequence by the leading bits of its values: the bucket of x is x >>
// Shift, and bucket h holds the elements at positions Starts[h] to Starts[h+1]-1. An empty
// bucket has the start of the next non-empty bucket.
//
// Ao et al. §4.4: x is a number of k binary digits, where k is the least with universe <=
// 2^k. Its bucket is the first m digits. Their algorithm HSs has the least m with n/s <=
// 2^m for n elements, so a bucket holds at most s elements on average if values are uniform
// over the universe.
type Buckets struct {
	Shift  uint8
	Starts []uint32 // [number of buckets + 1]; buckets after the last element are omitted
	Len    int
}

// BucketBits returns k-m, the number of bits of a value that its bucket leaves
// undetermined, for n values below universe, size of them a bucket. universe and size are
// at least 1.
//
// For 1,000 values below 50,000, 16 a bucket: k = 16, m = 6, the bucket is x >> 10
// (tested).
func BucketBits(n int, universe uint64, size int) uint8 {
	k := bits.Len64(universe - 1)
	m := bits.Len(uint(max(0, (n+size-1)/size-1))) // least with ceil(n/size) <= 2^m
	return uint8(max(0, k-m))
}

// NewBuckets returns the buckets of a sequence of values below universe, with at most size
// values a bucket on average.
func NewBuckets(seq []uint32, universe uint64, size int) *Buckets {
	return NewBucketsOf(seq, BucketBits(len(seq), universe, size))
}

// NewBucketsOf returns the buckets of an increasing sequence with a given Shift. Its memory
// is proportional to the last value >> shift.
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

// Range returns lo <= hi such that the first position whose element is at least x is in
// [lo, hi], where Len means none.
func (b *Buckets) Range(x uint32) (lo, hi int) {
	h := int(x >> b.Shift)
	if h+1 >= len(b.Starts) {
		return b.Len, b.Len
	}
	return int(b.Starts[h]), int(b.Starts[h+1])
}

// Sizes calls f with the number of elements of each bucket.
func (b *Buckets) Sizes(f func(size int)) {
	for h := 1; h < len(b.Starts); h++ {
		f(int(b.Starts[h] - b.Starts[h-1]))
	}
}

// SizeBytes returns the approximate memory of the structure.
func (b *Buckets) SizeBytes() int64 { return 4*int64(len(b.Starts)) + 32 }
