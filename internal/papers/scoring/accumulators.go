package scoring

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Unless is a condition evaluated by the device: a call does nothing if
// Matches, a number written by earlier work, is at least Enough. AND+OR (ding09
// §8.3) scores all postings only if the intersection has too few documents. The
// zero Unless has no effect.
type Unless struct {
	Matches cuda.Buffer[uint32]
	Enough  uint32
}

type unless struct {
	matches   cuda.Ptr[uint32]
	enough, _ uint32
}

func (u *Unless) params() unless { return unless{matches: u.Matches.Ptr(), enough: u.Enough} }

type clearParams struct {
	unless        unless
	sums          uint64
	numVectors, _ uint32
}

// Bytes per write of Clear.
const accumulatorVector = 16

// Clear enqueues setting accumulators to 0; their size and address are
// multiples of 16 bytes.
func Clear[S Sum](k *Kernels, s *cuda.Stream, sums cuda.Buffer[S], u Unless) error {
	vectors := sums.SizeBytes() / accumulatorVector
	if sums.SizeBytes()%accumulatorVector != 0 || uint64(sums.Ptr())%accumulatorVector != 0 || vectors > 1<<32-1 {
		return fmt.Errorf("accumulators of %d bytes at %#x: %w", sums.SizeBytes(), sums.Ptr(), ErrShape)
	}
	if vectors == 0 {
		return nil
	}
	p := clearParams{unless: u.params(), sums: uint64(sums.Ptr()), numVectors: uint32(vectors)}
	return cuda.Launch(s, k.clear, k.grid(int(vectors)), cuda.D1(threads), 0, &p)
}

type accumulateParams struct {
	unless unless
	list   List
	sums   uint64
}

// Accumulate enqueues adding the contributions of a list to the accumulators,
// sums[d] of document d. Lists are accumulated one after another, on one
// stream.
func Accumulate[S Sum](k *Kernels, s *cuda.Stream, l *List, sums cuda.Buffer[S], u Unless) error {
	if l.docIDs == 0 {
		return fmt.Errorf("a list without DocIDs: %w", ErrShape)
	}
	p := accumulateParams{unless: u.params(), list: *l, sums: uint64(sums.Ptr())}
	return cuda.Launch(s, k.byWidth[widthOf[S]()].accumulate, k.grid(l.NumPostings()), cuda.D1(threads), 0, &p)
}

type accumulateAllParams struct {
	unless unless
	lists  cuda.Ptr[List]
	sums   uint64
}

// AccumulateAll is Accumulate for all lists, each with DocIDs; longest is the
// number of postings of the longest.
func AccumulateAll[S Sum](k *Kernels, s *cuda.Stream, lists cuda.Buffer[List], longest int, sums cuda.Buffer[S], u Unless) error {
	if lists.Len() > MaxTerms {
		return fmt.Errorf("%d lists: %w", lists.Len(), ErrShape)
	}
	if lists.Len() == 0 {
		return nil
	}
	grid := k.grid(longest)
	grid.Y = uint32(lists.Len())
	p := accumulateAllParams{unless: u.params(), lists: lists.Ptr(), sums: uint64(sums.Ptr())}
	return cuda.Launch(s, k.byWidth[widthOf[S]()].accumulateAll, grid, cuda.D1(threads), 0, &p)
}
