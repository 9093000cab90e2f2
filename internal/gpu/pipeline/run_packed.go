package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
	"github.com/griffin-search/griffin/internal/invariant"
)

// crowd describes the queries of a run together.
type crowd struct {
	few  bool // up to fewQueries
	many bool // at least bandQueries
	// times is the size of the images of their lists in units of the device's memory; 0: the images fit, or few.
	times float64
	// together is the number of crowds that ran at the same time, lately.
	together int
}

func (v *View) crowd(device int, queries []*Query) crowd {
	d := v.engine.devices[device]
	if len(queries) <= fewQueries || !d.tight.Load() {
		return crowd{few: len(queries) <= fewQueries}
	}
	if need, limit := v.need(device, queries), d.Limit(); need > limit {
		return crowd{many: len(queries) >= bandQueries, times: float64(need) / float64(max(limit, 1))}
	}
	return crowd{}
}

// A crowd reads compressed lists over the bus if the images exceed the memory more often than this: then most images
// would be made for a single query. An AND reads a small part of its lists, but an OR most of them
// (docs/benchmarks/gpu-memory.md).
const (
	crowdedAnd = 4
	crowdedOr  = 40
)

// The queries of a crowd of at least bandQueries go by bands, which bring each list once, if the images exceed the memory
// more often than this. A pass takes tens of milliseconds, for one query or for thousands: AND queries go by bands only if
// bandCrowds crowds ran at the same time lately, and will share passes (docs/benchmarks/gpu-memory.md).
const (
	crowdedBands = 4
	bandQueries  = 128
	bandCrowds   = 3
)

// inBands reports whether a query with PathAuto goes by bands.
func (c crowd) inBands(q *Query) bool {
	return c.many && c.times > crowdedBands && (!q.Conjunctive || c.together >= bandCrowds)
}

// readsInPlace reports whether a query with PathAuto reads compressed lists if its images have no room.
func (c crowd) readsInPlace(q *Query) bool {
	return c.few || q.Conjunctive && c.times > crowdedAnd || c.times > crowdedOr
}

func (v *View) pathOn(device int, q *Query, c crowd) Path {
	if (q.Path == PathBands || q.Path == PathAuto && c.inBands(q)) && v.inBands(device, q) {
		return PathBands
	}
	if q.Path == PathImages || q.Path == PathBands || q.Path == PathAuto && !c.readsInPlace(q) {
		return PathImages
	}
	t := q.terms()
	if !v.readsPacked(device, &t, q.K) {
		return PathImages
	}
	if q.Path == PathPacked {
		return PathPacked
	}
	if v.imageRoom(device, &t) {
		return PathImages
	}
	return PathPacked
}

func (v *View) imageRoom(device int, t *terms) bool {
	d := v.engine.devices[device]
	room := d.Room()
	for s := range v.targets[device] {
		p := v.targets[device][s].shard
		if p == nil || t.none(s) {
			continue
		}
		legs := t.of(s)
		for j := range legs {
			leg := &legs[j]
			if leg.DocFreq() == 0 {
				continue
			}
			if d.HasImage(p, leg) {
				continue
			}
			if room -= v.imageBytes(device, s, leg); room < 0 {
				return false
			}
		}
	}
	return true
}

// runSplit uses several paths.
func (v *View) runSplit(ctx context.Context, i int, queries []*Query, c crowd, results []Result, others Others, trace *Trace) error {
	var parts [PathBands + 1]subset
	for j, q := range queries {
		parts[v.pathOn(i, q, c)].add(j, q, &results[j])
	}
	var traces [PathBands + 1]*Trace
	var group invariant.Group
	for path := range parts {
		p := &parts[path]
		if len(p.queries) == 0 {
			continue
		}
		if trace != nil {
			traces[path] = &Trace{Devices: make([]DeviceTrace, len(trace.Devices))}
		}
		group.Go(func() {
			_ = v.runBy(ctx, Path(path), i, p.queries, p.results, p.others(others), traces[path])
		})
	}
	group.Wait()
	for j := range parts {
		parts[j].give(results)
		if traces[j] != nil {
			trace.Devices[i].merge(&traces[j].Devices[i])
		}
	}
	return ctx.Err() // the only error of each
}

type subset struct {
	numbers []int // in the batch
	queries []*Query
	results []Result
}

func (s *subset) add(number int, q *Query, r *Result) {
	s.numbers, s.queries, s.results = append(s.numbers, number), append(s.queries, q), append(s.results, *r)
}

func (s *subset) give(results []Result) {
	for i, number := range s.numbers {
		results[number] = s.results[i]
	}
}

