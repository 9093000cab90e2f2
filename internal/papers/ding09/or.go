package ding09

import (
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/plan"
)

// or adds the contributions of all postings to an accumulator for each document, one list after
// another (§8.3), and the global scores to the sums of matching documents. It does nothing if the AND before it has found enough, which only the device knows;
// then only exceptions are decoded.
func (r *run[S, K]) or(mode plan.Mode, s *deviceSegment, unless scoring.Unless) (source selection.Source[S], err error) {
	n := s.view.NumDocs()
	sums := r.ranker.sums[0].Slice(0, (n+clearLen-1)/clearLen*clearLen)
	if err := scoring.Clear(r.kernels.scorers, r.stream, sums, unless); err != nil {
		return source, err
	}
	var blocks cuda.Buffer[uint32]
	if !unless.Matches.IsZero() {
		blocks = r.work.blocks
		if err := r.kernels.fallBack(r.stream, unless, blocks.Slice(0, 1)); err != nil {
			return source, err
		}
	}
	if err := r.mark(stepInitialization, mode); err != nil {
		return source, err
	}
	for i := range s.terms {
		t := &s.terms[i]
		if err := r.decode(t, r.work.decoded, blocks); err != nil {
			return source, err
		}
		if err := r.mark(stepDecompression, mode); err != nil {
			return source, err
		}
		list, err := t.scored(cuda.Buffer[uint32]{}, r.work.decoded.Slice(0, t.numPostings()))
		if err != nil {
			return source, err
		}
		if err := scoring.Accumulate(r.kernels.scorers, r.stream, &list, sums, unless); err != nil {
			return source, err
		}
		if err := r.mark(stepScoring, mode); err != nil {
			return source, err
		}
	}
	if err := r.addGlobals(mode, s, cuda.Buffer[uint32]{}, cuda.Buffer[uint32]{}, sums.Slice(0, n), unless); err != nil {
		return source, err
	}
	return selection.Source[S]{
		Scores: sums.Slice(0, n), Live: s.live, Base: s.view.Base, LeastScore: r.ranker.leastScore, LeastPostings: r.ranker.leastPostings,
	}, nil
}

// addGlobals enqueues adding the global scores, if there are any, to sums: of candidates, or of all documents that
// have a posting.
func (r *run[S, K]) addGlobals(mode plan.Mode, s *deviceSegment, docIDs, count cuda.Buffer[uint32], sums cuda.Buffer[S], unless scoring.Unless) error {
	if s.globals.IsZero() {
		return nil
	}
	p := addGlobalsParams{
		matches: unless.Matches.Ptr(), docIDs: docIDs.Ptr(), count: count.Ptr(), globals: s.globals.Ptr(), sums: uint64(sums.Ptr()),
		enough: unless.Enough, maxSums: uint32(sums.Len()),
	}
	if err := cuda.Launch(r.stream, r.ranker.addGlobals(r.kernels), gridOf(sums.Len()), cuda.D1(gridThreads), 0, &p); err != nil {
		return err
	}
	return r.mark(stepScoring, mode)
}
