package decode

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// EntryWords is the number of words of a directory entry, a postings.BlockEntry.
const EntryWords = 4

// ErrShape says that buffers are too short for a list, or lie at an address that
// kernels cannot use: an error of the program.
var ErrShape = errors.New("decode: buffers do not fit the list")

// Source is a list in device memory.
type Source struct {
	// Payload is the list's blocks as they lie in the postings file, at an address that
	// is a multiple of 16. It may go on behind the list (to the directory, say); all of
	// it has been written.
	Payload cuda.Buffer[uint32]
	// Directory has EntryWords words for each block of the list.
	Directory cuda.Buffer[uint32]
	// Side is what else the codec needs, at a multiple of 16; see the codecs of lists in
	// doc.go.
	Side cuda.Buffer[uint32]
	// NumPostings is the list's DocFreq, at least 1.
	NumPostings int
}

// NumBlocks returns the number of blocks of the list.
func (s *Source) NumBlocks() int { return (s.NumPostings + codec.BlockLen - 1) / codec.BlockLen }

// List is a list of a batch as kernels read it: mirror of DecodeList. NewList makes it,
// Plan completes it.
type List struct {
	payload, directory, selected, out, side, count  cuda.Ptr[uint32]
	numPostings, numBlocks, firstTile, payloadWords uint32
}

// NewList returns the list of which the blocks numbered selected, or all if that is
// the zero Buffer, are decoded to out. Of block s of those, value i goes to out[128*s+i]:
// out has 128 words for each, at an address that is a multiple of 16. Numbers in
// selected are below NumBlocks, which is not checked; they may come in any order, and
// more than once. It returns an error that wraps ErrShape if buffers do not fit.
func NewList(s Source, selected, out cuda.Buffer[uint32]) (List, error) {
	blocks := s.NumBlocks()
	if s.NumPostings < 1 || uint64(s.NumPostings) > 1<<32-1 || s.Payload.Len() == 0 || uint64(s.Payload.Len()) > 1<<32-1 ||
		s.Directory.Len() < EntryWords*blocks {
		return List{}, fmt.Errorf("%d postings in %d words with a directory of %d: %w", s.NumPostings, s.Payload.Len(), s.Directory.Len(), ErrShape)
	}
	if !selected.IsZero() {
		blocks = selected.Len()
	}
	if blocks == 0 || out.Len() < codec.BlockLen*blocks {
		return List{}, fmt.Errorf("%d blocks to %d words: %w", blocks, out.Len(), ErrShape)
	}
	if s.Payload.Ptr()%16 != 0 || out.Ptr()%16 != 0 || s.Side.Ptr()%16 != 0 {
		return List{}, fmt.Errorf("payload at %#x, output at %#x, side at %#x: %w", s.Payload.Ptr(), out.Ptr(), s.Side.Ptr(), ErrShape)
	}
	return List{
		payload: s.Payload.Ptr(), directory: s.Directory.Ptr(), selected: selected.Ptr(), out: out.Ptr(), side: s.Side.Ptr(),
		numPostings: uint32(s.NumPostings), numBlocks: uint32(blocks), payloadWords: uint32(s.Payload.Len()),
	}, nil
}

// Counted returns the list with the number of blocks to decode in device memory, read
// when the kernel runs: the first *count of those selected are decoded, where that is
// fewer than NewList was given. count is one number.
func (l List) Counted(count cuda.Buffer[uint32]) List {
	l.count = count.Ptr()
	return l
}

// Batch is the shape of a batch of lists.
type Batch struct {
	numLists, numTiles, tileBlocks uint32
}

// Plan cuts a batch of lists into tiles, of which each list then knows its first.
// Afterwards the lists are copied to the device, for Kernels.Decode.
func Plan(lists []List) Batch {
	blocks := uint64(0)
	for i := range lists {
		blocks += uint64(lists[i].numBlocks)
	}
	return plan(lists, tileBlocks(blocks))
}

// plan is Plan with tiles of so many blocks.
func plan(lists []List, tileBlocks uint32) Batch {
	b := Batch{numLists: uint32(len(lists)), tileBlocks: tileBlocks}
	for i := range lists {
		lists[i].firstTile = b.numTiles
		b.numTiles += (lists[i].numBlocks + b.tileBlocks - 1) / b.tileBlocks
	}
	return b
}
