package pipeline

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/invariant"
)

// Others are who answers queries of a batch that the devices do not get to: processors
// that would be idle otherwise. Methods may be called by several goroutines.
type Others interface {
	// Begin is called, at most once a device, when the lists of a batch turn out not to
	// fit into a device's memory together, or are read where they lie. Devices take queries, by their numbers in the
	// batch, in this order: the costly ones first. What a device cannot hold the lists
	// of is left to the others, the costliest last.
	Begin(order, left []int)
	// Take reports whether a query is the devices' to answer: one that was not taken by
	// the others, and is not to be from now on.
	Take(query int) bool
}

// errLeft is the Err of queries that the Others of a run have taken.
var errLeft = errors.New("the query was left to others")

// parts answers the queries of a batch whose lists do not fit into a device's memory
// together: in parts, as many at a time as there are lanes, so that the lists of some
// are brought while others compute.
type parts struct {
	view    *View
	device  int
	queries []*Query
	results []Result
	others  Others // nil: there are none
	trace   *Trace

	mu    sync.Mutex // guards what follows
	order []int
	next  int // of order
}

const (
	// partQueries is how many queries a part has at most, where each brings lists.
	partQueries = 64
	// partShare of the memory is what a part brings lists for: little enough for parts of
	// all lanes to have room.
	partShare = 8
	// fewQueries are answered faster one after another, each by all of the device, than
	// in a batch, which gives a query a few blocks.
	fewQueries = 8
)

// run answers the queries; the error is the context's.
func (p *parts) run(ctx context.Context) error {
	left := p.sort()
	if p.others != nil {
		p.others.Begin(p.order, left)
	}
	for _, i := range left {
		p.results[i].Err = errTooLarge
	}
	var group invariant.Group
	for range p.view.engine.devices[p.device].numLanes {
		group.Go(func() { p.work(ctx) })
	}
	group.Wait()
	return ctx.Err()
}

// work answers one part after another.
func (p *parts) work(ctx context.Context) {
	d := p.view.engine.devices[p.device]
	w := batchPart{first: -1}
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
			w.first = -1
		}
	}
}

// answer answers the next part, which it makes w; w has no queries if there is none any
// more or, the error being errNoRoom, no room for it. ended is what holders.begin said.
func (p *parts) answer(ctx context.Context, w *batchPart, short *shortage) (ended uint64, err error) {
	d, pieces := p.view.engine.devices[p.device], p.view.pieces[p.device]
	w.reset()
	l := d.lane(ctx)
	if l == nil {
		return 0, nil
	}
	ended = l.enter()
	defer l.leave()
	if err = p.gather(l, pieces, w); len(w.numbers) == 0 {
		return ended, err
	}
	short.end(d)
	l.run(pieces, w.queries, w.results, fewQueries, p.trace != nil)
	for j, i := range w.numbers {
		p.results[i] = w.results[j]
	}
	p.report(l)
	return ended, nil
}

// report adds what a lane did to the trace.
func (p *parts) report(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.report(p.trace, p.device)
}

// batchPart is a part of a batch.
type batchPart struct {
	numbers []int // in the batch
	queries []*Query
	results []Result
	// first of the next part, for which there was no room in the last one, -1: none; and
	// the lists that were brought for it then: no hits when they are found.
	first, brought int
}

func (w *batchPart) reset() {
	w.numbers, w.queries, w.results = w.numbers[:0], w.queries[:0], w.results[:0]
}

// take returns the number of the next query that is to be answered here, -1 if there
// is none.
func (p *parts) take() int {
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

// gather fills w, which is empty, with the next part, and pins and brings its lists. The
// error is errNoRoom if there is none for a first query.
func (p *parts) gather(l *lane, pieces []piece, w *batchPart) error {
	enough := l.uploader.made + max(l.d.limit[0].Load()/partShare, 1)
	for len(w.numbers) < partQueries && l.uploader.made < enough {
		i := w.first
		if w.first = -1; i < 0 {
			if i = p.take(); i < 0 {
				return nil
			}
		}
		one := [1]Result{p.results[i]}
		hits, wasted := l.counts.hit, l.wasted
		n, err := l.gather(p.view, pieces, p.queries[i:i+1], one[:])
		if n == 0 {
			w.first = i
			w.brought += l.wasted - wasted
			return err
		}
		again := min(w.brought, l.counts.hit-hits)
		l.counts.hit -= again
		l.counts.asked.Image -= int64(again)
		w.brought = 0
		w.numbers, w.queries, w.results = append(w.numbers, i), append(w.queries, p.queries[i]), append(w.results, one[0])
	}
	return nil
}

// sort sets the order in which queries are answered, and returns those whose lists do
// not fit into memory, those with most bytes last. Queries that take a CPU long come
// first, as those gain most; among them those with the same longest lists follow each
// other, so that lists are there when they are asked for again.
func (p *parts) sort() (left []int) {
	limit := p.view.engine.devices[p.device].limit[0].Load()
	keys := make([]sortKey, 0, len(p.queries))
	size := map[int]int64{} // of those left
	for i, q := range p.queries {
		if p.results[i].refused() {
			continue
		}
		k := sortKey{query: i, cost: cost(q)}
		var bytes int64
		for j := range q.Legs {
			leg := &q.Legs[j]
			if leg.DocFreq == 0 {
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

// sortKey is what a query is sorted by.
type sortKey struct {
	query, cost int
	lists       []*Leg // longest first
}

func compareLists(a, b *Leg) int {
	return cmp.Or(cmp.Compare(b.DocFreq, a.DocFreq), cmp.Compare(a.ID, b.ID))
}

// cost is about what a query costs a CPU, as the logarithm to base 4: of the postings of
// its lists, or of the shortest if documents must have all terms.
func cost(q *Query) int {
	var sum, least uint64
	for j := range q.NumTerms {
		var n uint64
		for k := j; k < len(q.Legs); k += q.NumTerms {
			n += uint64(q.Legs[k].DocFreq)
		}
		sum += n
		if j == 0 || n < least {
			least = n
		}
	}
	if q.Conjunctive {
		sum = least
	}
	return bits.Len64(sum) / 2
}

// fits reports whether the lists of queries may fit into a device's memory together.
func (v *View) fits(device int, queries []*Query) bool {
	left := v.engine.devices[device].limit[0].Load()
	seen := make(map[listKey]struct{})
	for _, q := range queries {
		for j := range q.Legs {
			leg := &q.Legs[j]
			k := listKey{part: uint32(j / q.NumTerms), impacts: leg.Impacts != nil, list: leg.ID}
			if _, ok := seen[k]; ok || leg.DocFreq == 0 {
				continue
			}
			seen[k] = struct{}{}
			if left -= v.imageBytes(device, j/q.NumTerms, leg); left < 0 {
				return false
			}
		}
	}
	return true
}

// imageBytes is about the size of the image of a list on a device, 0 if it has none.
func (v *View) imageBytes(device, segment int, leg *Leg) int64 {
	p := v.pieces[device][segment].part
	if p == nil {
		return 0
	}
	share := float64(p.to-p.from) / float64(v.segments[segment].NumDocs)
	shape := imageShape(p, leg, max(int(share*float64(leg.DocFreq)), 1))
	return roundUp(shape.SizeBytes())
}
