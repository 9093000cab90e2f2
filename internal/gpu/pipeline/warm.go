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
	"github.com/griffin-search/griffin/internal/invariant"
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
	// About the sizes of its image and of its compressed form.
	imageBytes, packedBytes int64
	// What becomes of it in the pass that is under way.
	action action
}

// action is what Warm does with a list.
type action uint8

const (
	// bringsImage makes its image.
	bringsImage action = iota
	// locks copies it to page-locked memory, if that is of use.
	locks
	// locksAndPacks also copies it to the device, compressed.
	locksAndPacks
	// locksAndDirects also copies its directory to the device.
	locksAndDirects
)

// Warm brings lists to the devices, those with the most documents first, until all
// are there or memory is full. It returns how many are on the devices, as images or
// compressed, and how many there are. Queries can run meanwhile: it leaves them a lane.
// Errors are ctx's, a device's, or wrap base.ErrCorrupt.
//
// If not all images have room, page-locked memory gets the lists as long as there is
// room. If not even half of them have, most queries will lack one: then the devices get
// no images, but compressed lists, and of those without room the directories.
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

// plan returns the passes of a Warm, each of which sets the action of all lists.
func (v *View) plan(wanted []warmList) []func([]warmList) {
	limit := v.engine.leastLimit()
	var images, packed, directories int64
	for i := range wanted {
		l := &wanted[i]
		images += l.imageBytes
		packed += l.packedBytes
		directories += roundUp(4 * int64(directoryLen(l.docFreq)))
	}
	all := func(a action) func([]warmList) {
		return func(wanted []warmList) {
			for i := range wanted {
				wanted[i].action = a
			}
		}
	}
	switch {
	case images <= limit:
		return []func([]warmList){all(bringsImage)}
	case images/2 <= limit || !v.allDirectly():
		return []func([]warmList){all(bringsImage), all(locks)}
	}
	return []func([]warmList){func(wanted []warmList) {
		// Directories are worth more than the same bytes of lists: so a list goes to
		// the device as long as there is room for the directories of those behind it.
		left := limit - directories
		for i := range wanted {
			l := &wanted[i]
			more := l.packedBytes - roundUp(4*int64(directoryLen(l.docFreq)))
			if l.action = locksAndDirects; more <= left {
				l.action = locksAndPacks
				left -= more
			}
		}
	}}
}

// leastLimit returns how much lists may take on the device where that is least.
func (e *Engine) leastLimit() int64 {
	limit := e.devices[0].limit[0].Load()
	for _, d := range e.devices[1:] {
		limit = min(limit, d.limit[0].Load())
	}
	return limit
}

// allDirectly reports whether kernels can read the lists of all segments where they lie.
func (v *View) allDirectly() bool {
	for s := range v.segments {
		for i, d := range v.engine.devices {
			p := v.pieces[i][s].part
			if p == nil {
				continue
			}
			seg := v.segments[s].Segment
			if seg == nil || !d.readsDirectly(p, &Leg{List: &postings.List{Codec: seg.Codec()}}) {
				return false
			}
		}
	}
	return true
}

// warming is a Warm on its way.
type warming struct {
	view     *View
	options  WarmOptions
	wanted   []warmList
	postings int64 // of all
	total    int64 // in all passes

	mu    sync.Mutex // guards what follows
	next  int        // of wanted
	done  int64      // postings of those before, in all passes
	lists int64      // that are there
	full  int        // in a row for which there was no room
	err   error
}

// pass takes all lists once, by as many workers as there are lanes but one.
func (w *warming) pass(ctx context.Context) {
	before := w.done
	w.next, w.full = 0, 0
	var group invariant.Group
	for range max(w.view.engine.Lanes()-1, 1) {
		group.Go(func() { w.work(ctx) })
	}
	group.Wait()
	w.done = before + w.postings
	if w.options.Progress != nil && w.err == nil {
		w.options.Progress(w.done, w.total)
	}
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
	if w.options.Progress != nil && w.next%256 == 0 {
		w.options.Progress(w.done, w.total)
	}
	return l
}

