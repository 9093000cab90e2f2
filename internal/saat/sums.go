package saat

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/simd/accumulate"
)

// Accumulators of one width and their loops, zero between queries: the final scan zeroes them.
type sums[T accumulate.Accumulator] struct {
	acc   []T
	block [codec.BlockLen]uint32
	// Segments that span several windows, by form.
	blocks  []blockCursor
	bitmaps []bitmapCursor
	// A bit for each non-zero line, if these are few: see sparse.go.
	touched []uint64
}

type blockCursor struct {
	impact.BlockReader
	score uint32
}

type bitmapCursor struct {
	first uint32 // document of the first bit of words
	words []byte
	score uint32
}

func (s *sums[T]) grow(n int) {
	n = (n + accumulate.Line - 1) / accumulate.Line * accumulate.Line
	if len(s.acc) < n {
		s.acc = make([]T, n)
	}
}

// flat adds segments by score until the budget ends, then selects.
func (s *sums[T]) flat(ctx context.Context, e *Engine, q *Query) error {
	if err := s.addByScore(ctx, e, q, s.add); err != nil {
		return err
	}
	s.collect(&e.selection, 0, (q.Index.NumDocs()+accumulate.Line-1)/accumulate.Line*accumulate.Line, q.Index.NumDocs())
	return nil
}

// addByScore is flat up to the selection, which it prepares.
func (s *sums[T]) addByScore(ctx context.Context, e *Engine, q *Query, add func(*Engine, *impact.Index, *segment) error) error {
	in := &e.input
	in.begin()
	meter := e.meter(q)
	for seg := in.next(); seg != nil; seg = in.next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !meter.allows(seg) {
			break
		}
		if err := add(e, q.Index, seg); err != nil {
			return err
		}
		in.take()
	}
	known := uint32(0)
	if e.finished(in) {
		known = in.kth(q.K)
	}
	e.selection.reset(q.K, uint32(in.bound), known)
	return nil
}

func (s *sums[T]) add(e *Engine, x *impact.Index, seg *segment) error {
	e.count(seg)
	switch v := T(seg.score); seg.Form {
	case impact.Raw:
		if accumulate.ScatterBytes(s.acc[:x.NumDocs()], seg.Bytes, v) != int(seg.Count) {
			return errDocID(seg)
		}
	case impact.Bitmap:
		first, words, err := x.BitmapWords(&seg.Segment)
		if err != nil {
			return err
		}
		accumulate.Bitmap(s.acc[first:], words, v)
	case impact.Blocks:
		r := &e.reader
		for x.ResetBlocks(r, &seg.Segment); r.Left() > 0; e.stats.Blocks++ {
			n, err := r.Next(&s.block)
			if err != nil {
				return err
			}
			accumulate.Scatter(s.acc, s.block[:n], v)
		}
	}
	return nil
}

// Sizes of 64 KiB to 1 MiB, and 128 to 1024 postings per window, were the best on 12 M
// documents (16 copies of 750,000 passages), where windowed takes 0.6 to 0.85 of flat's time
// (0.9 on 750,000). Zen 5, 1 MiB of L2 cache per core.
const (
	windowBytes = 1 << 18
	// With fewer postings per window on average, segments are added before the first window.
	windowPostings = 2 * codec.BlockLen
)

