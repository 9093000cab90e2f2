package pipeline

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/invariant"
)

// Others answer queries of a batch that the devices have not started, on idle processors.
// Methods may be called concurrently.
type Others interface {
	// A device, by number, calls Begin when a batch exceeds its memory or runs on compressed lists, and again for
	// further queries that it answers at the same time in another way. order are the queries, by number in the
	// batch, as the device takes them: highest cost first. left are queries whose lists exceed the
	// device's memory, largest last; only the others answer them.
	Begin(device int, order, left []int)
	// Take assigns a query to the devices, false if the others have taken it.
	Take(query int) bool
}

var errLeft = errors.New("the query was taken by another processor")

// slicedRun answers a batch whose lists exceed a device's memory in slices, one per lane at a
// time.
type slicedRun struct {
	view    *View
	device  int
	queries []*Query
	results []Result
	others  Others // may be nil
	trace   *Trace

	mu    sync.Mutex // guards the fields below
	order []int
	next  int // index in order
}

const (
	// sliceQueries is the maximum for a slice that uploads lists.
	sliceQueries = 64
	// A slice uploads up to 1/sliceShare of the memory, so that the slices of all lanes fit.
	sliceShare = 8
	// fewQueries run faster one by one, each with the whole device, than in a batch with a few
	// blocks each.
	fewQueries = 8
)

// The error is the context's.
func (p *slicedRun) run(ctx context.Context) error {
	left := p.sort()
	if p.others != nil {
		p.others.Begin(p.device, p.order, left)
	}
	for _, i := range left {
		p.results[i].Err = residency.ErrTooLarge
	}
	var group invariant.Group
	for range min(p.view.engine.devices[p.device].numLanes, uploadLanes) {
		group.Go(func() { p.work(ctx) })
	}
	group.Wait()
	return ctx.Err()
}

func (p *slicedRun) work(ctx context.Context) {
	d := p.view.engine.devices[p.device]
	w := batchSlice{first: -1}
	var short shortage
	defer short.end(d)
	for ctx.Err() == nil {
		ended, err := p.answer(ctx, &w, &short)
		switch {
		case len(w.numbers) > 0:
		case err == nil:
			return
		case !short.wait(ctx, d, ended):
			p.results[w.first].Err = err
			w.first, w.uploaded = -1, 0
		}
	}
}

// answer fills w with the next slice and answers it. If w is empty, no query is left, or err is
// ErrNoRoom. ended is from enter.
func (p *slicedRun) answer(ctx context.Context, w *batchSlice, short *shortage) (ended uint64, err error) {
	d, targets := p.view.engine.devices[p.device], p.view.targets[p.device]
	w.reset()
	l := d.lane(ctx, len(p.queries))
	if l == nil {
		return 0, nil
	}
	ended = l.enter()
	defer l.leave()
	if err = p.gather(l, targets, w); len(w.numbers) == 0 {
		return ended, err
	}
	short.end(d)
	l.run(targets, w.queries, w.results, fewQueries, p.trace != nil)
	for j, i := range w.numbers {
		p.results[i] = w.results[j]
	}
	p.report(l)
	return ended, nil
}

func (p *slicedRun) report(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.report(p.trace, p.device)
}

type batchSlice struct {
	numbers []int // query numbers in the batch
	queries []*Query
	results []Result
	// first is the query that found no room in the previous slice, -1: none. uploaded counts
	// its lists uploaded then, which must not count as hits later.
	first, uploaded int
}

func (w *batchSlice) reset() {
	w.numbers, w.queries, w.results = w.numbers[:0], w.queries[:0], w.results[:0]
}

// take returns -1 if no query is left.
func (p *slicedRun) take() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.next < len(p.order) {
		i := p.order[p.next]
		p.next++
		if p.others == nil || p.others.Take(i) {
			return i
		}
		p.results[i].Err = errLeft
	}
	return -1
}

