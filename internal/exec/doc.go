// Package exec plans queries over the segments of an index and runs them.
//
// A Searcher holds one snapshot of an index. Prepare turns a query tree into a
// Plan: words go through the index's analyzer (compile.go) and become a tree of
// terms and phrases, simplified (tree.go); the terms' lists are found in every
// segment and weighted by statistics over all of them (plan.go). Plan.Run then
// takes the segments one after another with one top-k queue, so that the
// threshold reached in one prunes in the next (run.go). A flat AND or OR of
// terms runs on a traversal of package traverse; everything else on the
// iterators of this package, document at a time (iterator.go, phrase.go,
// conjunction.go, disjunction.go). Explain tells how one document's score came
// about.
//
// Where there is a GPU, or limits are asked for, a Dispatcher says where and when
// (dispatcher.go): a placedRun takes a plan stage by stage, and a conjunction in pieces,
// list by list, whose candidates go from one processor to the other (placed.go,
// steps.go); before each piece the policy predicts what all that is left would take
// (place.go, outlook.go), and afterwards the model learns what it took (observe.go). What
// takes the CPU much longer than it would take the GPU goes there (patience.go).
// Lists that were missed are brought beside queries (feed.go).
//
// It does not parse (package query), does not read stored documents (the root
// package does), and knows nothing of files.
//
// # Semantics
//
//   - A group matches a document that has everything required in it and nothing
//     excluded; where nothing is required, at least one of what is optional. Its
//     score is the sum over the required and optional parts that match.
//   - A term that a group has twice counts once, with the sum of the boosts.
//   - Words of which analysis leaves nothing (stop words) are left out, also
//     where they are required or excluded. Notes say so.
//   - A word that becomes several terms ("wi-fi") is a phrase or, where the index
//     has no positions, a group in which all of them are required. In query.Words
//     each term stands alone.
//   - A phrase is scored as a term whose frequency is the number of its
//     occurrences and whose idf is the sum of its terms' idfs, as Lucene does it.
//   - Statistics count documents that are deleted but not yet merged away, as
//     Lucene's do: a deletion changes no score until segments are merged.
//
// # Concurrency
//
// A Searcher is safe for concurrent use. A Plan is read-only once prepared and
// may be run by several goroutines, each with its own Scratch. A Dispatcher is safe for
// concurrent use and is shared by the Searchers of an index.
package exec
