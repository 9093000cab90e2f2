// Package aggregate computes aggregations over the documents that match a query: facets, histograms,
// ranges, statistics, nested to any depth. Requests and answers have the JSON of OpenSearch. It does not
// find the documents: callers pass one bitmap a segment.
//
// Parse reads requests, Run evaluates them over an Index and returns a tree of Result values. Documents
// flow in batches from an aggregation to those within it; each document of a batch has the number of the
// bucket that it is in. Segments are evaluated one after another.
//
// An answer depends on the documents only, not on how they are spread over segments: counts are exact,
// sums of floating-point numbers are exact before they are rounded once, sketches have one state for a
// set of values.
//
// A Run uses one goroutine; concurrent ones may share requests and columns.
package aggregate
