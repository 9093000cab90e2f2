package postings

import (
	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/score"
)

// BlockEntry is what the directory of a list holds of one block. It lies in
// the file as it lies in memory: 16 bytes, little endian, 4-byte aligned.
//
//	 0        4        8        12     14  15  16
//	+--------+--------+--------+------+---+---+
//	| First  | Last   | Offset | Bound| D | F |
//	+--------+--------+--------+------+---+---+
type BlockEntry struct {
	First, Last uint32      // first and last DocID of the block
	Offset      uint32      // byte offset of the block in the list's payload
	Bound       score.Bound // BlockMaxScore without idf, rounded up
	DocWidth    uint8       // codec's width byte of the DocIDs
	FreqWidth   uint8       // codec's width byte of the frequencies
}

// Kth are the k whose k-th best saturation a list keeps, as initial thresholds.
var Kth = [3]int{10, 100, 1000}

// Meta is what the dictionary keeps of a list. The zero Meta is an empty list.
type Meta struct {
	DocFreq  uint32
	CollFreq uint64
	// Offset and Length of the list's bytes in the postings file: the payload
	// (blocks one after another, DocIDs then frequencies) and, if DocFreq >
	// codec.BlockLen, the directory: NumBlocks entries, 4-byte aligned, at the end.
	Offset, Length uint64
	// Of the only block when DocFreq <= codec.BlockLen (there is no directory then).
	First, Last         uint32
	DocWidth, FreqWidth uint8
	// Max bounds the list; Kth[i] is the Kth[i]-th best saturation, rounded
	// down, 0 if DocFreq is less.
	Max score.Bound
	Kth [3]score.Bound
	// Place of the list's positions (0,0 if the index has none) and of its
	// frontiers in their files.
	PosOffset, PosLength           uint64
	FrontierOffset, FrontierLength uint64
}

// List is a posting list ready to be read: views into mapped files. It is a
// plain value, so that opening one allocates nothing. Several goroutines may
// read one List.
type List struct {
	Meta
	Codec codec.Codec
	// Blocks is the directory; for a list of one block it points to single.
	// Use NumBlocks and Block, which serve both.
	dir     []BlockEntry
	single  BlockEntry
	payload []byte
	// positions and frontiers are the list's own bytes, empty if absent.
	positions, frontiers []byte
}
