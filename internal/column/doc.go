// Package column stores the values of documents by field, for filters, sorting and aggregations:
// zero or more 64-bit integers a document, which are numbers, or positions in a dictionary of
// byte strings (ordinals).
//
// A Set is the columns of a segment, one file, written by a Writer, column by column and in
// document order. A Column tests all its values at once (Range, Set, Exists), streams them (Scan,
// CountOrdinals), and gives single documents' values to a Cursor.
//
// A set of documents is a slice of words: document d is bit d%64 of word d/64.
//
// Sets and Columns are safe for concurrent use; Cursors and Writers are not.
//
// Format: docs/formats/columns.md. Measurements: docs/benchmarks/columns.md.
package column
