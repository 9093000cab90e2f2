package saat

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
)

// Engine answers queries, one at a time, with one Variant. The zero value is not
// ready: New makes one.
type Engine struct {
	variant Variant
	name    string // of the variant

	input     input
	selection selection
	reader    impact.BlockReader
	stats     Stats
	complete  bool
	counters  Counters

	sums8  sums[uint8]
	sums16 sums[uint16]
	sums32 sums[uint32]
	heaped *heaped // nil: the variant has no heap

	windowBytes int // of a window's accumulators; a multiple of 4*accumulate.Line
}

// New returns an engine. The error wraps base.ErrBadInput. It takes memory for the
// accumulators when it gets its first query, and then as much as the index needs:
// 1, 2 or 4 bytes a document; but MaxStaticDocs accumulators if they are static,
// which the operating system backs as far as they are used.
func New(v Variant) (*Engine, error) {
	if err := v.normalise(); err != nil {
		return nil, err
	}
	e := &Engine{variant: v, name: v.String(), windowBytes: windowBytes}
	if v.heaped() {
		e.heaped = newHeaped(v)
	}
	return e, nil
}

// Variant returns the variant, with defaults filled in.
func (e *Engine) Variant() Variant { return e.variant }

// Name returns the variant's name, Variant.String, without making it anew.
func (e *Engine) Name() string { return e.name }

// Counters returns what a Counted variant counted since New.
func (e *Engine) Counters() Counters { return e.counters }

// Search answers a query; the hits are appended to dst[:0]. It returns ctx's error
// if ctx ends, one that wraps base.ErrCorrupt if a list is found to be damaged, and
// one that wraps base.ErrBadInput if scores could pass 32 bits (with a heap: 16)
// or, with static accumulators, the index has more than MaxStaticDocs documents.
func (e *Engine) Search(ctx context.Context, q *Query, dst []base.Hit) (Result, error) {
	e.stats, e.complete = Stats{}, true
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if q.K < 0 {
		return Result{}, fmt.Errorf("k is %d: %w", q.K, base.ErrBadInput)
	}
	if err := e.input.open(q); err != nil {
		return Result{}, err
	}
	dst = dst[:0]
	var err error
	switch {
	case q.K == 0 || e.input.bound == 0:
	case e.heaped != nil:
		dst, err = e.heaped.search(ctx, e, q, dst)
	case e.input.bound <= math.MaxUint8:
		dst, err = e.sums8.search(ctx, e, q, dst)
	case e.input.bound <= math.MaxUint16:
		dst, err = e.sums16.search(ctx, e, q, dst)
	default:
		dst, err = e.sums32.search(ctx, e, q, dst)
	}
	if err != nil {
		return Result{}, err
	}
	r := Result{Hits: dst, Complete: e.complete, Stats: e.stats}
	if !e.complete {
		r.Missed = e.input.missed()
		r.PostingsLeft = e.input.postings - e.stats.Postings
	}
	return r, nil
}

// count counts a segment that is added.
func (e *Engine) count(seg *segment) {
	e.stats.Segments++
	e.stats.Postings += int64(seg.Count)
	e.stats.Bytes += int64(len(seg.Bytes))
}

// finished notes and reports whether all segments were taken.
func (e *Engine) finished(in *input) bool {
	e.complete = e.stats.Postings == in.postings
	return e.complete
}

// meter measures a budget.
type meter struct {
	postings int64
	deadline time.Time
	left     int64 // postings until the next look at the clock
}

func (e *Engine) meter(q *Query) meter {
	m := meter{postings: math.MaxInt64}
	if q.Postings > 0 {
		m.postings = q.Postings
	}
	if q.Time > 0 {
		m.deadline = time.Now().Add(q.Time)
	}
	return m
}

// lookEvery is how many postings, about, lie between two looks at the clock: some
// microseconds.
const lookEvery = 4096

// allows reports whether a segment may be processed, and takes its postings off
// the budget.
func (m *meter) allows(seg *segment) bool {
	n := int64(seg.Count)
	if n > m.postings {
		return false
	}
	if !m.deadline.IsZero() {
		if m.left -= n; m.left <= 0 {
			m.left = lookEvery
			if time.Now().After(m.deadline) {
				return false
			}
		}
	}
	m.postings -= n
	return true
}

func errDocID(seg *segment) error {
	return fmt.Errorf("impact %d: a DocID is no document's: %w", seg.Impact, base.ErrCorrupt)
}
