package saat

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
)

// Engine answers queries, one at a time, with the Variant given to New.
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
	heaped *heaped // nil if the variant has no heap

	windowBytes int // bytes of a window's accumulators; a multiple of 4*accumulate.Line
}

// New returns an engine. An error wraps base.ErrBadInput. The first query allocates
// accumulators: 1, 2 or 4 bytes per document, or MaxStaticDocs if static, of which the system
// backs only the used part.
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

// Variant returns the variant with defaults filled in.
func (e *Engine) Variant() Variant { return e.variant }

// Name returns Variant.String without allocating.
func (e *Engine) Name() string { return e.name }

// Counters returns a Counted variant's counts since New.
func (e *Engine) Counters() Counters { return e.counters }

// Search appends the hits to dst[:0]. It returns ctx's error, or wraps base.ErrCorrupt if a
// list is damaged, base.ErrBadInput if scores could exceed 32 bits or documents MaxStaticDocs
// static accumulators.
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

func (e *Engine) count(seg *segment) {
	e.stats.Segments++
	e.stats.Postings += int64(seg.Count)
	e.stats.Bytes += int64(len(seg.Bytes))
}

func (e *Engine) finished(in *input) bool {
	e.complete = e.stats.Postings == in.postings
	return e.complete
}

type meter struct {
	postings int64
	deadline time.Time
	left     int64 // postings until the next clock reading
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

// Postings between clock readings: some microseconds.
const lookEvery = 4096

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
	return fmt.Errorf("impact %d: a DocID is out of range: %w", seg.Impact, base.ErrCorrupt)
}
