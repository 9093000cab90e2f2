// Package snippet selects the passages of a document's text that best show why a query found
// it, and marks the query's words.
//
// A Maker serves one query. It cleans the text (normalize.go), analyses it piece by piece until
// every term has been seen or a limit is reached, chooses the best windows over the matches
// (window.go), and widens each to sentences or words (cut.go). The cost is linear in the text
// read. Results are plain text with byte ranges.
//
// A Maker and its analyzer are not safe for concurrent use.
package snippet
