// Package topk keeps the best k hits of a search in the total order of results:
// score descending, DocID ascending. It does not know where hits come from.
//
// A Queue is for one goroutine and is meant to be reused.
package topk
