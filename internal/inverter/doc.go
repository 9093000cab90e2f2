// Package inverter turns documents into partial indexes, segment.Write's input, in bounded
// memory on all processors.
//
//	corpus ──cut──▶ chunks ──▶ workers: parse, analyse, invert ──▶ partial indexes ──segment.Write──▶ segment
//	        (1 goroutine)      (one whole chunk each)              (memory or files)
//
// # Steps
//
//  1. One goroutine groups raw batches into chunks of some megabytes (pipeline.cut).
//  2. A worker takes a whole chunk, parses and analyses its records and adds them to an
//     inverter: per field a hash table of terms (termTable), and per term a chain of bytes
//     in a slab (chains) with its compressed postings. Stored documents are compressed
//     into a temporary file at once.
//  3. At the end of a chunk, sorted terms and joined chains make a partial index
//     (partial), in memory while the budget lasts, then in the worker's spill file
//     (partialStore).
//  4. At the end, partial indexes are in corpus order. DropDuplicates drops documents
//     whose id comes again; segment.Write merges the lists, each in one pass.
//
// A DocID is the document's number in the corpus; threads, memory and batches do not affect the
// result.
//
// Of typed fields (package mapping), keywords are terms, and numbers, dates, places and keywords
// are also collected as columns.
//
// Batch does the same with single documents, and Crew with documents from several goroutines. A Crew keeps stored
// documents in memory while the budget lasts. The tokens of documents whose title and text are all that is inverted of
// them go to arrays instead, which are sorted by term (plainTokens); segment.Write reads them as they are (plainLists).
// Forward makes a forward index for package reorder.
//
// Package index has manifests and commits.
//
// # Concurrency
//
// Invert starts goroutines and waits for them. Partials and Batch are for one goroutine.
package inverter
