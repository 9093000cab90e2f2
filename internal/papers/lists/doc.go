// Package lists keeps posting lists in the codes of the papers, for their engines.
//
// A paper's index has its own code; ours may have another. A List is the copy of a posting list in a
// given code, made at its first use and kept in the index's cache of derived structures. DocIDs have
// the layout of the postings file: blocks of codec.BlockLen, or one sequence with a codec.ListCodec,
// and a directory with the first and last DocID of each block, the papers' skip pointers. Frequencies
// are separate, packed with codec.SIMDBP, so that one can be read alone (ding09 §8.2).
//
// A List is read-only and safe for concurrent use.
package lists
