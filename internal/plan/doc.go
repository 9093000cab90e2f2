// Package plan turns queries into plans for the segments of an index, and runs plans on the
// CPU.
//
// A Planner holds one snapshot of an index. Prepare turns a query tree into a Plan: the
// analyzer turns words into a simplified tree of terms and phrases (compile.go, tree.go); Bind
// finds the terms' lists in every segment and weights them by statistics over all segments
// (plan.go). RunCPU searches the segments in order with one top-k queue, so that the threshold
// of one segment prunes in the next (run.go). A flat AND or OR of terms runs on a traversal of
// package traverse, other queries document at a time on the iterators of this package
// (iterator.go, phrase.go, conjunction.go, disjunction.go). Matches gives the matching documents as
// bitmaps, for counting, sorting and aggregating (matches.go).
//
// The package does not know GPUs or schedulers (package dispatch derives their input by
// inspect.go), parse queries, read stored documents, or open files.
//
// # Semantics
//
//   - A group matches a document that has all required members and no excluded one, and, if nothing is
//     required, at least one optional member. Its score is the sum over the required and optional
//     members that match.
//   - A term that occurs twice in a group counts once, with the sum of the boosts.
//   - Words that analysis removes entirely (stop words) are left out, also where they are required or
//     excluded. Notes report them.
//   - A word that becomes several terms ("wi-fi") is a phrase or, if the index has no positions, a
//     group that requires all of them. In query.Words each term stands alone.
//   - A phrase is scored as a term whose frequency is the number of its occurrences and whose idf is
//     the sum of its terms' idfs, as in Lucene.
//   - Statistics count live documents only: scores are as in a new index of the live documents. In
//     Lucene, a deletion changes no statistics until segments are merged.
//
// # Concurrency
//
// A Planner is safe for concurrent use. A Plan is read-only once prepared and may be run by
// several goroutines, each with its own Scratch.
package plan
