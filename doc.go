// Package griffin is a search engine to embed: it indexes documents into a
// folder and answers ranked queries (BM25) over them, with phrases, fields,
// boosts, required and excluded words, snippets, and the reason for every
// score.
//
//	ix, err := griffin.Create("books.griffin")
//	...
//	err = ix.Add(ctx, griffin.Document{ID: "1", Title: "Moby-Dick", Text: "Call me Ishmael."})
//	err = ix.Commit(ctx)
//	results, err := ix.Search(ctx, "ishmael", griffin.WithSnippets())
//
// Large collections are read from files, in parallel and in bounded memory, by
// Index.IndexFiles.
//
// # Searching and writing
//
// An Index is safe for concurrent use. A search sees the documents of one
// commit, from beginning to end, whatever is written meanwhile. What Add and
// Delete did is seen after Commit. One process may write to an index, any
// number may read it: a reader sees what another process committed after
// Refresh.
//
// # Results
//
// Scores are fixed-point sums, so that the same documents and the same query
// give the same ranking on any machine, ties included: higher score first,
// then the document that was added first (in an index that was not reordered).
//
// # Errors
//
// Errors wrap one of the Err values of this package where the caller can do
// something about them; ErrBadInput stands for everything that is wrong with
// what was passed in. A context that ends stops the work within about a
// millisecond and its error is returned.
package griffin

// Version is the version of this module, as CHANGELOG.md lists it.
const Version = "0.1.0"
