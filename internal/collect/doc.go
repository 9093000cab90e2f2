// Package collect ranks the documents that match a query: by fields, by score, by distance, in any
// combination, and one document for each value of a field. It does not find the documents: callers pass one
// bitmap a segment, or few documents. Ranking by score alone is the work of package traverse.
//
// Parse reads the JSON of OpenSearch's "sort", Run ranks. The order is total: documents with equal keys are
// in the order in which they were written. Terms are ordered by their bytes, in all segments alike.
//
// Documents are compared by integers: numbers in the coding of their column, terms by their ordinals in a
// segment. The best of a segment are then merged with the best of earlier segments, by terms. Once there are
// enough, the worst of them bounds the first key, and column.Range, which skips blocks by their minima and
// maxima, drops all documents beyond.
//
// A Run uses one goroutine.
package collect
