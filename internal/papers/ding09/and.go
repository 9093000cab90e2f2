package ding09

import (
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/plan"
)

// and decodes the shortest list, and intersects it with the next longer one, the result with the next,
// and so on (§7.2, §8.1). After each list it adds the term's contributions to the candidates' sums
// (§8.2). The first term adds to the global scores (§8.4), unless sums are wide. Nothing returns to the host in
// between.
func (r *run[S, K]) and(mode plan.Mode, s *deviceSegment) (source selection.Source[S], err error) {
	n := s.terms[0].numPostings()
	if err := r.decode(&s.terms[0], r.work.first, cuda.Buffer[uint32]{}); err != nil {
		return source, err
	}
	if err := r.mark(stepDecompression, mode); err != nil {
		return source, err
	}
	docIDs := r.work.first.Slice(0, n)
	found := intersect.Candidates{DocIDs: docIDs}
	before := r.ranker.first(s.globals)
	added := !before.IsZero()
	for i := range s.terms {
		t := &s.terms[i]
		var postings, from cuda.Buffer[uint32]
		if added {
			from = docIDs
		}
		if i > 0 {
			out := candidatesOf(r.work.candidates[i%2], n)
			if err := r.intersect(mode, t, found.List(), out); err != nil {
				return source, err
			}
			found, from, postings = out, out.Row(0), out.Row(1)
		}
		sums := r.ranker.sums[i%2].Slice(0, n)
		list, err := t.scored(postings, cuda.Buffer[uint32]{})
		if err != nil {
			return source, err
		}
		c := scoring.Candidates{DocIDs: found.DocIDs, Count: found.Count}
		if err := scoring.AddTerm(r.kernels.scorers, r.stream, &list, c, from, before, sums); err != nil {
			return source, err
		}
		if err := r.mark(stepScoring, mode); err != nil {
			return source, err
		}
		before = sums
	}
	if !added {
		if err := r.addGlobals(mode, s, found.DocIDs, found.Count, before, scoring.Unless{}); err != nil {
			return source, err
		}
	}
	return selection.Source[S]{Scores: before, DocIDs: found.DocIDs, Count: found.Count, Live: s.live, Base: s.view.Base}, nil
}

// candidatesOf returns the candidates' memory for at most n, with positions in two lists.
func candidatesOf(c intersect.Candidates, n int) intersect.Candidates {
	return intersect.Candidates{DocIDs: c.DocIDs.Slice(0, n), Positions: c.Positions.Slice(0, 2*n), Count: c.Count}
}

// intersect enqueues intersecting candidates with a list by parallel merge find (§7.2). Row 0 of the positions of out
// refers to a, row 1 to postings of the list.
func (r *run[S, K]) intersect(mode plan.Mode, t *deviceTerm, a intersect.List, out intersect.Candidates) error {
	b, err := r.decodeFor(mode, t, a)
	if err != nil {
		return err
	}
	if err := r.kernels.intersector.MergeFind(r.stream, r.work.matching, r.levels, a, b, out); err != nil {
		return err
	}
	if !r.whole {
		if err := r.kernels.positions(r.stream, out.Row(1), r.work.selected.Numbers, out.Count); err != nil {
			return err
		}
	}
	return r.mark(stepIntersection, mode)
}

// decodeFor enqueues decoding the blocks of a list that can contain candidates (§8.1), or the whole
// list, and returns the decoded postings.
func (r *run[S, K]) decodeFor(mode plan.Mode, t *deviceTerm, a intersect.List) (decoded intersect.List, err error) {
	if r.whole {
		if err := r.decode(t, r.work.decoded, cuda.Buffer[uint32]{}); err != nil {
			return decoded, err
		}
		return intersect.List{DocIDs: r.work.decoded.Slice(0, t.numPostings())}, r.mark(stepDecompression, mode)
	}
	source, err := r.decodeExceptions(t)
	if err != nil {
		return decoded, err
	}
	if err := r.mark(stepDecompression, mode); err != nil {
		return decoded, err
	}
	b := &intersect.Blocks{Firsts: source.Directory, Stride: decode.EntryWords, Len: source.NumPostings, BlockShift: blockShift}
	selected := r.work.selected
	if err := r.kernels.intersector.SelectBlocks(r.stream, r.work.matching, a, b, selected); err != nil {
		return decoded, err
	}
	if err := r.mark(stepIntersection, mode); err != nil {
		return decoded, err
	}
	room := intersect.DecodedRoom(a, b)
	list, err := decode.NewList(source, selected.Numbers.Slice(0, room>>blockShift), r.work.decoded.Slice(0, room))
	if err != nil {
		return decoded, err
	}
	if err := r.kernels.decoders.DecodeList(r.stream, r.codec, decode.DocIDs, list.Counted(selected.Count)); err != nil {
		return decoded, err
	}
	decoded = intersect.List{DocIDs: r.work.decoded.Slice(0, min(room, source.NumPostings)), Len: selected.Len}
	return decoded, r.mark(stepDecompression, mode)
}
