// Package inverter turns documents into partial indexes, the input of segment.Write, in bounded
// memory on all processors.
//
//	corpus ──cut──▶ chunks ──▶ workers: parse, analyse, invert ──▶ partial indexes ──segment.Write──▶ segment
//	        (1 goroutine)      (one whole chunk each)              (memory or files)
//
// # Steps
//
//  1. One goroutine reads raw batches and groups them into chunks of some megabytes
//     (pipeline.cut). It neither parses nor looks at records.
//  2. Each worker takes a whole chunk, parses its records, analyses their text and adds
//     them to an inverter: per field a hash table of terms (termTable) and for each term
//     a chain of bytes in a slab (chains) with its compressed postings. Stored documents
//     are compressed into a temporary file at once.
//  3. At the end of the chunk the worker sorts the terms and joins the chains: a partial
//     index (partial). It stays in memory while the budget lasts; later ones are appended
//     to the worker's spill file (partialStore).
//  4. At the end of the corpus the partial indexes are in the order of their chunks, which
//     is the order of the corpus. DropDuplicates drops documents whose id comes again.
//     segment.Write then merges the lists, term by term, each in one sequential pass.
//
// The DocID of a document is its number in the corpus. The result does not depend on the
// number of threads, the memory or the size of batches.
//
// Batch does the same with documents that are added one by one. Forward turns the lists of
// a source into a forward index, for package reorder.
//
// The package knows neither manifests nor commits: package index has them.
//
// # Concurrency
//
// Invert starts goroutines and waits for them. Partials and Batch are for one goroutine.
package inverter