// gather pins and uploads the lists of the next slice, or returns ErrNoRoom if the next query
// has no room.
func (p *slicedRun) gather(l *lane, targets []target, w *batchSlice) error {
	enough := l.uploader.Uploaded() + max(l.d.Limit()/sliceShare, 1)
	for len(w.numbers) < sliceQueries && l.uploader.Uploaded() < enough {
		i := w.first
		if w.first = -1; i < 0 {
			if i = p.take(); i < 0 {
				return nil
			}
		}
		one := [1]Result{p.results[i]}
		n, err := l.gather(p.view, targets, p.queries[i:i+1], one[:])
		if n == 0 {
			w.first = i
			w.uploaded += l.wasted
			return err
		}
		// Only the first query of a slice may have lists uploaded before.
		again := min(w.uploaded, l.counts.Hit)
		l.counts.Hit -= again
		l.counts.Asked.Image -= int64(again)
		w.uploaded = 0
		w.numbers, w.queries, w.results = append(w.numbers, i), append(w.queries, p.queries[i]), append(w.results, one[0])
	}
	return nil
}

// sort sets the order and returns the queries whose lists exceed the memory, largest last.
// Queries with a high CPU cost, which gain most, come first; among equals, queries with the
// same longest lists are adjacent, to find them resident.
func (p *slicedRun) sort() (left []int) {
	limit := p.view.engine.devices[p.device].Limit()
	keys := make([]sortKey, 0, len(p.queries))
	size := map[int]int64{} // of left
	for i, q := range p.queries {
		k := sortKey{query: i, cost: cost(q)}
		var bytes int64
		for j := range q.Legs {
			leg := &q.Legs[j]
			if leg.DocFreq() == 0 {
				continue
			}
			bytes += p.view.imageBytes(p.device, j/q.NumTerms, leg)
			k.lists = append(k.lists, leg)
		}
		if bytes > limit {
			left = append(left, i)
			size[i] = bytes
			continue
		}
		slices.SortFunc(k.lists, compareLists)
		keys = append(keys, k)
	}
	slices.SortStableFunc(keys, func(a, b sortKey) int {
		return cmp.Or(cmp.Compare(b.cost, a.cost), slices.CompareFunc(a.lists, b.lists, compareLists))
	})
	slices.SortFunc(left, func(a, b int) int { return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b)) })
	p.order = make([]int, len(keys))
	for i := range keys {
		p.order[i] = keys[i].query
	}
	return left
}

type sortKey struct {
	query, cost int
	lists       []*Leg // longest first
}

func compareLists(a, b *Leg) int {
	return cmp.Or(cmp.Compare(b.DocFreq(), a.DocFreq()), cmp.Compare(a.ID(), b.ID()))
}

// cost estimates a query's CPU cost: the logarithm to base 4 of its postings, or of its
// shortest list for a conjunction.
func cost(q *Query) int {
	var sum uint64
	least := uint64(math.MaxUint64)
	for j := range q.NumTerms {
		var n uint64
		for k := j; k < len(q.Legs); k += q.NumTerms {
			n += uint64(q.Legs[k].DocFreq())
		}
		sum += n
		if q.part(j) != Excluded {
			least = min(least, n)
		}
	}
	if q.Conjunctive {
		sum = least
	}
	return bits.Len64(sum) / 2
}

// need estimates the size of the images of the queries' lists on a device.
func (v *View) need(device int, queries []*Query) (bytes int64) {
	seen := make(map[residency.ListKey]struct{})
	for _, q := range queries {
		for j := range q.Legs {
			leg := &q.Legs[j]
			k := leg.Key(j / q.NumTerms)
			if _, ok := seen[k]; ok || leg.DocFreq() == 0 {
				continue
			}
			seen[k] = struct{}{}
			bytes += v.imageBytes(device, j/q.NumTerms, leg)
		}
	}
	return bytes
}

// imageBytes is an estimate, 0 if the device has no part of the segment.
func (v *View) imageBytes(device, segment int, leg *Leg) int64 {
	p := v.targets[device][segment].shard
	if p == nil {
		return 0
	}
	return p.ImageBytes(v.segments[segment].NumDocs, leg)
}
