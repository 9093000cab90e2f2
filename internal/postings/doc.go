// Package postings writes and reads posting lists: the DocIDs, frequencies and
// positions of one term, in blocks of codec.BlockLen with a directory of what
// each block holds and how high it can score.
//
// A Writer turns sorted postings into bytes for three files (postings,
// positions, frontiers) and a Meta, the record by which the dictionary finds
// them again. A List is a view of those bytes; a Cursor walks one. Verify
// checks every invariant of a list against a slow reading of it.
//
// The package does not know terms, fields, files or checksums: whoever opens a
// List has checked the bytes' checksums. Bytes that are wrong all the same make
// errors that wrap base.ErrCorrupt, never a panic.
//
// A List may be read by several goroutines; a Writer and a Cursor belong to one.
//
// # Layout
//
// A list of one block has only the block in the postings file; its directory
// entry is part of the Meta. A longer list is 16-byte aligned:
//
//	+---------------------------+-----+---------------------------+-----+--------------+
//	| block 0: DocIDs | Freqs   | ... | block n-1: DocIDs | Freqs | 0-3 | n BlockEntry |
//	+---------------------------+-----+---------------------------+-----+--------------+
//
// so that with a codec whose full blocks are multiples of 16 bytes, all full
// blocks are 16-byte aligned. With a codec.ListCodec, a longer list begins with
// all of its DocIDs, encoded as one, and has the frequencies in blocks behind:
//
//	+-------------+------+----------------+-----+------------------+-----+--------------+
//	| all DocIDs  | 0-15 | block 0: Freqs | ... | block n-1: Freqs | 0-3 | n BlockEntry |
//	+-------------+------+----------------+-----+------------------+-----+--------------+
//
// Positions lie in the same blocks, as vbyte gaps,
// Freq of them a posting (the first is the position itself); a longer list has
// its directory, the offset of each block, behind them:
//
//	+---------+-----+-----------+-----+------------------+
//	| block 0 | ... | block n-1 | 0-3 | n u32: offsets   |
//	+---------+-----+-----------+-----+------------------+
//
// The frontier of a block is its (Freq, length) pairs that no other pair of the
// block dominates, in rising order of both, as vbytes:
//
//	+-------+---------------------------+--------------------------------+-----+
//	| pairs | Freq - 1 | length         | Freq - Freq before - 1 | length| ... |
//	+-------+---------------------------+ - length before - 1            +-----+
package postings
