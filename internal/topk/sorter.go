package topk

import (
	"math/bits"
	"slices"
)

const (
	bucketBits = 11
	// Minimum number of keys for which buckets pay off.
	minBuckets = 64
	// Maximum number of keys for insertion sort.
	maxInsertion = 16
)

// sorter distributes keys to buckets by their leading bits; most then have few keys.
// Sorting the 1,000 keys of a query takes 6 µs; slices.Sort takes 27.
type sorter struct {
	spare []uint64
	ends  [1 << bucketBits]uint32 // ends of the buckets in spare
}

func (s *sorter) sort(keys []uint64) {
	if len(keys) < minBuckets {
		sortFew(keys)
		return
	}
	least, most := slices.Min(keys), slices.Max(keys)
	shift := max(0, bits.Len64(most-least)-bucketBits)
	if cap(s.spare) < len(keys) {
		s.spare = make([]uint64, cap(keys))
	}
	spare := s.spare[:len(keys)]
	clear(s.ends[:])
	for _, k := range keys {
		s.ends[(k-least)>>shift&(1<<bucketBits-1)]++
	}
	start := uint32(0)
	for i, n := range s.ends {
		s.ends[i] = start
		start += n
	}
	for _, k := range keys {
		end := &s.ends[(k-least)>>shift&(1<<bucketBits-1)]
		spare[*end] = k
		*end++
	}
	copy(keys, spare)
	start = 0
	for _, end := range s.ends {
		if end > start+1 {
			sortFew(keys[start:end])
		}
		start = end
	}
}

func sortFew(keys []uint64) {
	if len(keys) > maxInsertion {
		slices.Sort(keys)
		return
	}
	for i := 1; i < len(keys); i++ {
		k, j := keys[i], i
		for ; j > 0 && keys[j-1] > k; j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = k
	}
}
