package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/residency"
)

// Select asks for the best matches of a query by a column.
type Select struct {
	// Query has the lists, the filters, whether it is conjunctive, and K.
	Query *Query
	// Columns by segment, in which no document has several values.
	Columns []Ordinals
	// See imagesearch.ByValue.
	Rising, NoneFirst, Ties bool
	// After, if not nil, are places by segment: documents before them are left out.
	After []After

	// Segments are the answer, without segments that are on no device.
	Segments []SegmentSelect
	// Err is not nil if the CPU must answer the query; then Segments is undefined.
	Err error
}

// After is a place in an order by a column: of a value, or of the documents without one.
type After struct {
	None  bool
	Value int64
	// Inclusive keeps documents at the place.
	Inclusive bool
}

// bound sets the end of the keys.
func (a *After) bound(by *imagesearch.ByValue, of *Ordinals) {
	lo, hi := of.Column.Bounds()
	at, inside := uint64(0), a.None || a.Value >= lo && a.Value <= hi // the place's key
	switch {
	case a.None && by.NoneFirst:
		at = by.Most + 1
	case a.None:
	case by.Rising:
		at = uint64(hi) - uint64(min(max(a.Value, lo), hi)) + 1
		if a.Value > hi {
			at = 0
		}
	default:
		at = uint64(min(max(a.Value, lo), hi)) - uint64(lo) + 1
		if a.Value < lo {
			at = 0
		}
	}
	keep := a.Inclusive || !inside
	if keep && at == by.Most+1 {
		return // all keys
	}
	by.Bounded, by.End = true, at
	if keep {
		by.End++
	}
}

// SegmentSelect is the answer of a segment: the best K documents of each device's part, with Ties all of the Kth's
// value, in any order.
type SegmentSelect struct {
	Matches int64
	Docs    []uint32
}

var errNoOrder = errors.New("a segment has no column with single values by which a GPU can sort")

func (t *Select) check(v *View) error {
	q := t.Query
	if q.K < 1 || q.K > MaxK || q.NumTerms < 1 || len(q.Legs) != q.NumTerms*len(v.segments) || len(q.Filters) > 0 && len(q.Filters) != len(v.segments) || len(t.Columns) != len(v.segments) || t.After != nil && len(t.After) != len(v.segments) {
		return fmt.Errorf("select: k %d, %d legs of %d terms, %d filters and %d columns over %d segments: %w", q.K, len(q.Legs), q.NumTerms, len(q.Filters), len(t.Columns), len(v.segments), base.ErrBadInput)
	}
	for s := range t.Columns {
		if !v.segments[s].OnCPU && !t.Columns[s].Orders() {
			return errNoOrder
		}
	}
	return v.engine.Lost()
}

// Select finds the best matches by a column on all devices, one after another, as Tally does.
func (v *View) Select(ctx context.Context, t *Select, trace *Trace) error {
	if trace != nil {
		trace.Devices = append(trace.Devices[:0], make([]DeviceTrace, len(v.engine.devices))...)
	}
	if t.Err = t.check(v); t.Err != nil {
		return ctx.Err()
	}
	t.Segments = make([]SegmentSelect, len(v.segments))
	for i, d := range v.engine.devices {
		l := d.lane(ctx, 1)
		if l == nil {
			return ctx.Err()
		}
		l.countOn(v, i, &counting{query: t.Query, err: &t.Err, pin: func(targets []target) error { return l.pinOrders(targets, t) }, run: func(targets []target, entries []*residency.Entry) error {
			return l.selectAll(targets, entries, t, trace != nil)
		}}, trace)
		if t.Err != nil {
			break
		}
	}
	return ctx.Err()
}

// HasSelect reports whether all lists and columns are on the devices.
func (v *View) HasSelect(t *Select) bool {
	if t.check(v) != nil || !v.HasImages(t.Query) {
		return false
	}
	for i, d := range v.engine.devices {
		for s := range v.targets[i] {
			if p := v.targets[i][s].shard; p != nil && !t.Query.lacks(s) && !d.HasOrdinals(p, &t.Columns[s]) {
				return false
			}
		}
	}
	return true
}

// pinOrders adds the column of each segment to entries, nil for those that are not needed.
func (l *lane) pinOrders(targets []target, t *Select) error {
	for s := range targets {
		var e *residency.Entry
		if p := targets[s].shard; p != nil && !t.Query.lacks(s) {
			var err error
			if e, err = l.uploader.Ordinals(p, &t.Columns[s], &l.counts.Counts); err != nil {
				return err
			}
			if e == nil {
				return errNoColumn
			}
		}
		l.entries = append(l.entries, e)
	}
	return nil
}

func (l *lane) selectAll(targets []target, entries []*residency.Entry, t *Select, traced bool) error {
	for s, e := range entries {
		if e == nil {
			continue
		}
		p := &targets[s]
		var query imagesearch.Query
		var result Result
		if ok, err := l.query(p, s, 0, t.Query, &result, &query); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		if err := l.waits.Image(l.stream, e); err != nil {
			return err
		}
		by := e.ByValue(&t.Columns[s])
		by.Rising, by.NoneFirst, by.Ties = t.Rising, t.NoneFirst, t.Ties
		if t.After != nil {
			t.After[s].bound(&by, &t.Columns[s])
		}
		docs, err := l.tally.Select(l.stream, p.segment, &query, &by)
		if err != nil {
			return err
		}
		if err := l.counted("imagesearch_select", traced); err != nil {
			return err
		}
		a := &t.Segments[s]
		a.Matches += int64(l.tally.Matches())
		for _, d := range docs {
			a.Docs = append(a.Docs, d+uint32(p.shard.From()))
		}
	}
	return nil
}
