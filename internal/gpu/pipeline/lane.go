package pipeline

import (
	"errors"
	"math/bits"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/direct"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
)

// lane runs queries on a device: a stream, and the memory of one query or batch. It
// belongs to one run at a time and keeps its memory from run to run.
type lane struct {
	d            *device
	uploader     *uploader
	stream       *cuda.Stream
	single       *fastpath.Single
	batch        *fastpath.Batch // nil until the first batch
	runner       *direct.Runner
	limits       fastpath.Limits // of batch
	begun, ended *cuda.Event     // of a traced run

	// Of the queries that were gathered: for query i of them, entries[first[i]:] has
	// the pinned list of each leg, nil where there is none to be read; first[i] < 0: the
	// query is not to be answered here.
	entries []*entry
	first   []int
	awaited []uint32 // events, a bit each, by number of the uploader

	// Of a direct run, by segment, then term.
	ask    directAsk
	held   []held
	asked  direct.Query
	lists  []direct.List // of a segment
	onHost []bool        // lists, by number

	terms   []fastpath.Term
	numbers []int // of the query, by number in the batch
	merged  []base.Hit

	counts laneCounts
	wasted int // lists brought for a query for which there was no room in the end
}

// laneCounts is what a run tells a Trace.
type laneCounts struct {
	hit, missed int
	asked       FormStats
	listBytes   int64 // sent to the device
	locked      int64 // bytes copied to page-locked memory
	inPlace     int64 // bytes read there
	bringing    time.Duration
	took        time.Duration
	kernels     []KernelTrace
	to, from    int64
}