// others returns others with the subset's query numbers, or nil.
func (s *subset) others(others Others) Others {
	if others == nil {
		return nil
	}
	return &subsetOthers{others, s.numbers}
}

type subsetOthers struct {
	others  Others
	numbers []int
}

func (o *subsetOthers) Begin(device int, order, left []int) {
	o.others.Begin(device, o.inBatch(order), o.inBatch(left))
}

func (o *subsetOthers) Take(query int) bool { return o.others.Take(o.numbers[query]) }

func (o *subsetOthers) inBatch(queries []int) []int {
	numbers := make([]int, len(queries))
	for i, q := range queries {
		numbers[i] = o.numbers[q]
	}
	return numbers
}

// runPacked answers queries from compressed lists, each on the whole device, one per lane at a
// time. Queries that packedsearch cannot answer, or whose lists have no room, run by images.
// The error is the context's.
func (v *View) runPacked(ctx context.Context, i int, queries []*Query, results []Result, others Others, trace *Trace) error {
	if len(queries) == 1 {
		again, err := v.runOnePacked(ctx, i, queries[0], &results[0], trace, nil)
		if again {
			err = v.runImages(ctx, i, queries, results, others, trace)
		}
		return err
	}
	order := byCost(queries)
	if others != nil {
		others.Begin(i, order, nil)
	}
	var group invariant.Group
	var next atomic.Int64
	var mu sync.Mutex // guards trace and rest
	var rest subset
	for range min(len(order), v.engine.devices[i].numLanes) {
		group.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(order) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				j := order[n]
				if others != nil && !others.Take(j) {
					results[j].Err = errLeft
					continue
				}
				if again, _ := v.runOnePacked(ctx, i, queries[j], &results[j], trace, &mu); again {
					mu.Lock()
					rest.add(j, queries[j], &results[j])
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if len(rest.queries) > 0 {
		_ = v.runImages(ctx, i, rest.queries, rest.results, nil /* others have had their choice */, trace)
		rest.give(results)
	}
	return ctx.Err() // the only error of both
}

// byCost returns the numbers of the queries, highest cost first.
func byCost(queries []*Query) []int {
	order := make([]int, len(queries))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost(queries[b]), cost(queries[a])) })
	return order
}

// again reports that the query must run by images instead. mu, if not nil, guards the trace.
func (v *View) runOnePacked(ctx context.Context, i int, q *Query, r *Result, trace *Trace, mu *sync.Mutex) (again bool, err error) {
	d := v.engine.devices[i]
	l := d.lane(ctx, 1)
	if l == nil {
		return false, ctx.Err()
	}
	l.enter()
	defer l.leave()
	l.packed.ask = packedAsk{terms: q.terms(), k: q.K, count: q.Count, filters: q.Filters, traced: trace != nil}
	err = l.runPacked(v, v.targets[i], r)
	if again = unanswered(err); again {
		r.Err, r.Hits, r.Matches = nil, r.Hits[:0], 0
	} else {
		d.packedRuns.Add(1)
		d.queries.Add(1)
	}
	if mu != nil {
		mu.Lock()
		defer mu.Unlock()
	}
	l.report(trace, i)
	return again, nil
}

// unanswered errors mean that the query must run by images.
func unanswered(err error) bool {
	return errors.Is(err, packedsearch.ErrUnsuited) || errors.Is(err, residency.ErrNoRoom)
}

type packedAsk struct {
	terms    terms
	k        int
	count    bool
	filters  []Filter    // by segment; none: all documents may match
	from, to *Candidates // candidates in and out; nil: none (packedsearch.Query.From, Runner.Run)
	traced   bool
}

// none reports whether the query has no match in a segment.
func (a *packedAsk) none(s int) bool {
	return a.terms.none(s) || len(a.filters) > 0 && a.filters[s].IsNone()
}

// runPacked answers l.packed.ask segment by segment: the threshold of one prunes the next. It
// then requests promotions, and also stores its error in r.Err.
func (l *lane) runPacked(v *View, targets []target, r *Result) error {
	err := l.searchPacked(v, targets, r)
	if err != nil {
		_ = l.stream.Synchronize() // no kernel may read unpinned lists
		r.Err = l.d.Note(err)
	} else {
		l.settled(v, targets)
	}
	l.release()
	l.packed.ask = packedAsk{}
	c, d := &l.counts, l.d
	if unanswered(err) { // the run by images counts the lists
		c.Hit, c.Missed, c.Asked = 0, 0, FormStats{}
	}
	d.busy.Add(int64(c.took))
	d.CountLists(c.Hit, c.Missed)
	d.asked.Add(&c.Asked)
	d.inPlace.Add(c.inPlace)
	return err
}

