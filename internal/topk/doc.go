// Package topk keeps the best k hits of a search in the total order of results: score
// descending, DocID ascending, or by Ties. A Queue is not safe for concurrent use, and meant to
// be reused.
package topk
