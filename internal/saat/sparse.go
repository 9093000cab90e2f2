package saat

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/simd/accumulate"
)

// With few postings or a small budget, scanning all accumulators takes longer than filling
// them: the used lines are recorded in a bitmap, and only they are scanned (the dirty flags of
// Jia, Trotman and O'Keefe, ADCS 2010, with pages of one line, and at the end of a query).
//
// Recording a line costs about 10 ns, scanning an unused one 0.5 to 2.5 ns or its load from
// memory.
const (
	sparseShare       = 8       // maximum share of lines: one in 8
	sparseShareBeyond = 2       // the same for accumulators larger than
	sparseBeyond      = 4 << 20 // this size in bytes
)

func (s *sums[T]) fewPostings(e *Engine, q *Query) bool {
	postings := e.input.postings
	if q.Postings > 0 {
		postings = min(postings, q.Postings)
	}
	share := int64(sparseShare)
	if len(s.acc)*bits.Len64(uint64(^T(0)))/8 > sparseBeyond {
		share = sparseShareBeyond
	}
	return postings*share <= int64(len(s.acc)/accumulate.Line)
}

// flat, but the selection is from the used lines.
func (s *sums[T]) sparse(ctx context.Context, e *Engine, q *Query) error {
	const perWord = 64
	if n := len(s.acc)/accumulate.Line/perWord + 1; len(s.touched) < n {
		s.touched = make([]uint64, n)
	}
	if err := s.addByScore(ctx, e, q, s.addTouching); err != nil {
		return err
	}
	for i, w := range s.touched {
		for ; w != 0; w &= w - 1 {
			line := (i*perWord + bits.TrailingZeros64(w)) * accumulate.Line
			s.collect(&e.selection, line, line+accumulate.Line, q.Index.NumDocs())
		}
	}
	clear(s.touched)
	return nil
}

func (s *sums[T]) touch(d uint32) {
	line := d / accumulate.Line
	s.touched[line/64] |= 1 << (line % 64)
}

func (s *sums[T]) addTouching(e *Engine, x *impact.Index, seg *segment) error {
	if seg.Form != impact.Blocks {
		if err := s.add(e, x, seg); err != nil {
			return err
		}
	}
	switch seg.Form {
	case impact.Raw:
		for i := 0; i+4 <= len(seg.Bytes); i += 4 {
			s.touch(binary.LittleEndian.Uint32(seg.Bytes[i:]))
		}
	case impact.Bitmap:
		first, words, err := x.BitmapWords(&seg.Segment)
		if err != nil {
			return err
		}
		for i := 0; i < len(words); i += 8 {
			if binary.LittleEndian.Uint64(words[i:]) != 0 {
				s.touch(first + 8*uint32(i))
			}
		}
	case impact.Blocks:
		e.count(seg)
		r := &e.reader
		for x.ResetBlocks(r, &seg.Segment); r.Left() > 0; e.stats.Blocks++ {
			n, err := r.Next(&s.block)
			if err != nil {
				return err
			}
			accumulate.Scatter(s.acc, s.block[:n], T(seg.score))
			for _, d := range s.block[:n] {
				s.touch(d)
			}
		}
	}
	return nil
}
