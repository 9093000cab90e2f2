// Package exec plans queries over the segments of an index and runs them.
//
// A Searcher holds one snapshot of an index. Prepare turns a query tree into a
// Plan: words go through the index's analyzer, words and phrases become leaves
// with one posting list a segment and term, duplicates are summed, and the
// weights come from statistics over all segments. Plan.Run then takes the
// segments one after another with one top-k queue, so that the threshold
// reached in one prunes in the next. A plan that is a flat AND or OR of terms
// runs on a traversal of package traverse; everything else runs on the
// iterators of this package, document at a time.
//
// It does not parse (package query), does not read stored documents (the root
// package does), and knows nothing of files.
//
// # Semantics
//
// Scores are those of the terms and phrases that a document has and that are
// not excluded, summed, whether they were required or not. Statistics count
// documents that are deleted but not yet merged away, as Lucene's do: so a
// deletion changes no score until segments are merged. A phrase is scored as a
// term whose frequency is the number of its occurrences and whose idf is the
// sum of its terms' idfs, as Lucene does it.
//
// # Concurrency
//
// A Searcher is safe for concurrent use. A Plan is read-only once prepared and
// may be run by several goroutines, each with its own Scratch.
package exec
