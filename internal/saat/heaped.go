package saat

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/simd/accumulate"
)

// MaxStaticDocs bounds an index for static accumulators: more than .GOV2 has.
const MaxStaticDocs = 1 << 25

// For MaxStaticDocs accumulators or fewer.
const maxStaticPages = 1 << 14

// heapAccumulators keep the top k in a heap (Trotman and Crane, §5 and §6; loops_generated.go).
//
// We differ: the heap holds DocIDs instead of pointers, which takes the same number of loads
// with arrays. It uses the total order of results; the paper does not order ties. Accumulators
// have 32 bits for a query whose scores could exceed the paper's 16.
type heapAccumulators interface {
	// reset zeroes numDocs accumulators and empties the heap, for k >= 1 hits.
	reset(numDocs, k int)
	// All docIDs are below numDocs.
	add(v *Variant, docIDs []uint32, score uint32)
	// docID must be in the heap.
	value(docID uint32) uint32
	top() *topHeap
}

// sumType holds a score.
type sumType interface{ uint16 | uint32 }

// topHeap is a binary heap of DocIDs with the last result at the root, filled from the end;
// until then, heap[0] is a non-existent document with accumulator 0.
type topHeap struct {
	heap     []uint32
	needed   int // number of free entries
	counters Counters
}

func (t *topHeap) top() *topHeap { return t }

// none is the non-existent document.
func (t *topHeap) resetHeap(k int, none uint32) {
	t.heap = slices.Grow(t.heap[:0], k)[:k]
	t.heap[0] = none
	t.needed = k
}

// The page size is 2^floor(log2 sqrt(numDocs)).
func pageShift(numDocs int) uint32 {
	return uint32(max(bits.Len(uint(numDocs))-1, 0) / 2)
}

func (a *dynamicAccumulators[T]) reset(numDocs, k int) {
	a.acc = slices.Grow(a.acc[:0], numDocs+1)[:numDocs+1]
	clear(a.acc)
	a.resetHeap(k, uint32(numDocs))
}

func (a *arrayAccumulators[T]) reset(numDocs, k int) {
	clear(a.acc[:numDocs+1])
	a.resetHeap(k, uint32(numDocs))
}

func (a *pagedAccumulators[T]) reset(numDocs, k int) {
	a.shift = pageShift(numDocs)
	pages := numDocs>>a.shift + 1
	a.flags = slices.Grow(a.flags[:0], pages)[:pages]
	for i := range a.flags {
		a.flags[i] = 1
	}
	a.acc = slices.Grow(a.acc[:0], pages<<a.shift)[:pages<<a.shift]
	a.acc[numDocs] = 0
	a.resetHeap(k, uint32(numDocs))
}

func (a *pagedArrayAccumulators[T]) reset(numDocs, k int) {
	a.shift = pageShift(numDocs)
	dirty := a.flags[:numDocs>>a.shift+1]
	for i := range dirty {
		dirty[i] = 1
	}
	a.acc[numDocs] = 0
	a.resetHeap(k, uint32(numDocs))
}

type heaped struct {
	variant Variant
	// Accumulators of 16 and 32 bits are allocated for the first query that needs them.
	acc16, acc32 heapAccumulators
	acc          heapAccumulators // of the query
	block        [codec.BlockLen]uint32
}

func newHeaped(v Variant) *heaped { return &heaped{variant: v} }

// begin chooses the narrowest accumulators for scores up to bound and returns their bits.
func (h *heaped) begin(numDocs, k int, bound uint64) (width int, err error) {
	static := h.variant.Accumulators == Array || h.variant.Accumulators == PagedArray
	if static && numDocs >= MaxStaticDocs {
		return 0, fmt.Errorf("accumulators %s for %d documents, less than %d: %w", h.variant.Accumulators, numDocs, MaxStaticDocs, base.ErrBadInput)
	}
	if bound <= math.MaxUint16 {
		if h.acc16 == nil {
			h.acc16 = newAccumulators[uint16](h.variant.Accumulators)
		}
		width, h.acc = 16, h.acc16
	} else {
		if h.acc32 == nil {
			h.acc32 = newAccumulators[uint32](h.variant.Accumulators)
		}
		width, h.acc = 32, h.acc32
	}
	h.acc.reset(numDocs, k)
	return width, nil
}

func newAccumulators[T sumType](name string) heapAccumulators {
	switch name {
	case Dynamic:
		return new(dynamicAccumulators[T])
	case Array:
		return new(arrayAccumulators[T])
	case Paged:
		return new(pagedAccumulators[T])
	}
	return new(pagedArrayAccumulators[T])
}

func (h *heaped) search(ctx context.Context, e *Engine, q *Query, dst []base.Hit) ([]base.Hit, error) {
	x, in := q.Index, &e.input
	width, err := h.begin(x.NumDocs(), min(q.K, x.NumDocs()), in.bound)
	if err != nil {
		return nil, err
	}
	e.stats.Width, e.stats.NumAccumulators = width, x.NumDocs()
	in.begin()
	meter := e.meter(q)
	for seg := in.next(); seg != nil; seg = in.next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !meter.allows(seg) {
			break
		}
		e.count(seg)
		if err := h.add(e, x, seg); err != nil {
			return nil, err
		}
		in.take()
	}
	e.finished(in)
	e.counters.Add(h.acc.top().counters)
	h.acc.top().counters = Counters{}
	return h.appendHits(dst), nil
}

func (h *heaped) add(e *Engine, x *impact.Index, seg *segment) error {
	switch seg.Form {
	case impact.Raw:
		for rest := seg.Bytes; len(rest) >= 4; {
			n := min(len(rest)/4, codec.BlockLen)
			for i := range n {
				d := binary.LittleEndian.Uint32(rest[4*i:])
				if int64(d) >= int64(x.NumDocs()) {
					return errDocID(seg)
				}
				h.block[i] = d
			}
			h.acc.add(&h.variant, h.block[:n], seg.score)
			rest = rest[4*n:]
		}
	case impact.Bitmap:
		first, words, err := x.BitmapWords(&seg.Segment)
		if err != nil {
			return err
		}
		return h.addBitmap(x, seg, first, words)
	case impact.Blocks:
		r := &e.reader
		for x.ResetBlocks(r, &seg.Segment); r.Left() > 0; e.stats.Blocks++ {
			n, err := r.Next(&h.block)
			if err != nil {
				return err
			}
			h.acc.add(&h.variant, h.block[:n], seg.score)
		}
	}
	return nil
}

func (h *heaped) addBitmap(x *impact.Index, seg *segment, first uint32, words []byte) error {
	n := 0
	for i := 0; i < len(words); i += 8 {
		w := binary.LittleEndian.Uint64(words[i:])
		if n+accumulate.Line > codec.BlockLen {
			h.acc.add(&h.variant, h.block[:n], seg.score)
			n = 0
		}
		for line := first + 8*uint32(i); w != 0; w &= w - 1 {
			h.block[n] = line + uint32(bits.TrailingZeros64(w))
			n++
		}
		if n > 0 && int64(h.block[n-1]) >= int64(x.NumDocs()) {
			return errDocID(seg)
		}
	}
	h.acc.add(&h.variant, h.block[:n], seg.score)
	return nil
}

func (h *heaped) appendHits(dst []base.Hit) []base.Hit {
	t := h.acc.top()
	for _, d := range t.heap[t.needed:] {
		dst = append(dst, base.Hit{DocID: base.DocID(d), Score: base.Score(h.acc.value(d))})
	}
	slices.SortFunc(dst, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return dst
}
