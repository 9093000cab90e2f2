// Package ciff reads and writes the Common Index File Format for the exchange of inverted
// indexes: Lin, Mackenzie, Kamphuis, Macdonald, Mallia, Siedlaczek, Trotman, de Vries,
// "Supporting Interoperability Between Open-Source Search Engines with the Common Index File
// Format", SIGIR 2020.
//
// A file is a stream of protocol buffers, each preceded by its length as a varint:
//
//	+--------+--------------+-----+--------------+-----------+-----+-----------+
//	| Header | PostingsList | ... | PostingsList | DocRecord | ... | DocRecord |
//	+--------+--------------+-----+--------------+-----------+-----+-----------+
//	           Header.NumPostingsLists             Header.NumDocs
//
// Reader and Writer hold one posting list at a time. The file stores a posting's document as a
// gap to the previous one; a Posting here holds the document itself. Reader checks counts,
// order, ranges and stored frequencies. Its errors have byte offset and list; memory is at most
// in proportion to the bytes read. Writer reproduces a canonical file, as protocol buffer
// libraries write it, byte for byte.
//
// Documents' lengths come last, but importers that compute score bounds need them first: see
// ReadDocsFirst.
//
// A Reader or Writer is not safe for concurrent use.
package ciff
