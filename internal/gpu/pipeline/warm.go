package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/gpu/residency"
	"github.com/griffin-search/griffin/internal/leg"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
)

// WarmOptions select the lists for View.Warm.
type WarmOptions struct {
	// MinDocFreq excludes lists with fewer documents in a segment.
	MinDocFreq uint32
	// Progress, if set, is called periodically with numbers of postings.
	Progress func(done, total int64)
}

type warmList struct {
	segment int
	docFreq uint32
	field   base.FieldID
	impacts impact.List
	term    []byte
	// Estimated sizes of its image and of its compressed form, 0 for impact-ordered lists.
	imageBytes, packedBytes int64
	// Action in the current pass.
	action residency.Action
}

// Warm uploads lists, longest first, until all are resident or memory is full, and returns the
// number of lists on the devices, as images or compressed, and of all. It leaves one lane free,
// so that queries can run. Errors are the context's, a device's, or wrap base.ErrCorrupt.
//
// If not all images fit, lists are also copied to page-locked memory while it has room. If less
// than half fit, most queries would lack one; the devices then get compressed lists instead,
// and directories of the remaining lists.
func (v *View) Warm(ctx context.Context, o WarmOptions) (lists, total int64, err error) {
	wanted, err := v.wanted(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	w := warming{view: v, options: o, wanted: wanted}
	for i := range wanted {
		w.postings += int64(wanted[i].docFreq)
	}
	passes := v.plan(wanted)
	w.total = w.postings * int64(len(passes))
	for _, pass := range passes {
		pass(wanted)
		w.pass(ctx)
	}
	return w.lists, int64(len(wanted)), w.err
}

// plan returns the passes of Warm, each of which sets the action of all lists.
func (v *View) plan(wanted []warmList) []func([]warmList) {
	limit := v.engine.leastLimit()
	var images, directories int64
	for i := range wanted {
		l := &wanted[i]
		images += l.imageBytes
		directories += residency.DirectoryBytes(l.docFreq)
	}
	all := func(a residency.Action) func([]warmList) {
		return func(wanted []warmList) {
			for i := range wanted {
				wanted[i].action = a
			}
		}
	}
	switch {
	case images <= limit:
		return []func([]warmList){all(residency.UploadImage)}
	case images/2 <= limit || !v.allPacked():
		return []func([]warmList){all(residency.UploadImage), all(residency.LockList)}
	}
	return []func([]warmList){func(wanted []warmList) {
		// Directories gain more per byte than lists: upload a list only if the directories
		// of all later lists still fit.
		left := limit - directories
		for i := range wanted {
			l := &wanted[i]
			more := l.packedBytes - residency.DirectoryBytes(l.docFreq)
			if l.action = residency.LockAndPackDirectory; more <= left {
				l.action = residency.LockAndPack
				left -= more
			}
		}
	}}
}

func (e *Engine) leastLimit() int64 {
	limit := e.devices[0].Limit()
	for _, d := range e.devices[1:] {
		limit = min(limit, d.Limit())
	}
	return limit
}

func (v *View) allPacked() bool {
	for s := range v.segments {
		for i, d := range v.engine.devices {
			p := v.targets[i][s].shard
			if p == nil {
				continue
			}
			seg := v.segments[s].Segment
			if seg == nil || !d.ReadsPacked(p, &Leg{Leg: leg.Leg{List: &postings.List{Codec: seg.Codec()}}}) {
				return false
			}
		}
	}
	return true
}

type warming struct {
	view     *View
	options  WarmOptions
	wanted   []warmList
	postings int64 // sum over wanted
	total    int64 // postings in all passes

	mu    sync.Mutex // guards the fields below
	next  int        // index in wanted
	done  int64      // postings taken, in all passes
	lists int64      // on the devices
	full  int        // consecutive lists without room
	err   error
}

// pass leaves at least one lane to queries.
func (w *warming) pass(ctx context.Context) {
	before := w.done
	w.next, w.full = 0, 0
	var group invariant.Group
	for range max(min(w.view.engine.Lanes()-1, uploadLanes), 1) {
		group.Go(func() { w.work(ctx) })
	}
	group.Wait()
	w.done = before + w.postings
	if w.options.Progress != nil && w.err == nil {
		w.options.Progress(w.done, w.total)
	}
}

// take returns nil at the end of the pass.
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
	if w.options.Progress != nil && w.next%256 == 0 {
		w.options.Progress(w.done, w.total)
	}
	return l
}

