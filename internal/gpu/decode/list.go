package decode

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// EntryWords is the size of a directory entry, a postings.BlockEntry, in words.
const EntryWords = 4

// ErrShape means that buffers are too short or not aligned: a bug of the
// caller.
var ErrShape = errors.New("decode: buffers do not fit the list")

// Source is a list in device memory.
type Source struct {
	// The blocks as in the postings file, 16-byte aligned. It may extend beyond
	// the list; all of it is initialised.
	Payload cuda.Buffer[uint32]
	// EntryWords words for each block.
	Directory cuda.Buffer[uint32]
	// Additional input of the codec, 16-byte aligned; see doc.go.
	Side cuda.Buffer[uint32]
	// At least 1.
	NumPostings int
}

// NumBlocks returns the number of blocks of the list.
func (s *Source) NumBlocks() int { return (s.NumPostings + codec.BlockLen - 1) / codec.BlockLen }

// List is a list of a batch for kernels, a mirror of DecodeList. NewList
// creates it, Plan completes it.
type List struct {
	payload, directory, selected, out, side, count  cuda.Ptr[uint32]
	numPostings, numBlocks, firstTile, payloadWords uint32
}

// NewList returns a list whose selected blocks, or all blocks if selected is
// the zero Buffer, are decoded to out: value i of the s-th block to
// out[128*s+i], 16-byte aligned. Numbers in selected are below NumBlocks, which
// is not checked; they may be in any order and may repeat. The error wraps
// ErrShape if buffers do not fit.
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

// Counted returns the list with a number in device memory, read when the kernel
// runs: the first *count selected blocks are decoded, at most the number given
// to NewList.
func (l List) Counted(count cuda.Buffer[uint32]) List {
	l.count = count.Ptr()
	return l
}

// Batch is the shape of a batch of lists.
type Batch struct {
	numLists, numTiles, tileBlocks uint32
}

// Plan divides the lists of a batch into tiles and sets the first tile of each.
// Copy the lists to the device afterwards.
func Plan(lists []List) Batch {
	blocks := uint64(0)
	for i := range lists {
		blocks += uint64(lists[i].numBlocks)
	}
	return plan(lists, tileBlocks(blocks))
}

// plan is Plan with tiles of tileBlocks blocks.
func plan(lists []List, tileBlocks uint32) Batch {
	b := Batch{numLists: uint32(len(lists)), tileBlocks: tileBlocks}
	for i := range lists {
		lists[i].firstTile = b.numTiles
		b.numTiles += (lists[i].numBlocks + b.tileBlocks - 1) / b.tileBlocks
	}
	return b
}
