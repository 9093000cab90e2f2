// Package griffin is an embeddable search engine. It indexes documents into a folder
// and answers ranked queries (BM25) with phrases, fields, boosts, required and
// excluded words, snippets, and an explanation of every score. Searches run on the
// CPU and on GPUs, with identical answers.
//
//	ix, err := griffin.OpenOrCreate("books.griffin", griffin.Settings{}, griffin.Options{})
//	...
//	err = ix.Add(ctx, griffin.Document{ID: "1", Title: "Moby-Dick", Text: "Call me Ishmael."})
//	err = ix.Commit(ctx)
//	results, err := ix.Search(ctx, griffin.Query{Text: "ishmael"})
//
// Index.IndexFiles reads large collections from files, in parallel and in bounded
// memory. Index.SearchBatch answers many queries at a time. Package query builds
// queries from nodes.
//
// # Settings and options
//
// Settings are fixed when an index is created. Options apply to one open Index. A
// Runtime owns the GPUs, queues, caches and limits of a process; indexes share it.
// The zero value of each struct has the defaults.
//
// # Searching and writing
//
// An Index is safe for concurrent use. A search sees the documents of one commit,
// regardless of later commits. Commit makes the changes of Add and Delete visible. One
// process may write to an index; any number may read it. A reader sees the commits of
// another process after Refresh.
//
// # Results
//
// Scores are fixed-point sums. The same documents and the same query give the same
// ranking on any machine and any processor, ties included: higher score first, then
// the document that was added first (in an index that was not reordered).
//
// # Errors
//
// Errors wrap one of the Err values of this package if the caller can act on them.
// ErrBadInput stands for every invalid argument. When a context ends, the work stops
// within about a millisecond, and the error is the context's.
package griffin

// Version is the version of this module, as CHANGELOG.md lists it.
const Version = "0.1.0"
