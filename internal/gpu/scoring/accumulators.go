package scoring

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Unless is a condition that the device decides: nothing is done if Matches, one number
// that work before has written, is at least Enough. It is how AND+OR (ding09 §8.3) scores
// all postings only where the intersection has too few documents, without waiting for
// the device. The zero Unless never holds anything back.
type Unless struct {
	Matches cuda.Buffer[uint32]
	Enough  uint32
}

// unless is an Unless as kernels read it.
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

// accumulatorVector is the number of bytes that Clear writes at once.
const accumulatorVector = 16

// Clear starts setting accumulators to 0. Their size is a multiple of 16 bytes, as is
// their address.
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

// Accumulate starts adding the contributions of a list to the accumulators of its
// documents: sums[d] is that of document d. Lists are accumulated one after another, in
// one stream.
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

// AccumulateAll starts adding the contributions of all lists, each with DocIDs, to the
// accumulators of their documents. longest is the number of postings of the longest list.
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
