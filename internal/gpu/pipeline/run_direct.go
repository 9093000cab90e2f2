package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/direct"
	"github.com/griffin-search/griffin/internal/invariant"
)

// pathOn returns how one of so many queries is answered on a device.
func (v *View) pathOn(device int, q *Query, queries int) Path {
	if q.Path == PathImages || q.Path == PathAuto && queries > fewQueries {
		return PathImages
	}
	t := q.terms()
	if !v.directly(device, &t, q.K) {
		return PathImages
	}
	if q.Path == PathDirect {
		return PathDirect
	}
	if v.imageRoom(device, &t) {
		return PathImages
	}
	return PathDirect
}

// imageRoom reports whether the images that a query lacks on a device, if any, have room.
func (v *View) imageRoom(device int, t *terms) bool {
	d := v.engine.devices[device]
	room := d.room()
	for s := range v.pieces[device] {
		p := v.pieces[device][s].part
		if p == nil || t.none(s) {
			continue
		}
		legs := t.of(s)
		for j := range legs {
			leg := &legs[j]
			if leg.DocFreq == 0 {
				continue
			}
			if d.records.ofLeg(leg, p.id).there(kindImage) {
				continue
			}
			if room -= v.imageBytes(device, s, leg); room < 0 {
				return false
			}
		}
	}
	return true
}