// finish notes what became of a list: whether it is on the devices now.
func (w *warming) finish(l *warmList, there bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there {
		w.lists++
	}
	switch {
	case errors.Is(err, errNoRoom), errors.Is(err, errTooLarge), errors.Is(err, cuda.ErrOutOfMemory):
		w.full++
	case err == nil:
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
		defer d.put(lanes[i])
	}
	for l := w.take(ctx); l != nil; l = w.take(ctx) {
		there, err := w.view.warm(l, lanes)
		w.finish(l, there, err)
	}
	for i, d := range devices {
		if err := lanes[i].uploader.stream.Synchronize(); err != nil {
			w.finish(&warmList{}, false, d.note(err))
		}
	}
}

// manyRefusals is for how many lists in a row there has to be no room until Warm
// takes the memory for full: shorter ones may fit where longer ones did not.
const manyRefusals = 256

// wanted lists what Warm brings, longest first.
func (v *View) wanted(ctx context.Context, o WarmOptions) ([]warmList, error) {
	var wanted []warmList
	var list postings.List
	least := max(o.MinDocFreq, 1)
	for s := range v.segments {
		seg := &v.segments[s]
		if seg.Impacts != nil {
			it := seg.Impacts.Lists()
			for it.Next() {
				if l := it.List(); l.DocFreq >= least {
					w := warmList{segment: s, docFreq: l.DocFreq, impacts: *l, term: slices.Clone(it.Term()), packedBytes: 8 * int64(l.DocFreq)}
					w.imageBytes = v.largestImage(s, &Leg{Impacts: l, DocFreq: l.DocFreq})
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
					w.imageBytes = v.largestImage(s, &Leg{List: &list, DocFreq: m.DocFreq, Field: base.FieldID(f)})
					w.packedBytes = roundUp(int64(m.Length) + 16)
					wanted = append(wanted, w)
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

// largestImage returns about the size of the image of a list on the device where it is
// largest.
func (v *View) largestImage(segment int, leg *Leg) int64 {
	n := int64(0)
	for i := range v.engine.devices {
		n = max(n, v.imageBytes(i, segment, leg))
	}
	return n
}

// warm does with a list what its action says, on all devices, by a lane of each. It
// reports whether the list is there now. The error is errNoRoom if there was none for it.
func (v *View) warm(w *warmList, lanes []*lane) (there bool, err error) {
	s := &v.segments[w.segment]
	leg := Leg{DocFreq: w.docFreq, Field: w.field}
	if s.Impacts != nil {
		leg.Impacts, leg.ID = &w.impacts, w.impacts.ID()
	} else {
		leg.List = new(postings.List)
		if found, err := s.Segment.Find(w.field, w.term, leg.List); err != nil || !found {
			return false, cmp.Or(err, fmt.Errorf("no such list: %w", base.ErrCorrupt))
		}
		leg.ID = leg.List.FrontierOffset
	}
	there = true
	for i, d := range v.engine.devices {
		p := v.pieces[i][w.segment].part
		if p == nil {
			continue
		}
		onDevice, err := lanes[i].warm(p, s, &leg, w.action)
		switch {
		case errors.Is(err, errNoRoom), errors.Is(err, errTooLarge):
			return false, err
		case err != nil:
			return false, d.note(err)
		}
		there = there && onDevice
	}
	return there, nil
}

// warm is View.warm on the lane's device.
func (l *lane) warm(p *part, s *Segment, leg *Leg, a action) (there bool, err error) {
	if a == bringsImage {
		e, _, err := l.uploader.bringImage(p, s, leg, ifFree)
		if err != nil {
			return false, err
		}
		e.unpin()
		return true, nil
	}
	if _, decodable := decodes(leg); !decodable && !l.d.readsDirectly(p, leg) {
		return false, nil // page-locked memory is of no use for it
	}
	payload, directory := leg.List.Raw()
	if err := checkDirectory(len(payload), directory); err != nil {
		return false, err
	}
	host := l.d.keep(leg.key(p.id).of(kindHost), payload, directory, ifFree)
	switch {
	case host == nil && a == locksAndPacks:
		e, err := l.uploader.bringPacked(p, leg, ifFree)
		if err != nil {
			return false, err
		}
		e.unpin()
		return true, nil
	case host == nil:
		return false, errNoRoom
	}
	defer host.unpin()
	switch a {
	case locksAndPacks:
		if err := l.uploader.promoteFree(host, leg.DocFreq, kindPacked); err != nil {
			return false, err
		}
		return l.d.records.ofLeg(leg, p.id).compressed() == FormDevice, nil
	case locksAndDirects:
		err = l.uploader.promoteFree(host, leg.DocFreq, kindDirectory)
	}
	return false, err
}
