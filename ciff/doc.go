// Package ciff reads and writes the Common Index File Format, in which search engines
// exchange inverted indexes: Lin, Mackenzie, Kamphuis, Macdonald, Mallia, Siedlaczek,
// Trotman, de Vries, "Supporting Interoperability Between Open-Source Search Engines with
// the Common Index File Format", SIGIR 2020.
//
// A file is a stream of protocol buffers, each preceded by its length as a varint:
//
//	+--------+--------------+-----+--------------+-----------+-----+-----------+
//	| Header | PostingsList | ... | PostingsList | DocRecord | ... | DocRecord |
//	+--------+--------------+-----+--------------+-----------+-----+-----------+
//	           Header.NumPostingsLists             Header.NumDocs
//
// Reader and Writer stream: they hold one posting list at a time. In the file, the document
// of a posting is stored as a gap to the previous one, the first as itself; a Posting here
// holds the document itself. Reader checks counts, order, ranges, and the stored document
// and collection frequencies. Its errors have the byte offset and the list. It does not
// panic, and allocates at most in proportion to the bytes read. Writer reproduces a file
// byte for byte if it was in canonical form, as protocol buffer libraries write it.
//
// The lengths of the documents come last, but an importer that computes score bounds needs
// them first: see ReadDocsFirst.
//
// A Reader or Writer is not safe for concurrent use.
package ciff
