package collect

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/mapping"
)

// maxGroups bounds the memory of a collapse.
const maxGroups = 1 << 23

// groups holds the best document of each group, by the value of the field: a Value with a term, a number, or
// none.
type groups map[Value]*Hit

// collapse keeps the best document of each group, then the best of these.
func (r *run) collapse(segments []Segment, matches [][]uint64) ([]Hit, error) {
	switch f := r.Collapse; {
	case f.NoDocValues:
		return nil, fmt.Errorf("collapse by [%s]: its mapping has \"doc_values\": false: %w", f.Name, base.ErrBadInput)
	case f.Type == mapping.Text:
		return nil, fmt.Errorf("collapse by [%s]: a text has no column: use a keyword, such as [%[1]s.keyword]: %w", f.Name, base.ErrBadInput)
	case f.Type == mapping.GeoPoint || !f.HasOrdinals() && !f.HasNumbers():
		return nil, fmt.Errorf("collapse by [%s]: type %s: want a keyword, a number, a date, a boolean or an ip: %w", f.Name, f.Type, base.ErrBadInput)
	case r.After != nil && (len(r.Keys) != 1 || r.Keys[0].By != Values || r.Keys[0].Field == nil || r.Keys[0].Field.Name != f.Name):
		// Another document of a group could be before the last hit.
		return nil, fmt.Errorf("collapse by [%s] with search_after needs a sort by [%[1]s] only: %w", f.Name, base.ErrBadInput)
	}
	all := groups{}
	for i := range segments {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.group(segments, i, matches[i], all); err != nil {
			return nil, err
		}
	}
	out := make([]Hit, 0, len(all))
	for _, h := range all {
		out = append(out, *h)
	}
	base.Sort(out, func(a, b Hit) int {
		if c := r.compare(&a, &b); c != 0 {
			return c
		}
		return a.written(segments) - b.written(segments)
	})
	out = slices.Clip(out[:min(len(out), r.K)])
	return out, r.score(out)
}

func (h *Hit) written(segments []Segment) int { return int(segments[h.Segment].Base) + int(h.rank) }

// group adds the documents of a segment.
func (r *run) group(segments []Segment, index int, words []uint64, all groups) error {
	s, err := r.open(&segments[index], index)
	if err != nil {
		return err
	}
	s.heap.k = maxGroups
	by, err := s.segment.Column(r.Collapse.Name)
	if err != nil {
		return err
	}
	var cursor *column.Cursor
	if by != nil {
		cursor = by.Cursor()
	}
	type key struct {
		v  int64
		ok bool
	}
	places := map[key]int{} // of entries in the heap
	row := make([]slot, len(r.Keys))
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			doc := base.DocID(i*64 + bits.TrailingZeros64(w))
			score, keep, err := s.read(doc, row)
			if err != nil {
				return err
			}
			if !keep {
				continue
			}
			var of key
			if cursor != nil {
				values, err := cursor.Values(doc)
				if err != nil {
					return err
				}
				if len(values) > 1 {
					return fmt.Errorf("collapse by [%s]: document %d has %d values: %w", r.Collapse.Name, doc, len(values), base.ErrBadInput)
				}
				if len(values) == 1 {
					of = key{values[0], true}
				}
			}
			e := entry{doc: doc, rank: s.rank(doc), score: score}
			at, known := places[of]
			if !known {
				if len(all)+len(places) == maxGroups {
					return fmt.Errorf("collapse by [%s]: more than %d groups: %w", r.Collapse.Name, maxGroups, base.ErrBadInput)
				}
				places[of] = len(s.heap.entries)
				e.row = uint32(len(s.heap.entries))
				s.heap.slots = append(s.heap.slots, row...)
				s.heap.entries = append(s.heap.entries, e)
				continue
			}
			s.heap.improve(at, row, e)
		}
	}
	hits, err := s.hits(s.heap.entries)
	if err != nil {
		return err
	}
	for of, at := range places {
		h := &hits[at]
		h.Group = Value{None: !of.ok, Number: of.v}
		if of.ok && r.Collapse.HasOrdinals() {
			term, err := by.Term(of.v)
			if err != nil {
				return err
			}
			h.Group = Value{Term: string(term)}
		}
		if old := all[h.Group]; old == nil || r.compare(h, old) < 0 {
			all[h.Group] = h
		}
	}
	return nil
}

// improve replaces an entry by one that comes before it.
func (h *heap) improve(at int, row []slot, e entry) {
	old := &h.entries[at]
	c := compareRows(row, h.row(old))
	if c > 0 || c == 0 && e.rank > old.rank {
		return
	}
	e.row = old.row
	copy(h.row(&e), row)
	*old = e
}