func newLane(d *device, number int) (_ *lane, err error) {
	l := &lane{d: d, awaited: make([]uint32, cap(d.lanes)+1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.stream, err = d.dev.NewStream(); err != nil {
		return nil, err
	}
	if l.begun, err = d.dev.NewEvent(true /* timing */); err != nil {
		return nil, err
	}
	if l.ended, err = d.dev.NewEvent(true /* timing */); err != nil {
		return nil, err
	}
	if l.single, err = d.fast.NewSingle(0); err != nil {
		return nil, err
	}
	l.uploader, err = newUploader(d, number, true /* slots */)
	return l, err
}

func (l *lane) close() error {
	var errs []error
	if l.uploader != nil {
		errs = append(errs, l.uploader.close())
	}
	if l.stream != nil {
		errs = append(errs, l.stream.Synchronize(), l.stream.Close())
	}
	for _, e := range []*cuda.Event{l.begun, l.ended} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	if l.single != nil {
		errs = append(errs, l.single.Close())
	}
	if l.batch != nil {
		errs = append(errs, l.batch.Close())
	}
	if l.runner != nil {
		errs = append(errs, l.runner.Close())
	}
	return errors.Join(errs...)
}

// enter begins a run on the lane, which leave ends. ended is how many runs have let go of
// their lists until then.
func (l *lane) enter() (ended uint64) {
	l.reset()
	return l.d.holders.begin()
}

// leave gives the lane of a run back. It is to be deferred: a run that panics must not
// keep the lane, or lists.
func (l *lane) leave() {
	defer l.d.holders.end()
	l.d.put(l)
}

// salvage lets go of what a run that panicked holds; others hold nothing by now.
func (l *lane) salvage() {
	u := l.uploader
	if len(l.entries) == 0 && len(l.held) == 0 && u.making == nil && len(u.lists) == 0 {
		return
	}
	_ = l.d.note(l.stream.Synchronize()) // nothing may read lists that are let go of
	if u.making != nil || len(u.lists) > 0 {
		_ = l.d.note(u.abandon(u.making))
	}
	l.unpin(0)
	l.release()
	l.ask = directAsk{}
	if l.batch != nil { // it may be in the middle of something; the next run makes another
		_ = l.d.note(l.batch.Close())
		l.batch, l.limits = nil, fastpath.Limits{}
	}
	if l.runner != nil {
		_ = l.d.note(l.runner.Close())
		l.runner = nil
	}
}

// reset forgets the queries of the run before.
func (l *lane) reset() {
	l.entries, l.first = l.entries[:0], l.first[:0]
	clear(l.awaited)
	l.counts, l.wasted = laneCounts{kernels: l.counts.kernels[:0]}, 0
}

// gather pins the lists of queries, in their order, and brings those that are not
// there, until there is no room for more; it returns how many queries it took. Those
// whose lists cannot be had are among them, with their result's Err set. err is
// errNoRoom if not even the first had room.
func (l *lane) gather(v *View, pieces []piece, queries []*Query, results []Result) (n int, err error) {
	for i, q := range queries {
		start, before := len(l.entries), l.counts
		switch err := l.pin(v, pieces, q); {
		case err == nil:
			l.first = append(l.first, start)
			continue
		case errors.Is(err, errNoRoom):
			l.unpin(start)
			l.counts.hit, l.counts.asked.Image = before.hit, before.asked.Image
			l.wasted += l.counts.missed - before.missed
			return i, err
		default:
			l.unpin(start)
			results[i].Err = l.d.note(err)
			l.first = append(l.first, -1)
		}
	}
	return len(queries), nil
}

// pin appends the lists of a query to the entries.
func (l *lane) pin(v *View, pieces []piece, q *Query) error {
	for s := range pieces {
		p := pieces[s].part
		legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
		if p == nil || q.Conjunctive && lacksOne(legs) {
			for range legs {
				l.entries = append(l.entries, nil)
			}
			continue
		}
		for i := range legs {
			var e *entry
			if legs[i].DocFreq > 0 {
				var err error
				if e, err = l.list(v, p, s, &legs[i]); err != nil {
					return err
				}
			}
			l.entries = append(l.entries, e)
		}
	}
	return nil
}

// lacksOne reports whether a segment does not have one of the terms.
func lacksOne(legs []Leg) bool {
	for i := range legs {
		if legs[i].DocFreq == 0 {
			return true
		}
	}
	return false
}

// list returns the pinned entry of the image of a leg's list.
func (l *lane) list(v *View, p *part, s int, leg *Leg) (*entry, error) {
	known := l.d.records.ofLeg(leg, p.id)
	if known != nil {
		if e := known.pinned(kindImage); e != nil {
			l.counts.hit++
			l.counts.asked.Image++
			return e, nil
		}
	}
	began, before, form := time.Now(), l.uploader.bytes, known.compressed()
	e, brought, err := l.uploader.bringImage(p, &v.segments[s], leg, always)
	if err != nil {
		return nil, err
	}
	if brought {
		l.counts.missed++
		l.counts.asked.add(form, 1)
		l.counts.listBytes += l.uploader.bytes - before
	} else {
		l.counts.hit++
		l.counts.asked.Image++
	}
	l.counts.bringing += time.Since(began)
	return e, nil
}

// unpin lets go of the entries from start on.
func (l *lane) unpin(start int) {
	for _, e := range l.entries[start:] {
		if e != nil {
			e.unpin()
		}
	}
	l.entries = l.entries[:start]
}

// run answers the queries that were gathered, few of them one by one and more in a
// batch, and lets go of their lists.
func (l *lane) run(pieces []piece, queries []*Query, results []Result, few int, traced bool) {
	err := l.search(pieces, queries, results, few, traced)
	if err != nil {
		_ = l.d.note(err)
		for i := range results {
			if results[i].Err == nil {
				results[i].Err = err
			}
		}
		_ = l.stream.Synchronize() // nothing may read lists that are let go of
	} else {
		for _, e := range l.entries {
			if e != nil && l.awaited[e.lane]&(1<<e.event) != 0 {
				e.loaded.Store(true)
			}
		}
	}
	l.d.busy.Add(int64(l.counts.took))
	l.d.cache.hits.Add(int64(l.counts.hit))
	l.d.asked.add(&l.counts.asked)
	l.d.queries.Add(int64(len(queries)))
	l.unpin(0)
}

// search takes one segment after another, so that the threshold reached in one
// prunes in the next.
func (l *lane) search(pieces []piece, queries []*Query, results []Result, few int, traced bool) error {
	for s := range pieces {
		if pieces[s].part == nil {
			continue
		}
		var err error
		if len(queries) <= few {
			timed := traced || len(queries) > 1
			for i := 0; i < len(queries) && err == nil; i++ {
				err = l.searchOne(&pieces[s], s, i, queries[i], &results[i], timed)
			}
		} else {
			err = l.searchAll(&pieces[s], s, queries, results, traced)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// query makes the query of a segment out of gathered query i; false if it matches
// nothing there. It makes the stream wait for lists that are on their way.
func (l *lane) query(p *piece, s, i int, q *Query, r *Result, out *fastpath.Query) (ok bool, err error) {
	if l.first[i] < 0 || r.refused() {
		return false, nil
	}
	l.terms = l.terms[:0]
	legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
	for j, e := range l.entries[l.first[i]+s*q.NumTerms:][:q.NumTerms] {
		if e == nil || e.image.Shape().DocFreq == 0 {
			if q.Conjunctive {
				return false, nil
			}
			continue
		}
		if !e.loaded.Load() {
			if err := l.await(e); err != nil {
				return false, err
			}
		}
		leg := &legs[j]
		t := fastpath.Term{Image: e.image, Score: leg.Term, Scale: leg.Scale}
		if !leg.Term.Linear {
			t.Lengths = p.part.lengths[leg.Field]
		}
		if leg.List != nil {
			t.Kth = leg.List.Kth
		}
		l.terms = append(l.terms, t)
	}
	if len(l.terms) == 0 {
		return false, nil
	}
	*out = fastpath.Query{K: q.K, Terms: l.terms}
	if q.Conjunctive {
		out.Mode = fastpath.And
	}
	if q.Count {
		out.Want = fastpath.WantCount
	}
	if len(r.Hits) == q.K {
		out.Threshold = r.Hits[q.K-1].Score
	}
	return true, nil
}

// await makes the stream wait for a list that is on its way, once for each event: all
// lists of the run were gathered before, so that what an event is recorded for later
// does not matter.
func (l *lane) await(e *entry) error {
	bit := uint32(1) << e.event
	if l.awaited[e.lane]&bit != 0 {
		return nil
	}
	l.awaited[e.lane] |= bit
	return l.stream.Wait(l.d.uploaders[e.lane].events[e.event])
}

// searchOne answers gathered query i over a segment, on all of the device.
func (l *lane) searchOne(p *piece, s, i int, q *Query, r *Result, timed bool) error {
	var query fastpath.Query
	ok, err := l.query(p, s, i, q, r, &query)
	if err != nil || !ok {
		return err
	}
	if timed {
		if err := l.stream.Record(l.begun); err != nil {
			return err
		}
	}
	err = l.single.Search(l.stream, p.fast, &query)
	if errors.Is(err, fastpath.ErrUnsuited) {
		r.Err = err
		return nil
	}
	if err != nil {
		return err
	}
	l.d.launches.Add(1)
	if timed {
		if err := l.elapsed(); err != nil {
			return err
		}
		l.single.Launches(l.count)
		l.bytes(l.single.Bytes())
	}
	l.merged = l.single.AppendHits(l.merged[:0])
	l.merge(r, q.K)
	if q.Count {
		r.Matches += int64(l.single.Count())
	}
	return nil
}

// count counts the launch of a kernel.
func (l *lane) count(kernel string) {
	for i := range l.counts.kernels {
		if l.counts.kernels[i].Name == kernel {
			l.counts.kernels[i].Launches++
			return
		}
	}
	l.counts.kernels = append(l.counts.kernels, KernelTrace{Name: kernel, Launches: 1})
}

// bytes counts what went over the bus for queries and results.
func (l *lane) bytes(to, from int64) {
	l.counts.to += to
	l.counts.from += from
}

// elapsed adds the time since begun to the counts.
func (l *lane) elapsed() error {
	if err := l.stream.Record(l.ended); err != nil {
		return err
	}
	if err := l.ended.Synchronize(); err != nil {
		return err
	}
	d, err := l.ended.Elapsed(l.begun)
	l.counts.took += d
	return err
}

// searchAll answers many queries over a segment, in as few launches as the batch
// has room for.
func (l *lane) searchAll(p *piece, s int, queries []*Query, results []Result, traced bool) error {
	if err := l.reserve(queries); err != nil {
		return err
	}
	l.batch.Reset(p.fast)
	l.numbers = l.numbers[:0]
	for i, q := range queries {
		var query fastpath.Query
		ok, err := l.query(p, s, i, q, &results[i], &query)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		_, err = l.batch.Add(&query)
		if errors.Is(err, fastpath.ErrFull) && l.batch.Len() > 0 {
			if err := l.flush(queries, results, traced); err != nil {
				return err
			}
			l.batch.Reset(p.fast)
			_, err = l.batch.Add(&query)
		}
		if err != nil { // this query's own: the CPU answers it
			results[i].Err = err
			continue
		}
		l.numbers = append(l.numbers, i)
	}
	return l.flush(queries, results, traced)
}

// flush launches the batch and takes its results.
func (l *lane) flush(queries []*Query, results []Result, traced bool) error {
	if l.batch.Len() == 0 {
		return nil
	}
	if err := l.batch.Launch(l.stream); err != nil {
		return err
	}
	l.d.launches.Add(1)
	if err := l.batch.Wait(); err != nil {
		return err
	}
	if traced {
		l.batch.Launches(l.count)
		l.bytes(l.batch.Bytes())
	}
	took, err := l.batch.Elapsed()
	if err != nil {
		return err
	}
	l.counts.took += took
	for number, i := range l.numbers {
		l.merged = l.batch.AppendHits(l.merged[:0], number)
		l.merge(&results[i], queries[i].K)
		if queries[i].Count {
			results[i].Matches += int64(l.batch.Count(number))
		}
	}
	l.numbers = l.numbers[:0]
	return nil
}

// reserve makes the batch large enough for queries over a segment, up to maxBatch.
func (l *lane) reserve(queries []*Query) error {
	need := fastpath.Limits{Queries: min(len(queries), maxBatch.Queries)}
	for _, q := range queries {
		need.Terms += q.NumTerms
		need.Hits += q.K
	}
	need.Terms, need.Hits = min(need.Terms, maxBatch.Terms), min(need.Hits, maxBatch.Hits)
	have := &l.limits
	if l.batch != nil && have.Queries >= need.Queries && have.Terms >= need.Terms && have.Hits >= need.Hits {
		return nil
	}
	larger := fastpath.Limits{
		Queries: powerOfTwo(max(need.Queries, have.Queries)), Terms: powerOfTwo(max(need.Terms, have.Terms)), Hits: powerOfTwo(max(need.Hits, have.Hits)),
	}
	if l.batch != nil {
		if err := l.batch.Close(); err != nil {
			return err
		}
		l.batch, l.limits = nil, fastpath.Limits{}
	}
	b, err := l.d.fast.NewBatch(larger)
	if err != nil {
		return err
	}
	l.batch, l.limits = b, larger
	return nil
}

// maxBatch is the most that one launch answers: enough queries to keep a device busy
// for milliseconds, in 100 MiB of page-locked memory at most.
var maxBatch = fastpath.Limits{Queries: 1 << 13, Terms: 1 << 18, Hits: 1 << 22}

// powerOfTwo returns the least power of two that is n or more.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// merge makes r.Hits the best k of itself and l.merged, both in the total order.
func (l *lane) merge(r *Result, k int) {
	r.Hits = mergeHits(r.Hits, l.merged, k)
}

// mergeHits appends to hits what of more belongs to the best k of both. Both are in
// the total order, as the result is.
func mergeHits(hits, more []base.Hit, k int) []base.Hit {
	if len(hits) == 0 {
		return append(hits, more[:min(k, len(more))]...)
	}
	if len(hits) == k && len(more) > 0 && !more[0].Before(hits[k-1]) || len(more) == 0 {
		return hits
	}
	hits = append(hits, more...)
	slices.SortFunc(hits, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits[:min(k, len(hits))]
}
