package pipeline

import (
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
	"github.com/griffin-search/griffin/internal/gpu/residency"
)

func (v *View) readsPacked(device int, q *terms, k int) bool {
	if q.imagesOnly || q.len() > packedsearch.MaxLists || k > packedsearch.MaxK {
		return false
	}
	for s := range v.targets[device] {
		p := v.targets[device][s].shard
		if p == nil {
			continue
		}
		legs := q.of(s)
		for j := range legs {
			if legs[j].DocFreq() > 0 && !v.engine.devices[device].ReadsPacked(p, &legs[j]) {
				return false
			}
		}
	}
	return true
}

// terms are the terms [first, end) of a query.
type terms struct {
	legs        []Leg
	stride      int // terms per segment in legs
	first, end  int
	conjunctive bool
	imagesOnly  bool
}

func (q *Query) terms() terms {
	return terms{q.Legs, q.NumTerms, 0, q.NumTerms, q.Conjunctive, q.imagesOnly()}
}

func (t *terms) len() int { return t.end - t.first }

func (t *terms) of(segment int) []Leg {
	return t.legs[segment*t.stride+t.first : segment*t.stride+t.end]
}

// none reports whether a segment lacks a required term.
func (t *terms) none(segment int) bool { return t.conjunctive && lacksOne(t.of(segment)) }

// hold pins a query's compressed lists, by segment, then term, copying lists that are only in
// the index's file (residency.Uploader.Packed). It returns ErrNoRoom if there is no room.
func (l *lane) hold(targets []target) error {
	t := &l.packed.ask.terms
	for s := range targets {
		p, legs := targets[s].shard, t.of(s)
		none := p == nil || l.packed.ask.none(s)
		for j := range legs {
			var h residency.PackedList
			if leg := &legs[j]; !none && leg.DocFreq() > 0 {
				var err error
				if h, err = l.uploader.Packed(p, leg, &l.counts.Counts); err != nil {
					return err
				}
			}
			l.packed.held = append(l.packed.held, h)
		}
	}
	return l.holdFilters(targets)
}

func (l *lane) holdFilters(targets []target) error {
	ask := &l.packed.ask
	for s := range ask.filters {
		var e *residency.Entry
		if f := filter(ask.filters, s); f != nil && targets[s].shard != nil && !ask.none(s) {
			var err error
			if e, err = l.uploader.Filter(targets[s].shard, f, &l.counts.Counts); err != nil {
				return err
			}
		}
		l.packed.filters = append(l.packed.filters, e)
	}
	return nil
}

func (l *lane) release() {
	for i := range l.packed.held {
		l.packed.held[i].Unpin()
		l.packed.held[i] = residency.PackedList{}
	}
	l.packed.held = l.packed.held[:0]
	for i, e := range l.packed.filters {
		if e != nil {
			l.d.Unpin(e)
		}
		l.packed.filters[i] = nil
	}
	l.packed.filters = l.packed.filters[:0]
}

// listOf converts a pinned list; the stream waits for its upload.
func (l *lane) listOf(p *residency.Shard, s *Segment, leg *Leg, h *residency.PackedList) (packedsearch.List, error) {
	list := packedsearch.List{
		Leg: leg.Leg,
	}
	list.Payload, list.Directory, list.DirectoryOnHost = h.Addresses()
	if err := l.waits.Packed(l.stream, h); err != nil {
		return list, err
	}
	if !leg.Term.Linear {
		lengths, err := l.uploader.Lengths(p, s, leg.Field)
		if err != nil {
			return list, err
		}
		list.Lengths = lengths.Ptr()
	}
	return list, nil
}
