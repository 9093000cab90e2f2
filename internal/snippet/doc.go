// Package snippet picks the passages of a document's text that show best why a
// query found it, and marks the query's words in them.
//
// A Maker is made for one query and used for each hit: the text is cleaned
// (normalize.go), analysed piece by piece until every term was seen or a bound
// is reached, the best windows over the matches are chosen (window.go), and
// each is widened to sentence or word boundaries (cut.go). All of it is linear
// in the text that is looked at. The result is plain text with byte ranges, to
// be joined, escaped and marked by whoever shows it.
//
// The package is not for ranking documents, nor for whole documents with all
// words marked.
//
// Concurrency: a Maker belongs to one goroutine at a time, and so does the
// analyzer that it was given.
package snippet