// runSplit answers queries on device i: some of them from compressed lists (direct), and
// the others by images, of which processors that are idle may take some.
func (v *View) runSplit(ctx context.Context, i int, queries []*Query, results []Result, others Others, trace *Trace) error {
	var parts [2]subset
	for j, q := range queries {
		parts[v.pathOn(i, q, len(queries))/PathDirect].add(j, q, &results[j])
	}
	var traces [2]*Trace
	if trace != nil {
		for j := range traces {
			traces[j] = &Trace{Devices: make([]DeviceTrace, len(trace.Devices))}
		}
	}
	var group invariant.Group
	var errs [2]error
	group.Go(func() {
		errs[0] = v.runDirect(ctx, i, parts[1].queries, parts[1].results, nil, traces[1])
	})
	group.Go(func() {
		errs[1] = v.runImages(ctx, i, parts[0].queries, parts[0].results, parts[0].others(others), traces[0])
	})
	group.Wait()
	for j := range parts {
		parts[j].give(results)
		if trace != nil {
			trace.Devices[i].merge(&traces[j].Devices[i])
		}
	}
	return firstError(errs[:])
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// subset is some of the queries of a batch.
type subset struct {
	numbers []int // in the batch
	queries []*Query
	results []Result
}

func (s *subset) add(number int, q *Query, r *Result) {
	s.numbers, s.queries, s.results = append(s.numbers, number), append(s.queries, q), append(s.results, *r)
}

// give returns the results to those of the batch.
func (s *subset) give(results []Result) {
	for i, number := range s.numbers {
		results[number] = s.results[i]
	}
}

// others returns Others of the subset.
func (s *subset) others(others Others) Others {
	if others == nil {
		return nil
	}
	return &subsetOthers{others, s.numbers}
}

// subsetOthers are Others who are told of a subset, by the numbers of the batch.
type subsetOthers struct {
	others  Others
	numbers []int
}

// Begin implements Others.
func (o *subsetOthers) Begin(order, left []int) { o.others.Begin(o.inBatch(order), o.inBatch(left)) }

// Take implements Others.
func (o *subsetOthers) Take(query int) bool { return o.others.Take(o.numbers[query]) }

func (o *subsetOthers) inBatch(queries []int) []int {
	numbers := make([]int, len(queries))
	for i, q := range queries {
		numbers[i] = o.numbers[q]
	}
	return numbers
}

// runDirect answers queries on device i from compressed lists: each on all of the
// device, and as many at a time as there are lanes. Those that package direct cannot
// answer, or whose lists have no room, go by images all the same. The error is the
// context's.
func (v *View) runDirect(ctx context.Context, i int, queries []*Query, results []Result, others Others, trace *Trace) error {
	if len(queries) == 1 {
		again, err := v.runOneDirect(ctx, i, queries[0], &results[0], trace, nil)
		if again {
			err = v.runImages(ctx, i, queries, results, others, trace)
		}
		return err
	}
	order := byCost(queries, results)
	if others != nil {
		others.Begin(order, nil)
	}
	var group invariant.Group
	var next atomic.Int64
	var mu sync.Mutex // of the trace and rest
	var rest subset
	for range min(len(order), v.engine.devices[i].numLanes) {
		group.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(order) && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				j := order[n]
				if others != nil && !others.Take(j) {
					results[j].Err = errLeft
					continue
				}
				if again, _ := v.runOneDirect(ctx, i, queries[j], &results[j], trace, &mu); again {
					mu.Lock()
					rest.add(j, queries[j], &results[j])
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if len(rest.queries) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	err := v.runImages(ctx, i, rest.queries, rest.results, nil /* others have had their choice */, trace)
	rest.give(results)
	return err
}

// byCost returns the numbers of the queries that are to be answered, costly ones first.
func byCost(queries []*Query, results []Result) []int {
	order := make([]int, 0, len(queries))
	for j := range queries {
		if !results[j].refused() {
			order = append(order, j)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost(queries[b]), cost(queries[a])) })
	return order
}

// runOneDirect answers a query on device i from compressed lists; again: that is not
// for package direct to do. mu guards the trace, if it is not nil.
func (v *View) runOneDirect(ctx context.Context, i int, q *Query, r *Result, trace *Trace, mu *sync.Mutex) (again bool, err error) {
	if r.refused() {
		return false, nil
	}
	d := v.engine.devices[i]
	l := d.lane(ctx)
	if l == nil {
		return false, ctx.Err()
	}
	l.enter()
	defer l.leave()
	l.ask = directAsk{terms: q.terms(), k: q.K, count: q.Count, traced: trace != nil}
	err = l.runDirect(v, v.pieces[i], r)
	if again = unanswered(err); again {
		r.Err, r.Hits, r.Matches = nil, r.Hits[:0], 0
	} else {
		d.directs.Add(1)
		d.queries.Add(1)
	}
	if mu != nil {
		mu.Lock()
		defer mu.Unlock()
	}
	l.report(trace, i)
	return again, nil
}

// unanswered reports whether a query is not one for package direct, or has no room for its
// compressed lists.
func unanswered(err error) bool {
	return errors.Is(err, direct.ErrUnsuited) || errors.Is(err, errNoRoom)
}

// directAsk is what a lane is asked to find in compressed lists.
type directAsk struct {
	terms    terms
	k        int
	count    bool
	from, to *Candidates // nil: none, as direct.Query.From and Runner.Run
	traced   bool
}

// runDirect does what l.ask says: it pins the lists, asks package direct in one segment
// after another, so that the threshold reached in one prunes in the next, and lets go of
// the lists, and asks for some to be promoted. What fails is in r.Err, too.
func (l *lane) runDirect(v *View, pieces []piece, r *Result) error {
	err := l.searchDirect(v, pieces, r)
	if err != nil {
		_ = l.stream.Synchronize() // nothing may read lists that are let go of
		r.Err = l.d.note(err)
	} else {
		l.settled(v)
	}
	l.release()
	l.ask = directAsk{}
	c, d := &l.counts, l.d
	if unanswered(err) { // the lists are asked for again
		c.hit, c.missed, c.asked = 0, 0, FormStats{}
	}
	d.busy.Add(int64(c.took))
	d.cache.hits.Add(int64(c.hit))
	d.cache.misses.Add(int64(c.missed))
	d.asked.add(&c.asked)
	d.inPlace.Add(c.inPlace)
	return err
}

// searchDirect pins the lists and asks package direct.
func (l *lane) searchDirect(v *View, pieces []piece, r *Result) (err error) {
	if l.runner == nil {
		if l.runner, err = l.d.direct.NewRunner(direct.Limits{}); err != nil {
			return err
		}
	}
	if err := l.hold(pieces); err != nil {
		return err
	}
	for s := range pieces {
		if pieces[s].part == nil || l.ask.terms.none(s) {
			continue
		}
		if err := l.searchSegment(v, &pieces[s], s, r); err != nil {
			return err
		}
	}
	return nil
}

// searchSegment asks package direct in a segment.
func (l *lane) searchSegment(v *View, p *piece, s int, r *Result) error {
	ask := &l.ask
	legs := ask.terms.of(s)
	l.lists, l.onHost = l.lists[:0], l.onHost[:0]
	for j := range legs {
		h := &l.held[s*ask.terms.len()+j]
		if h.packed == nil && h.host == nil {
			continue
		}
		list, err := l.listOf(p.part, &v.segments[s], &legs[j], h)
		if err != nil {
			return err
		}
		l.lists, l.onHost = append(l.lists, list), append(l.onHost, h.packed == nil)
	}
	if len(l.lists) == 0 {
		return nil
	}
	q := &l.asked
	*q = direct.Query{Conjunctive: ask.terms.conjunctive, K: ask.k, Count: ask.count, Lists: l.lists}
	if ask.k > 0 && len(r.Hits) == ask.k {
		q.Threshold = r.Hits[ask.k-1].Score
	}
	var to *direct.Candidates
	if ask.from != nil {
		if q.From = &ask.from.Segments[s]; len(q.From.DocIDs) == 0 {
			return nil
		}
	}
	if ask.to != nil {
		to = &ask.to.Segments[s]
	}
	return l.askDirect(p, q, r, to)
}

// askDirect runs a query over a segment, and merges its hits into r.
func (l *lane) askDirect(p *piece, q *direct.Query, r *Result, to *direct.Candidates) error {
	if l.ask.traced {
		if err := l.stream.Record(l.begun); err != nil {
			return err
		}
	}
	hits, matches, err := l.runner.Run(l.stream, p.fast, q, l.merged[:0], to)
	if err != nil {
		return err
	}
	l.d.launches.Add(1)
	l.merged = hits
	l.merge(r, l.ask.k)
	r.Matches += matches
	l.counts.inPlace += l.inPlace(q)
	if !l.ask.traced {
		return nil
	}
	l.runner.Launches(l.count)
	l.bytes(candidateBytes(q.From), hitBytes*int64(len(hits))+candidateBytes(to))
	return l.elapsed()
}

// candidateBytes is what candidates are that go over the bus.
func candidateBytes(c *direct.Candidates) int64 {
	if c == nil {
		return 0
	}
	return hitBytes * int64(len(c.DocIDs))
}

// hitBytes are those of a document with its score.
const hitBytes = 8

// settled notes, at the end of a run, that what its stream has waited for is there, and
// asks for lists that it has read in page-locked memory to be promoted.
func (l *lane) settled(v *View) {
	n := l.ask.terms.len()
	var s shares
	for i := range l.held {
		if i%n == 0 {
			s = l.sharesOf(v, i/n)
		}
		h, docFreq := &l.held[i], l.ask.terms.of(i / n)[i%n].DocFreq
		share := s.next(int64(docFreq))
		for _, e := range [...]*entry{h.packed, h.directory} {
			if e != nil && l.awaited[e.lane]&(1<<e.event) != 0 {
				e.loaded.Store(true)
			}
		}
		if h.host != nil {
			l.readInPlace(v, h.host, docFreq, share)
		}
	}
}

// sharesOf returns the shares of the lists that the lane was asked to read in a segment.
func (l *lane) sharesOf(v *View, segment int) shares {
	s := newShares(l.ask.terms.conjunctive, v.segments[segment].NumDocs)
	if l.ask.from != nil {
		s.left = float64(len(l.ask.from.Segments[segment].DocIDs))
	}
	return s
}

// readInPlace counts that a share of a page-locked list was read, and now and then asks for it
// to be promoted.
func (l *lane) readInPlace(v *View, host *entry, docFreq uint32, share float64) {
	host.shares.Add(uint64(share * wholeShare))
	reads, tried := host.reads.Add(1), host.tried.Load()
	if reads-tried < min(tried, promoteEvery) || !host.tried.CompareAndSwap(tried, reads) {
		return
	}
	if !l.d.promoter.ask(v, host.key, docFreq, reads-tried) {
		host.tried.CompareAndSwap(reads, tried) // these uses count with the next ones
	}
}

// promoteEvery is after how many further uses it is tried again to promote a list, at
// most: twice as many as the time before until then.
const promoteEvery = 32

// inPlace returns how much of the payloads that the last query read lay in page-locked
// memory: package direct counts all that it reads, so in proportion to the lists there.
func (l *lane) inPlace(q *direct.Query) int64 {
	var here, all int64
	for i := range q.Lists {
		n := int64(q.Lists[i].DocFreq)
		all += n
		if l.onHost[i] {
			here += n
		}
	}
	return l.runner.Stats().Bytes * here / max(all, 1)
}
