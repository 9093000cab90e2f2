package plan

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
)

// Mask are the documents of a segment that the filters of a flat stage allow and that none of its excluded
// nodes matches, deleted ones too. It never changes, and stays valid while the segment is open.
type Mask struct {
	// ID is unique among the masks of the process.
	ID uint64
	// Words has bit d%64 of word d/64 set for document d of the segment; Count is the number of set bits.
	Words []uint64
	Count int
	// Ranges are set instead of Words and Count if the documents are in all ranges (MaskOptions).
	Ranges []MaskRange

	key string // of the filters and the exclusions; another one of the same hash is not this
}

// MaskRange is the documents with a value from Lo to Hi in a column in which no document has several, or with one of Values, which
// rise from Lo to Hi, if there are any. Name and Number are of the column in its segment.
type MaskRange struct {
	Column *column.Column
	Name   string
	Number int
	Lo, Hi int64
	Values []int64
}

// MaskOptions name the needed masks and their form.
type MaskOptions struct {
	// LeaveOut are segments, rising, whose masks are not needed.
	LeaveOut []int
	// RangeDocs, if not 0, is the least number of documents of a segment whose mask may be Ranges, for another
	// processor. The others, and masks that the index keeps already, are Words.
	RangeDocs int
	// Runs is the most runs of consecutive values that MaskRange.Values may be; 0: there are none.
	Runs int
	// Words has excluded words in the masks of a stage with Words, too, for a processor that does not look them up.
	Words bool
}

var (
	masks      = derived.NewKind[Mask]("mask of a stage")
	rangeMasks = derived.NewKind[Mask]("ranges of a stage")
	lastMask   atomic.Uint64
)

// NewMaskID returns an ID that no Mask has.
func NewMaskID() uint64 { return lastMask.Add(1) }

// rangesTime is the time in which another processor computes a mask from ranges, about.
const rangesTime = 100 * time.Microsecond

// maskKey identifies the masks of a stage.
func maskKey(p *Plan, sc *Scratch, stage int, o *MaskOptions) []byte {
	st := &p.stages[stage]
	required := make([]node, len(st.filters))
	for i, n := range st.filters {
		required[i] = n.(*constant).child
	}
	g := group{required: required, excluded: st.maskedBy(o)}
	return sc.keys.appendNode(nil, p.words.terms, &g)
}

// StageMasks returns the masks of a flat stage by segment, computed if the index does not keep them; nil for a
// segment of which all documents are allowed, or that is left out. The error is the context's, or wraps
// base.ErrCorrupt.
func StageMasks(ctx context.Context, p *Plan, sc *Scratch, stage int, o MaskOptions) ([]*Mask, error) {
	key := string(maskKey(p, sc, stage, &o))
	all := make([]*Mask, len(p.planner.snapshot.Segments))
	for i := range all {
		if o.leavesOut(i) {
			continue
		}
		made, err := rangesOf(p, stage, i, key, &o)
		if err == nil && made == nil {
			made, err = stageMask(ctx, p, sc, stage, i, key, &o)
		}
		if all[i] = made; err != nil {
			return nil, maskError(ctx, p, i, err)
		}
	}
	return all, nil
}

// MaskWords returns the Words of a mask that is Ranges, which excludes nothing. Errors are as of StageMasks.
func MaskWords(ctx context.Context, p *Plan, sc *Scratch, stage, segment int) ([]uint64, error) {
	st := &p.stages[stage]
	words, err := sc.begin(&p.words, segment, ctx).stageMask(st.filters, nil)
	return words, maskError(ctx, p, segment, err)
}

func maskError(ctx context.Context, p *Plan, segment int, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return fmt.Errorf("segment %s: query %s: %w", p.planner.snapshot.Segments[segment].Name, p.query, err)
}

// leavesOut is asked for rising segments.
func (o *MaskOptions) leavesOut(segment int) bool {
	if len(o.LeaveOut) > 0 && o.LeaveOut[0] == segment {
		o.LeaveOut = o.LeaveOut[1:]
		return true
	}
	return false
}

// rangesOf returns the mask of a segment as Ranges; nil: its words are needed, or kept.
func rangesOf(p *Plan, stage, segment int, key string, o *MaskOptions) (*Mask, error) {
	st, view := &p.stages[stage], &p.planner.snapshot.Segments[segment]
	if o.RangeDocs == 0 || view.NumDocs() < o.RangeDocs || len(st.filters) == 0 || len(st.maskedBy(o)) > 0 {
		return nil, nil
	}
	list, hash := view.Derived.List(0), maphash.String(setSeed, key)
	if kept := masks.Kept(list, hash); kept != nil && kept.key == key {
		return nil, nil
	}
	if kept := rangeMasks.Kept(list, hash); kept != nil && kept.key == key {
		return kept, nil
	}
	ranges := make([]MaskRange, len(st.filters))
	for i, n := range st.filters {
		ok, err := rangeOf(&ranges[i], p, view, n, o.Runs)
		if err != nil || !ok {
			return nil, err
		}
	}
	build := func() (*Mask, int64, error) {
		return &Mask{ID: lastMask.Add(1), Ranges: ranges, key: key}, int64(len(key) + 64*len(ranges)), nil
	}
	made, err := rangeMasks.GetIfRoom(list, hash, int64(len(key)+64*len(ranges)), build)
	if made == nil || made.key != key {
		made, _, err = build()
	}
	return made, err
}

