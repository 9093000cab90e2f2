package index

// A commit leaves no more segments of similar size.
const maxSimilarSegments = 10

// sizeLevel returns the decimal digits of a segment's size; all below 1,000 documents
// are similar.
func sizeLevel(numDocs int) (level int) {
	for level = 3; numDocs >= 1000; numDocs /= 10 {
		level++
	}
	return level
}

// mergeFrom returns the first of the last segments that a commit writes as one with its new
// documents. sizes has the segments' live documents.
//
// It is Lucene's LogMergePolicy, on the last segments only, so that the order stays: at each
// level of size, smallest first, more than maxSimilarSegments of the last segments, with the
// new one, are merged, with smaller ones among them. We differ: a segment also takes in those
// before it of a lower level, if together they are not larger, so that small ones do not stay
// between large ones. A document is written about once per level.
func mergeFrom(sizes []int, newDocs int) (from int) {
	from = len(sizes)
	total := newDocs
	for level, top := sizeLevel(0), sizeLevel(1<<32); level <= top; level++ {
		start, count, sum := from, 0, 0
		for ; start > 0 && sizeLevel(sizes[start-1]) <= level; start-- {
			sum += sizes[start-1]
			if sizeLevel(sizes[start-1]) == level {
				count++
			}
		}
		if total > 0 && sizeLevel(total) == level {
			count++
		}
		if count > maxSimilarSegments || sizeLevel(total) > level && sum <= total {
			from, total = start, total+sum
		}
	}
	return from
}

// mostlyDead reports whether to rewrite a segment only to drop its deleted documents.
func mostlyDead(numDocs, numLive int) bool { return numLive < numDocs/2 }
