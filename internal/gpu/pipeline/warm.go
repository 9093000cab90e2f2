package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/postings"
)

// WarmOptions say which lists View.Warm brings.
type WarmOptions struct {
	// MinDocFreq leaves out lists with fewer documents in a segment.
	MinDocFreq uint32
	// Progress, if set, is called now and then with postings.
	Progress func(done, total int64)
}

// warmList is a list that is to be brought.
type warmList struct {
	segment int
	docFreq uint32
	field   base.FieldID
	impacts impact.List
	term    []byte
}

// Warm brings lists to the devices, those with the most documents first, until all
// are there or memory is full. It returns how many are there, and how many there are.
// Errors are ctx's, a device's, or wrap base.ErrCorrupt.
func (v *View) Warm(ctx context.Context, o WarmOptions) (lists, total int64, err error) {
	wanted, err := v.wanted(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	numPostings, done := int64(0), int64(0)
	for i := range wanted {
		numPostings += int64(wanted[i].docFreq)
	}
	full := 0 // lists in a row for which there was no room
	for i := range wanted {
		if err := ctx.Err(); err != nil {
			return lists, int64(len(wanted)), err
		}
		w := &wanted[i]
		switch err := v.warm(w); {
		case errors.Is(err, errNoRoom), errors.Is(err, errTooLarge):
			full++
		case err != nil:
			return lists, int64(len(wanted)), fmt.Errorf("term %q: %w", w.term, err)
		default:
			lists++
			full = 0
		}
		done += int64(w.docFreq)
		if o.Progress != nil && (i%256 == 0 || i == len(wanted)-1) {
			o.Progress(done, numPostings)
		}
		if full == manyRefusals {
			break
		}
	}
	for _, d := range v.engine.devices {
		if err := d.uploader.drain(); err != nil {
			return lists, int64(len(wanted)), d.note(err)
		}
	}
	return lists, int64(len(wanted)), nil
}

// manyRefusals is for how many lists in a row there has to be no room until Warm
// takes the memory for full: shorter ones may fit where longer ones did not.
const manyRefusals = 256

// drain waits until all that was brought is there.
func (u *uploader) drain() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stream.Synchronize()
}

// wanted lists what Warm brings, longest first.
func (v *View) wanted(ctx context.Context, o WarmOptions) ([]warmList, error) {
	var wanted []warmList
	least := max(o.MinDocFreq, 1)
	for s := range v.segments {
		seg := &v.segments[s]
		if seg.Impacts != nil {
			it := seg.Impacts.Lists()
			for it.Next() {
				if l := it.List(); l.DocFreq >= least {
					wanted = append(wanted, warmList{segment: s, docFreq: l.DocFreq, impacts: *l, term: slices.Clone(it.Term())})
				}
			}
			if err := it.Err(); err != nil {
				return nil, err
			}
			continue
		}
		for f := range seg.Segment.Meta().Fields {
			it := seg.Segment.Terms(base.FieldID(f), nil)
			for n := 0; it.Next(); n++ {
				if n%4096 == 0 && ctx.Err() != nil {
					return nil, ctx.Err()
				}
				m, err := it.Meta()
				if err != nil {
					return nil, err
				}
				if m.DocFreq >= least {
					wanted = append(wanted, warmList{segment: s, docFreq: m.DocFreq, field: base.FieldID(f), term: slices.Clone(it.Term())})
				}
			}
			if err := it.Err(); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(wanted, func(a, b warmList) int { return cmp.Compare(b.docFreq, a.docFreq) })
	return wanted, nil
}

// warm brings a list to all devices.
func (v *View) warm(w *warmList) error {
	s := &v.segments[w.segment]
	leg := Leg{DocFreq: w.docFreq, Field: w.field}
	if s.Impacts != nil {
		leg.Impacts, leg.ID = &w.impacts, w.impacts.ID()
	} else {
		leg.List = new(postings.List)
		if found, err := s.Segment.Find(w.field, w.term, leg.List); err != nil || !found {
			return cmp.Or(err, fmt.Errorf("no such list: %w", base.ErrCorrupt))
		}
		leg.ID = leg.List.FrontierOffset
	}
	for i := range v.engine.devices {
		p := v.pieces[i][w.segment].part
		if p == nil {
			continue
		}
		k := listKey{part: p.id, impacts: leg.Impacts != nil, list: leg.ID}
		e, _, err := v.engine.devices[i].uploader.bring(p, s, &leg, k, false /* evict */)
		switch {
		case errors.Is(err, errNoRoom), errors.Is(err, errTooLarge):
			return err
		case err != nil:
			return v.engine.devices[i].note(err)
		}
		e.unpin()
	}
	return nil
}