// rangeOf reports whether a filter is a range of a column in which a document has at most one value, and some
// are in the range; or a set of values in at most some runs.
func rangeOf(r *MaskRange, p *Plan, view *index.View, n node, runs int) (ok bool, err error) {
	source := rangeSourceOf(p, n.(*constant).child)
	var name string
	switch source := source.(type) {
	case *columnRange:
		name, r.Lo, r.Hi = source.name, source.lo, source.hi
	case *columnValues:
		first, last := source.values[0], source.values[len(source.values)-1]
		if uint64(last)-uint64(first) != uint64(len(source.values)-1) {
			if !atMostRuns(source.values, runs) {
				return false, nil
			}
			r.Values = source.values
		}
		name, r.Lo, r.Hi = source.name, first, last
	case *ordinalRange:
		name = source.name
	case columnExists:
		name, r.Lo, r.Hi = source.name, math.MinInt64, math.MaxInt64
	default:
		return false, nil
	}
	set, err := segment.Columns(view.Segment)
	if err != nil || set == nil {
		return false, err
	}
	if r.Column, ok = set.Column(name); !ok || r.Column.MultiValued() {
		return false, nil
	}
	r.Name, r.Number = name, slices.Index(set.Names(), name)
	if source, ok := source.(*ordinalRange); ok {
		if r.Lo, r.Hi, err = source.bounds(r.Column); err != nil {
			return false, err
		}
	}
	lo, hi := r.Column.Bounds()
	return r.Lo <= hi && r.Hi >= lo, nil
}

// atMostRuns reports whether rising values are at most n runs of consecutive ones.
func atMostRuns(values []int64, n int) bool {
	for i, v := range values {
		if i == 0 || v != values[i-1]+1 {
			if n--; n < 0 {
				return false
			}
		}
	}
	return true
}

// rangeSourceOf returns the source of a set, and of a term of a keyword the range of its value; nil: neither.
func rangeSourceOf(p *Plan, n node) source {
	switch n := n.(type) {
	case *set:
		return n.source
	case *leaf:
		if n.isPhrase() {
			return nil
		}
		name, term := p.planner.fields[n.field], p.words.terms[n.terms[0]].bytes
		if m := p.planner.snapshot.Options.Mapping; m != nil {
			if f, ok := m.Field(name); ok && f.Type == mapping.Keyword && !f.NoDocValues {
				return &ordinalRange{name: name, from: term, to: term}
			}
		}
	}
	return nil
}

// MaskTime predicts the time of StageMasks.
func MaskTime(p *Plan, sc *Scratch, stage int, o MaskOptions) (sum time.Duration) {
	st := &p.stages[stage]
	key := maskKey(p, sc, stage, &o)
	hash := maphash.Bytes(setSeed, key)
	for i := range p.planner.snapshot.Segments {
		if o.leavesOut(i) {
			continue
		}
		if made, err := rangesOf(p, stage, i, string(key), &o); err == nil && made != nil {
			sum += rangesTime
			continue
		}
		if masks.Keeps(p.planner.snapshot.Segments[i].Derived.List(0), hash) {
			continue
		}
		cost := p.words.numDocs(i) / maskDocsPerCost
		for _, n := range st.filters {
			if t := testable(n); t != nil {
				cost += t.cost(&p.words, i)
				continue
			}
			cost += p.words.maskCost(i, n)
		}
		sum += time.Duration(cost + p.words.sumOfCosts(i, st.maskedBy(&o)))
	}
	return sum
}

func stageMask(ctx context.Context, p *Plan, sc *Scratch, stage, segment int, key string, o *MaskOptions) (*Mask, error) {
	st := &p.stages[stage]
	m := sc.begin(&p.words, segment, ctx)
	excluded := st.maskedBy(o)
	if len(st.filters) == 0 && !m.anyPostings(excluded) {
		return nil, nil
	}
	mine := false
	build := func() (*Mask, int64, error) {
		mine = true
		words, err := m.stageMask(st.filters, excluded)
		if err != nil {
			return nil, 0, err
		}
		made := &Mask{ID: lastMask.Add(1), Words: words, Count: int(ones(words)), key: key}
		return made, int64(8*len(words) + len(key)), nil
	}
	size := int64(8*(p.words.numDocs(segment)+63)/64 + len(key))
	kept, err := masks.GetIfRoom(m.view().Derived.List(0), maphash.String(setSeed, key), size, build)
	if kept != nil && kept.key == key {
		return kept, nil
	}
	if err != nil && mine {
		return nil, err
	}
	// No room, another key of the same hash, or the query that computed it was interrupted.
	kept, _, err = build()
	return kept, err
}

// stageMask returns the documents that the filters and the exclusions leave, deleted ones too, in new memory.
func (m *matcher) stageMask(filters, excluded []node) ([]uint64, error) {
	words := make([]uint64, (m.words.numDocs(m.segment)+63)/64)
	if len(filters) == 0 {
		everyDocument(words, m.words.numDocs(m.segment))
	}
	other := m.take()
	defer m.put(other)
	for i, n := range filters {
		c := n.(*constant)
		found, _, err := m.find(c.child, c.text)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			found.addTo(words)
			continue
		}
		clear(other)
		found.addTo(other)
		and(words, other)
	}
	if len(excluded) == 0 {
		return words, nil
	}
	clear(other)
	for _, n := range excluded {
		if err := m.mark(other, n); err != nil {
			return nil, err
		}
	}
	andNot(words, other)
	return words, nil
}
