// Package snippet selects the passages of a document's text that best show why a query
// found it, and marks the query's words in them.
//
// A Maker is created for one query and used for each hit. It cleans the text
// (normalize.go), analyses it piece by piece until every term has been seen or a limit is
// reached, chooses the best windows over the matches (window.go), and widens each to
// sentence or word boundaries (cut.go). The cost is linear in the text that is read. The
// result is plain text with byte ranges; the caller joins, escapes and marks it.
//
// The package does not rank documents and does not mark whole documents.
//
// A Maker, and the analyzer passed to it, are not safe for concurrent use.
package snippet