// windowed adds all segments window by window, and selects from complete ones. Blocks are added
// whole: accumulators beyond are scanned with their own window.
func (s *sums[T]) windowed(ctx context.Context, e *Engine, q *Query) error {
	x, in := q.Index, &e.input
	numDocs := x.NumDocs()
	end := (numDocs + accumulate.Line - 1) / accumulate.Line * accumulate.Line
	window := e.windowBytes / (bits.Len64(uint64(^T(0))) / 8)
	long := int64((end + window - 1) / window * windowPostings)
	s.blocks, s.bitmaps = s.blocks[:0], s.bitmaps[:0]
	for i := range in.segments {
		seg := &in.segments[i]
		switch {
		case seg.Form == impact.Bitmap:
			first, words, err := x.BitmapWords(&seg.Segment)
			if err != nil {
				return err
			}
			e.count(seg)
			s.bitmaps = append(s.bitmaps, bitmapCursor{first, words, seg.score})
		case seg.Form == impact.Blocks && int64(seg.Count) >= long:
			e.count(seg)
			s.blocks = slices.Grow(s.blocks, 1)[:len(s.blocks)+1]
			c := &s.blocks[len(s.blocks)-1]
			c.score = seg.score
			x.ResetBlocks(&c.BlockReader, &seg.Segment)
		default:
			if err := s.add(e, x, seg); err != nil {
				return err
			}
		}
	}
	e.selection.reset(q.K, uint32(in.bound), in.kth(q.K))
	if len(s.blocks)+len(s.bitmaps) == 0 {
		window = end // nothing left to add
	}
	for from := 0; from < end; from += window {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+window, end)
		if err := s.addWindow(e, to); err != nil {
			return err
		}
		s.collect(&e.selection, from, to, numDocs)
	}
	e.finished(in)
	return nil
}

func (s *sums[T]) addWindow(e *Engine, to int) error {
	for i := 0; i < len(s.blocks); {
		c := &s.blocks[i]
		// Remaining DocIDs are at least Last+1, which is 0 before the first block.
		for c.Left() > 0 && int(c.Last()+1) < to {
			n, err := c.Next(&s.block)
			if err != nil {
				return err
			}
			e.stats.Blocks++
			accumulate.Scatter(s.acc, s.block[:n], T(c.score))
		}
		if c.Left() == 0 {
			last := len(s.blocks) - 1
			s.blocks[i] = s.blocks[last]
			s.blocks = s.blocks[:last]
			continue
		}
		i++
	}
	for i := range s.bitmaps {
		c := &s.bitmaps[i]
		if int(c.first) >= to || len(c.words) == 0 {
			continue
		}
		n := accumulate.Bitmap(s.acc[c.first:to], c.words, T(c.score))
		c.first += uint32(n) * accumulate.Line
		c.words = c.words[8*n:]
	}
	return nil
}

// Required accumulators of [from, to), whole lines, go to the selection and are zeroed.
func (s *sums[T]) collect(sel *selection, from, to, numDocs int) {
	for from < to {
		if sel.need > uint64(^T(0)) {
			clear(s.acc[from:to]) // no score reaches need
			return
		}
		at, high := accumulate.Drain(s.acc[from:to], T(sel.need))
		if from += at; from >= to {
			return
		}
		line := (*[accumulate.Line]T)(s.acc[from:])
		for ; high != 0; high &= high - 1 {
			j := bits.TrailingZeros64(high)
			if v := line[j]; uint64(v) >= sel.need && from+j < numDocs {
				sel.add(uint32(from+j), uint32(v))
			}
		}
		*line = [accumulate.Line]T{}
		from += accumulate.Line
	}
}

func (s *sums[T]) zero() {
	clear(s.acc)
	clear(s.touched)
}

func (s *sums[T]) search(ctx context.Context, e *Engine, q *Query, dst []base.Hit) ([]base.Hit, error) {
	s.grow(q.Index.NumDocs())
	e.stats.Width, e.stats.NumAccumulators = bits.Len64(uint64(^T(0))), len(s.acc)
	run := s.windowed
	switch {
	case s.fewPostings(e, q):
		run = s.sparse
	case q.limited() || e.variant.Accumulators != Windowed:
		run = s.flat
	}
	if err := run(ctx, e, q); err != nil {
		s.zero()
		return nil, err
	}
	if e.selection.passed {
		return nil, fmt.Errorf("a document scores more than %d, the sum of the highest impacts: a list has it more than once: %w", e.input.bound, base.ErrCorrupt)
	}
	return e.selection.appendHits(dst), nil
}
