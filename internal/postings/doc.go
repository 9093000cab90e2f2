// Package postings writes and reads posting lists: a term's DocIDs, frequencies and positions
// in blocks of codec.BlockLen, with a directory of DocID ranges and score bounds.
//
// A Writer encodes sorted postings into three files (postings, positions, frontiers) and
// returns a Meta, the dictionary's record. A List is a view of these bytes; a Cursor iterates.
// Verify decodes a list and checks every invariant.
//
// The caller verifies checksums before it opens a List. Invalid bytes cause errors that wrap
// base.ErrCorrupt, no panic.
//
// A List is safe for concurrent use; a Writer and a Cursor are not.
//
// # Layout
//
// A list of one block is only that block; its directory entry is in the Meta. A longer list is
// 16-byte aligned:
//
//	+---------------------------+-----+---------------------------+-----+--------------+
//	| block 0: DocIDs | Freqs   | ... | block n-1: DocIDs | Freqs | 0-3 | n BlockEntry |
//	+---------------------------+-----+---------------------------+-----+--------------+
//
// If a codec's full blocks are multiples of 16 bytes, all are thus aligned. With a
// codec.ListCodec, a longer list is:
//
//	+-------------+------+----------------+-----+------------------+-----+--------------+
//	| all DocIDs  | 0-15 | block 0: Freqs | ... | block n-1: Freqs | 0-3 | n BlockEntry |
//	+-------------+------+----------------+-----+------------------+-----+--------------+
//
// Positions are in the same blocks, Freq vbyte gaps a posting, the first from 0. A longer list
// ends with the blocks' offsets:
//
//	+---------+-----+-----------+-----+------------------+
//	| block 0 | ... | block n-1 | 0-3 | n u32: offsets   |
//	+---------+-----+-----------+-----+------------------+
//
// A block's frontier holds the (Freq, length) pairs that no other dominates, in rising order of
// both, as vbytes:
//
//	+-------+---------------------------+--------------------------------+-----+
//	| pairs | Freq - 1 | length         | Freq - Freq before - 1 | length| ... |
//	+-------+---------------------------+ - length before - 1            +-----+
package postings
