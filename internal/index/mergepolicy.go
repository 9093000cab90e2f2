package index

// maxSimilarSegments is the largest number of segments of similar size that a commit
// leaves.
const maxSimilarSegments = 10

// sizeLevel is the number of decimal digits of a segment's size; all below
// 1,000 documents are similar.
func sizeLevel(numDocs int) (level int) {
	for level = 3; numDocs >= 1000; numDocs /= 10 {
		level++
	}
	return level
}

// mergeFrom decides which segments a commit writes together with its new
// documents, as one segment: the last ones, from the returned index on. sizes
// has the live documents of the committed segments.
//
// It is Lucene's LogMergePolicy, on the last segments only, so that the order of
// documents stays: at each level of size, smallest first, if more than
// maxSimilarSegments of the segments at the end are of that level, the one to be
// written included, they are merged, with the smaller ones among them. We
// differ: a segment also takes in those before it that are of a lower level, if
// together they are not larger, so that small ones do not stay between large
// ones. A document is written about once for each level that it passes.
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

// mostlyDead reports whether a segment is written again only to drop its deleted
// documents.
func mostlyDead(numDocs, numLive int) bool { return numLive < numDocs/2 }
