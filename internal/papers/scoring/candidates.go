package scoring

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Candidates are documents common to the lists processed already.
type Candidates struct {
	DocIDs cuda.Buffer[uint32] // ascending
	// Count, unless it is the zero Buffer, holds their number in device memory, at
	// most DocIDs.Len().
	Count cuda.Buffer[uint32]
}

// check reports too many candidates for the kernels, or for room sums.
func (c *Candidates) check(room int) error {
	if n := c.DocIDs.Len(); n > room || uint64(n) > 1<<32-1 {
		return fmt.Errorf("%d candidates to %d sums: %w", n, room, ErrShape)
	}
	return nil
}

type candidatesParams struct {
	list             List
	docIDs, from     cuda.Ptr[uint32]
	before, sums     uint64 // addresses of sums, narrow or wide
	numCandidates    cuda.Ptr[uint32]
	maxCandidates, _ uint32
}

// AddTerm enqueues scoring candidates for one term:
//
//	sums[i] = before[from[i]] + contribution of candidate i
//
// before holds the sums before the last intersection, in which candidate i had
// index from[i], or i if from is the zero Buffer. If before is the zero Buffer,
// there are no sums yet. before and sums may be the same if from is the zero
// Buffer.
func AddTerm[S Sum](k *Kernels, s *cuda.Stream, l *List, c Candidates, from cuda.Buffer[uint32], before, sums cuda.Buffer[S]) error {
	n := c.DocIDs.Len()
	if err := c.check(sums.Len()); err != nil {
		return err
	}
	switch {
	case from.IsZero() && !before.IsZero() && before.Len() < n,
		!from.IsZero() && (from.Len() < n || before.Ptr() == sums.Ptr()):
		return fmt.Errorf("%d candidates from %d places in %d sums: %w", n, from.Len(), before.Len(), ErrShape)
	case n > int(l.freqs.numPlaces) && (l.postings != 0 || c.Count.IsZero()):
		return fmt.Errorf("%d candidates of a list with postings of %d: %w", n, l.freqs.numPlaces, ErrShape)
	}
	if n == 0 {
		return nil
	}
	p := candidatesParams{
		list: *l, docIDs: c.DocIDs.Ptr(), from: from.Ptr(), before: uint64(before.Ptr()), sums: uint64(sums.Ptr()),
		numCandidates: c.Count.Ptr(), maxCandidates: uint32(n),
	}
	return cuda.Launch(s, k.byWidth[widthOf[S]()].candidates, k.grid(n), cuda.D1(threads), 0, &p)
}

type queryParams struct {
	lists                   cuda.Ptr[List]
	docIDs                  cuda.Ptr[uint32]
	sums                    uint64
	numCandidates           cuda.Ptr[uint32]
	maxCandidates, numLists uint32
}

// Score enqueues scoring candidates for all terms together: sums[i] becomes the
// sum of the contributions of candidate i, whose posting in each list is
// Source.Postings[i].
func Score[S Sum](k *Kernels, s *cuda.Stream, lists cuda.Buffer[List], c Candidates, sums cuda.Buffer[S]) error {
	n := c.DocIDs.Len()
	if err := c.check(sums.Len()); err != nil {
		return err
	}
	if lists.Len() > MaxTerms {
		return fmt.Errorf("%d lists: %w", lists.Len(), ErrShape)
	}
	if n == 0 {
		return nil
	}
	p := queryParams{
		lists: lists.Ptr(), docIDs: c.DocIDs.Ptr(), sums: uint64(sums.Ptr()),
		numCandidates: c.Count.Ptr(), maxCandidates: uint32(n), numLists: uint32(lists.Len()),
	}
	return cuda.Launch(s, k.byWidth[widthOf[S]()].query, k.grid(n), cuda.D1(threads), 0, &p)
}
