package living

import (
	"slices"

	"github.com/griffin-search/griffin/internal/index"
)

// The policy of merges: neighbours only, so that documents stay in the order of writing.
const (
	// A level has up to this many segments; one more, and they are merged into one of a higher level.
	segmentsPerLevel = 8
	// From this level on, 4,096 documents, a level has up to largePerLevel segments, because their merges take most of the
	// time. Queries at rest after 75 seconds of writes: 1.80 ms in the median, with 8 segments 1.62 (docs/benchmarks/living.md).
	firstLargeLevel = 4
	largePerLevel   = 16
	// weightBytes bytes have the weight of one document. A segment of one small document has fewer.
	weightBytes = 4096
	// Segments with more deleted documents, in percent, are written again.
	maxDeletedPercent = 20
	// Segments of the last level have any weight above.
	numLevels = 12
	anyLevel  = -1
	busyLevel = numLevels
)

// weight is the cost of merging a segment. It is additive: the weight of a merged segment is
// the sum of its sources' weights, except for the fixed bytes of each segment.
func weight(s index.SegmentSize) int64 {
	return int64(s.NumLive) + s.Bytes/weightBytes*int64(s.NumLive)/int64(max(s.NumDocs, 1))
}

// perLevel is the maximum number of segments of a level, and the ratio of the next level's weights to this level's.
func perLevel(level int) int {
	if level < firstLargeLevel {
		return segmentsPerLevel
	}
	return largePerLevel
}

// level is the number of times that weight can be divided by the number of segments of a level.
func level(s index.SegmentSize) (n int) {
	for w := weight(s); n < numLevels-1 && w >= int64(perLevel(n)); n++ {
		w /= int64(perLevel(n))
	}
	return n
}

// choose returns the neighbours to merge next, none of them busy: segments of the lowest level that has too
// many; else, if there are more than most segments, or more than segmentsPerLevel times the number of levels, because
// of lower ones between higher ones, those that cost least; else a segment with too many deleted documents.
// The highest level of them is of, unless that is anyLevel.
//
// A document is merged about once for each level above the one of its first segment.
func choose(sizes []index.SegmentSize, most, of int) (from, to int) {
	levels := make([]int, len(sizes))
	top, n := 0, 0 // a merge that runs counts as the segment that it makes
	for i, s := range sizes {
		levels[i] = level(s)
		top = max(top, levels[i])
		if s.Busy {
			levels[i] = busyLevel
		}
		if !s.Busy || i == 0 || !sizes[i-1].Busy {
			n++
		}
	}
	wanted := func(level int) bool { return of == anyLevel || of == level }
	for l := range top + 1 {
		if from, to = crowded(levels, l); from < to {
			if wanted(l) {
				return from, to
			}
			n = 0 // others do that first
		}
	}
	if n > max(1, min(most, segmentsPerLevel*(top+1))) {
		if from, to = cheapest(sizes); from < to && wanted(slices.Max(levels[from:to])) {
			return from, to
		}
	}
	for i, s := range sizes {
		if !s.Busy && wanted(levels[i]) && 100*(s.NumDocs-s.NumLive) > maxDeletedPercent*s.NumDocs {
			return i, i + 1
		}
	}
	return 0, 0
}

// crowded returns the first neighbours up to a level of which too many have that level.
func crowded(levels []int, level int) (from, to int) {
	for i := 0; i < len(levels); i++ {
		n, at := 0, i
		for ; i < len(levels) && levels[i] <= level; i++ {
			if levels[i] == level {
				n++
			}
		}
		if n > perLevel(level) {
			return at, i
		}
	}
	return 0, 0
}

// cheapest returns the neighbours whose merge writes least for each segment that it saves.
func cheapest(sizes []index.SegmentSize) (from, to int) {
	least := int64(0)
	for i := range sizes {
		sum := weight(sizes[i])
		for j := i + 1; j < len(sizes) && !sizes[i].Busy && !sizes[j].Busy; j++ {
			sum += weight(sizes[j])
			if from == to || sum*int64(to-from-1) < least*int64(j-i) {
				from, to, least = i, j+1, sum
			}
		}
	}
	return from, to
}
