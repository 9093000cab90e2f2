package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
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
// Queries can run meanwhile: it leaves them a lane. Errors are ctx's, a device's, or
// wrap base.ErrCorrupt.
func (v *View) Warm(ctx context.Context, o WarmOptions) (lists, total int64, err error) {
	wanted, err := v.wanted(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	w := warming{view: v, options: o, wanted: wanted}
	for i := range wanted {
		w.postings += int64(wanted[i].docFreq)
	}
	var wg sync.WaitGroup
	for range max(v.engine.Lanes()-1, 1) {
		wg.Go(func() { w.work(ctx) })
	}
	wg.Wait()
	return w.lists, int64(len(wanted)), w.err
}

// warming is a Warm on its way.
type warming struct {
	view     *View
	options  WarmOptions
	wanted   []warmList
	postings int64 // of all

	mu    sync.Mutex // guards what follows
	next  int        // of wanted
	done  int64      // postings of those before
	lists int64      // that are there
	full  int        // in a row for which there was no room
	err   error
}

// take returns the next list, nil if there is none to be brought any more.
func (w *warming) take(ctx context.Context) *warmList {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = ctx.Err()
	}
	if w.err != nil || w.next == len(w.wanted) || w.full >= manyRefusals {
		return nil
	}
	l := &w.wanted[w.next]
	w.next++
	w.done += int64(l.docFreq)
	if w.options.Progress != nil && (w.next%256 == 0 || w.next == len(w.wanted)) {
		w.options.Progress(w.done, w.postings)
	}
	return l
}

// finish notes what became of a list.
func (w *warming) finish(l *warmList, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, errNoRoom), errors.Is(err, errTooLarge), errors.Is(err, cuda.ErrOutOfMemory):
		w.full++
	case err == nil:
		w.lists++
		w.full = 0
	case w.err == nil:
		w.err = fmt.Errorf("term %q: %w", l.term, err)
	}
}

// work brings lists, by a lane of each device.
func (w *warming) work(ctx context.Context) {
	devices := w.view.engine.devices
	lanes := make([]*lane, len(devices))
	for i, d := range devices {
		lanes[i] = <-d.lanes
	}
	for l := w.take(ctx); l != nil; l = w.take(ctx) {
		w.finish(l, w.view.warm(l, lanes))
	}
	for i, d := range devices {
		err := lanes[i].uploader.stream.Synchronize()
		d.lanes <- lanes[i]
		if err != nil {
			w.finish(&warmList{}, d.note(err))
		}
	}
}

// manyRefusals is for how many lists in a row there has to be no room until Warm
// takes the memory for full: shorter ones may fit where longer ones did not.
const manyRefusals = 256

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

// warm brings a list to all devices, by a lane of each.
func (v *View) warm(w *warmList, lanes []*lane) error {
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
		e, _, err := lanes[i].uploader.bring(p, s, &leg, k, false /* evict */)
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
