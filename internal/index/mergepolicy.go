package index

// maxSimilarSegments is how many segments of similar size a commit leaves.
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
// It is the tiered policy of Lucene (LogMergePolicy), on neighbours only, so
// that the order of documents stays: at each level of size, smallest first, the
// segments at the end that are of that level or a lower one are merged when
// there are more than maxSimilarSegments of them, the new one included. So a
// document is written once for each level that it passes, and an index of n
// documents has at most 10*log10(n) segments or so.
func mergeFrom(sizes []int, newDocs int) (from int) {
	from = len(sizes)
	for level, top := 3, sizeLevel(1<<32); level <= top; level++ {
		start := from
		for start > 0 && sizeLevel(sizes[start-1]) <= level {
			start--
		}
		count := from - start
		if (newDocs > 0 && sizeLevel(newDocs) <= level) || from < len(sizes) {
			count++
		}
		if count > maxSimilarSegments {
			from = start
		}
	}
	return from
}

// mostlyDead tells whether a segment is worth being written anew just to drop
// its deleted documents.
func mostlyDead(numDocs, numLive int) bool { return numLive < numDocs/2 }
