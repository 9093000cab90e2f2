// Package ciff reads and writes the Common Index File Format, in which search
// engines exchange inverted indexes: Lin, Mackenzie, Kamphuis, Macdonald,
// Mallia, Siedlaczek, Trotman, de Vries, "Supporting Interoperability Between
// Open-Source Search Engines with the Common Index File Format", SIGIR 2020.
//
// A file is a stream of protocol buffers, each after its length as a varint:
//
//	+--------+--------------+-----+--------------+-----------+-----+-----------+
//	| Header | PostingsList | ... | PostingsList | DocRecord | ... | DocRecord |
//	+--------+--------------+-----+--------------+-----------+-----+-----------+
//	           Header.NumPostingsLists             Header.NumDocs
//
// Reader and Writer stream: they hold one posting list at a time. In the file
// the document of a posting is a gap to the one before it, the first being
// itself; here a Posting holds the document itself. Reader checks all that can
// be checked (counts, order, ranges, the stored document and collection
// frequencies), says at which byte and in which list something is wrong, and
// neither panics nor allocates more than in proportion to what it has read.
// What Reader read, Writer writes back byte for byte if it was in canonical
// form, as protocol buffer libraries write it.
//
// The lengths of the documents come last, though an importer that computes
// bounds of scores needs them first: see ReadDocsFirst.
//
// A Reader or Writer is for one goroutine.
package ciff