func (l *lane) searchPacked(v *View, targets []target, r *Result) (err error) {
	if l.packed.runner == nil {
		if l.packed.runner, err = l.d.packed.NewRunner(packedsearch.Limits{}); err != nil {
			return err
		}
	}
	if err := l.hold(targets); err != nil {
		return err
	}
	for s := range targets {
		if err := l.searchSegment(v, &targets[s], s, r); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) searchSegment(v *View, p *target, s int, r *Result) error {
	ask := &l.packed.ask
	legs := ask.terms.of(s)
	l.packed.lists, l.packed.onHost = l.packed.lists[:0], l.packed.onHost[:0]
	for j := range legs {
		h := &l.packed.held[s*ask.terms.len()+j]
		if h.IsZero() {
			continue
		}
		list, err := l.listOf(p.shard, &v.segments[s], &legs[j], h)
		if err != nil {
			return err
		}
		l.packed.lists, l.packed.onHost = append(l.packed.lists, list), append(l.packed.onHost, h.OnHost())
	}
	if len(l.packed.lists) == 0 {
		return nil
	}
	q := &l.packed.asked
	*q = packedsearch.Query{Conjunctive: ask.terms.conjunctive, K: ask.k, Count: ask.count, Lists: l.packed.lists}
	if filter(ask.filters, s) != nil {
		e := l.packed.filters[s]
		if err := l.waits.Image(l.stream, e); err != nil {
			return err
		}
		q.Filter = e.Bits()
	}
	if ask.k > 0 && len(r.Hits) == ask.k {
		q.Threshold = r.Hits[ask.k-1].Score
	}
	var to *packedsearch.Candidates
	if ask.from != nil {
		if q.From = &ask.from.Segments[s]; len(q.From.DocIDs) == 0 {
			return nil
		}
	}
	if ask.to != nil {
		to = &ask.to.Segments[s]
	}
	return l.askPacked(p, q, r, to)
}

// askPacked merges the hits of a segment into r.
func (l *lane) askPacked(p *target, q *packedsearch.Query, r *Result, to *packedsearch.Candidates) error {
	if l.packed.ask.traced {
		if err := l.stream.Record(l.begun); err != nil {
			return err
		}
	}
	hits, matches, err := l.packed.runner.Run(l.stream, p.segment, q, l.merged[:0], to)
	if err != nil {
		return err
	}
	l.d.launches.Add(1)
	l.merged = hits
	l.merge(r, l.packed.ask.k)
	r.Matches += matches
	l.counts.inPlace += l.inPlace(q)
	if !l.packed.ask.traced {
		return nil
	}
	l.packed.runner.Launches(l.count)
	l.bytes(candidateBytes(q.From), hitBytes*int64(len(hits))+candidateBytes(to))
	return l.elapsed()
}

// candidateBytes is the bus traffic of candidates.
func candidateBytes(c *packedsearch.Candidates) int64 {
	if c == nil {
		return 0
	}
	return hitBytes * int64(len(c.DocIDs))
}

// hitBytes is the size of a DocID with its score.
const hitBytes = 8

// settled marks finished uploads as loaded and counts reads of page-locked lists, which may
// request their promotion.
func (l *lane) settled(v *View, targets []target) {
	l.waits.Ended()
	n := l.packed.ask.terms.len()
	var s residency.Shares
	for i := range l.packed.held {
		if i%n == 0 {
			s = l.sharesOf(v, i/n)
		}
		list, docFreq := &l.packed.held[i], l.packed.ask.terms.of(i / n)[i%n].DocFreq()
		share := s.Next(int64(docFreq))
		l.waits.MarkPackedLoaded(list)
		l.d.ReadInPlace(targets[i/n].shard, list, docFreq, share)
	}
	for _, e := range l.packed.filters {
		l.waits.MarkLoaded(e)
	}
}

func (l *lane) sharesOf(v *View, segment int) residency.Shares {
	s := residency.NewShares(l.packed.ask.terms.conjunctive, v.segments[segment].NumDocs)
	if l.packed.ask.from != nil {
		s.From(len(l.packed.ask.from.Segments[segment].DocIDs))
	}
	return s
}

// inPlace estimates the payload bytes that the last query read from page-locked memory:
// packedsearch's bytes, in proportion to the postings of page-locked lists.
func (l *lane) inPlace(q *packedsearch.Query) int64 {
	var here, all int64
	for i := range q.Lists {
		n := int64(q.Lists[i].DocFreq())
		all += n
		if l.packed.onHost[i] {
			here += n
		}
	}
	return l.packed.runner.Stats().Bytes * here / max(all, 1)
}