// there: the list is on all devices.
func (w *warming) finish(l *warmList, there bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there {
		w.lists++
	}
	switch {
	case errors.Is(err, residency.ErrNoRoom), errors.Is(err, residency.ErrTooLarge), errors.Is(err, cuda.ErrOutOfMemory):
		w.full++
	case err == nil:
		w.full = 0
	case w.err == nil:
		w.err = fmt.Errorf("term %q: %w", l.term, err)
	}
}

// work uses one lane of each device.
func (w *warming) work(ctx context.Context) {
	devices := w.view.engine.devices
	lanes := make([]*lane, len(devices))
	for i, d := range devices {
		lanes[i] = d.lanes.take(nil, 1)
		defer d.put(lanes[i])
	}
	for l := w.take(ctx); l != nil; l = w.take(ctx) {
		there, err := w.view.warm(l, lanes)
		w.finish(l, there, err)
	}
	for i, d := range devices {
		if err := lanes[i].uploader.Synchronize(); err != nil {
			w.finish(&warmList{}, false, d.Note(err))
		}
	}
}

// manyRefusals is the number of consecutive lists without room, after which memory counts as
// full. Shorter lists may fit where longer ones did not.
const manyRefusals = 256

// wanted returns the longest lists first.
func (v *View) wanted(ctx context.Context, o WarmOptions) ([]warmList, error) {
	var wanted []warmList
	var list postings.List
	least := max(o.MinDocFreq, 1)
	for s := range v.segments {
		seg := &v.segments[s]
		if seg.OnCPU {
			continue
		}
		if seg.Impacts != nil {
			it := seg.Impacts.Lists()
			for it.Next() {
				if l := it.List(); l.DocFreq >= least {
					w := warmList{segment: s, docFreq: l.DocFreq, impacts: *l, term: slices.Clone(it.Term())}
					w.imageBytes = v.largestImage(s, &Leg{Leg: leg.Leg{Impacts: l}})
					wanted = append(wanted, w)
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
					w := warmList{segment: s, docFreq: m.DocFreq, field: base.FieldID(f), term: slices.Clone(it.Term())}
					list.Meta = m
					w.imageBytes = v.largestImage(s, &Leg{Leg: leg.Leg{List: &list, Field: base.FieldID(f)}})
					w.packedBytes = residency.PackedBytes(int64(m.Length))
					wanted = append(wanted, w)
				}
			}
			if err := it.Err(); err != nil {
				return nil, err
			}
		}
	}
	base.SortStable(wanted, func(a, b warmList) int { return cmp.Compare(b.docFreq, a.docFreq) })
	return wanted, nil
}

// largestImage is the size on the device where it is largest.
func (v *View) largestImage(segment int, leg *Leg) int64 {
	n := int64(0)
	for i := range v.engine.devices {
		n = max(n, v.imageBytes(i, segment, leg))
	}
	return n
}

// warm executes a list's action on all devices with one lane each, and reports whether the list
// is on all. It returns ErrNoRoom if a device has no room.
func (v *View) warm(w *warmList, lanes []*lane) (there bool, err error) {
	s := &v.segments[w.segment]
	var of Leg
	if of.Field, of.Word = w.field, w.term; s.Impacts != nil {
		of.Impacts = &w.impacts
	} else {
		of.List = new(postings.List)
		if found, err := s.Segment.Find(w.field, w.term, of.List); err != nil || !found {
			return false, cmp.Or(err, fmt.Errorf("no such list: %w", base.ErrCorrupt))
		}
	}
	there = true
	for i, d := range v.engine.devices {
		p := v.targets[i][w.segment].shard
		if p == nil {
			continue
		}
		onDevice, err := lanes[i].uploader.Warm(p, s, &of, w.action)
		switch {
		case errors.Is(err, residency.ErrNoRoom), errors.Is(err, residency.ErrTooLarge):
			return false, err
		case err != nil:
			return false, d.Note(err)
		}
		there = there && onDevice
	}
	return there, nil
}
