// Package postings writes and reads posting lists: the DocIDs, frequencies and
// positions of a term, in blocks of codec.BlockLen, with a directory of DocID
// ranges and score bounds.
//
// A Writer encodes sorted postings into three files (postings, positions,
// frontiers) and returns a Meta, the record that the dictionary stores. A List
// is a view of these bytes; a Cursor iterates over it. Verify checks every
// invariant of a list by decoding it fully.
//
// The package has no terms, fields, files or checksums: the caller verifies
// checksums before it opens a List. Invalid bytes cause errors that wrap
// base.ErrCorrupt, never a panic.
//
// A List is safe for concurrent use; a Writer and a Cursor are not.
//
// # Layout
//
// A list of one block has only that block in the postings file; its directory
// entry is part of the Meta. A longer list is 16-byte aligned:
//
//	+---------------------------+-----+---------------------------+-----+--------------+
//	| block 0: DocIDs | Freqs   | ... | block n-1: DocIDs | Freqs | 0-3 | n BlockEntry |
//	+---------------------------+-----+---------------------------+-----+--------------+
//
// If a codec's full blocks are multiples of 16 bytes, all full blocks are thus
// 16-byte aligned. With a codec.ListCodec, a longer list begins with the
// encoding of all its DocIDs, followed by the frequencies in blocks:
//
//	+-------------+------+----------------+-----+------------------+-----+--------------+
//	| all DocIDs  | 0-15 | block 0: Freqs | ... | block n-1: Freqs | 0-3 | n BlockEntry |
//	+-------------+------+----------------+-----+------------------+-----+--------------+
//
// Positions are in the same blocks, Freq vbyte gaps a posting (the first is the
// position itself). A longer list ends with the offset of each block:
//
//	+---------+-----+-----------+-----+------------------+
//	| block 0 | ... | block n-1 | 0-3 | n u32: offsets   |
//	+---------+-----+-----------+-----+------------------+
//
// The frontier of a block holds the (Freq, length) pairs that no other pair of
// the block dominates, in rising order of both, as vbytes:
//
//	+-------+---------------------------+--------------------------------+-----+
//	| pairs | Freq - 1 | length         | Freq - Freq before - 1 | length| ... |
//	+-------+---------------------------+ - length before - 1            +-----+
package postings
