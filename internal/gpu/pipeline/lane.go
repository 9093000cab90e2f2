package pipeline

import (
	"errors"
	"math/bits"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
)

// lane is a stream and the reused memory of a query or batch, for one run at a time.
type lane struct {
	d            *device
	uploader     *residency.Uploader
	stream       *cuda.Stream
	single       *imagesearch.Single
	batch        *imagesearch.Batch // nil until the first batch
	limits       imagesearch.Limits // of batch
	tally        tallyState
	begun, ended *cuda.Event // traced runs only
	beside       beside

	// Of the gathered queries: entries[first[i]:] are the pinned lists of query i by leg, nil
	// for legs without a list to read, then its filters by segment. If first[i] < 0, the query has
	// failed.
	entries []*residency.Entry
	first   []int
	waits   residency.Waits

	packed packedState

	terms  []imagesearch.Term
	parts  laneParts
	merged []base.Hit

	guessing guessing

	counts laneCounts
	wasted int // lists uploaded for a query that then found no room
}

type packedState struct {
	runner *packedsearch.Runner // nil until the first packed run
	ask    packedAsk
	held   []residency.PackedList // by segment, then term
	// filters by segment, nil without one; empty: the query has none
	filters []*residency.Entry
	asked   packedsearch.Query
	lists   []packedsearch.List // of one segment
	onHost  []bool              // payload in page-locked memory; parallel to lists
}

type laneCounts struct {
	residency.Counts
	began    time.Time
	inPlace  int64 // bytes read from page-locked memory
	took     time.Duration
	times    HostTimes // of traced batches
	kernels  []KernelTrace
	to, from int64
}

func newLane(d *device, number int) (_ *lane, err error) {
	l := &lane{d: d, waits: d.NewWaits()}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.stream, err = d.CUDA().NewStream(); err != nil {
		return nil, err
	}
	if l.begun, err = d.CUDA().NewEvent(true /* timing */); err != nil {
		return nil, err
	}
	if l.ended, err = d.CUDA().NewEvent(true /* timing */); err != nil {
		return nil, err
	}
	if l.single, err = d.images.NewSingle(d.singleKeys); err != nil {
		return nil, err
	}
	l.uploader = d.Uploader(number)
	return l, nil
}

func (l *lane) close() error {
	var errs []error
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
	if l.packed.runner != nil {
		errs = append(errs, l.packed.runner.Close())
	}
	return errors.Join(append(errs, l.tally.close())...)
}

// enter begins a run, until leave, and returns the number of ended runs for WaitForRun.
func (l *lane) enter() (ended uint64) {
	l.reset()
	return l.d.BeginRun()
}

// leave is deferred, so that a run that panics releases the lane and its lists.
func (l *lane) leave() {
	defer l.d.EndRun()
	l.d.put(l)
}

// salvage releases the state of a run that panicked.
func (l *lane) salvage() {
	u := l.uploader
	if len(l.entries) == 0 && len(l.packed.held) == 0 && len(l.packed.filters) == 0 && !u.Busy() {
		return
	}
	_ = l.d.Note(l.stream.Synchronize()) // no kernel may read unpinned lists
	_ = l.d.Note(u.AbandonAll())
	l.unpin(0)
	l.release()
	l.packed.ask = packedAsk{}
	if l.batch != nil { // its state is unknown
		_ = l.d.Note(l.batch.Close())
		l.batch, l.limits = nil, imagesearch.Limits{}
	}
	_ = l.d.Note(l.tally.close())
	if l.packed.runner != nil {
		_ = l.d.Note(l.packed.runner.Close())
		l.packed.runner = nil
	}
}

func (l *lane) reset() {
	l.entries, l.first, l.beside.ask = l.entries[:0], l.first[:0], nil
	l.waits.Reset()
	l.counts, l.wasted = laneCounts{began: time.Now(), kernels: l.counts.kernels[:0]}, 0
}

// gather pins the lists of queries in order, uploading missing ones, until there is no room. It
// returns the number of gathered queries, including failed ones, whose results have Err. err is
// ErrNoRoom if a query found no room.
func (l *lane) gather(v *View, targets []target, queries []*Query, results []Result) (n int, err error) {
	for i, q := range queries {
		start, before := len(l.entries), l.counts
		switch err := l.pin(v, targets, q); {
		case err == nil:
			l.first = append(l.first, start)
		case errors.Is(err, residency.ErrNoRoom):
			l.unpin(start)
			l.counts.Hit, l.counts.Asked.Image = before.Hit, before.Asked.Image
			l.wasted += l.counts.Missed - before.Missed
			return i, err
		default:
			l.unpin(start)
			results[i].Err = l.d.Note(err)
			l.first = append(l.first, -1)
		}
	}
	return len(queries), nil
}

func (l *lane) pin(v *View, targets []target, q *Query) error {
	for s := range targets {
		p := targets[s].shard
		legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
		if p == nil || q.lacks(s) {
			for range legs {
				l.entries = append(l.entries, nil)
			}
			continue
		}
		for i := range legs {
			var e *residency.Entry
			if legs[i].DocFreq() > 0 {
				var err error
				if e, err = l.uploader.Image(p, &v.segments[s], &legs[i], &l.counts.Counts); err != nil {
					return err
				}
			}
			l.entries = append(l.entries, e)
		}
	}
	for s := range q.Filters {
		var e *residency.Entry
		if f := filter(q.Filters, s); f != nil && targets[s].shard != nil && !q.lacks(s) {
			var err error
			if e, err = l.uploader.Filter(targets[s].shard, f, &l.counts.Counts); err != nil {
				return err
			}
		}
		l.entries = append(l.entries, e)
	}
	return nil
}

func lacksOne(legs []Leg) bool {
	for i := range legs {
		if legs[i].DocFreq() == 0 {
			return true
		}
	}
	return false
}

func (l *lane) unpin(start int) {
	for _, e := range l.entries[start:] {
		if e != nil {
			l.d.Unpin(e)
		}
	}
	l.entries = l.entries[:start]
}

// run answers the gathered queries, up to few one by one, more in a batch, and unpins their
// lists.
func (l *lane) run(targets []target, queries []*Query, results []Result, few int, traced bool) {
	err := l.search(targets, queries, results, few, traced)
	if err != nil {
		for i := range results {
			if results[i].Err == nil {
				results[i].Err = err
			}
		}
	}
	l.settle(err)
	l.beside.ask = nil
	l.d.busy.Add(int64(l.counts.took))
	l.d.CountLists(l.counts.Hit, 0)
	l.d.asked.Add(&l.counts.Asked)
	l.d.queries.Add(int64(len(queries)))
	l.unpin(0)
}

// The threshold of one segment prunes the next.
func (l *lane) search(targets []target, queries []*Query, results []Result, few int, traced bool) error {
	for s := range targets {
		if targets[s].shard == nil {
			continue
		}
		var err error
		if len(queries) <= few {
			timed := traced || len(queries) > 1
			for i := 0; i < len(queries) && err == nil; i++ {
				err = l.searchOne(&targets[s], s, i, queries[i], &results[i], timed)
			}
		} else {
			err = (&batchRun{lane: l, target: &targets[s], segment: s, queries: queries, results: results, traced: traced}).all()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// query fills out with gathered query i in a segment, false if the query has no match there.
// The stream waits for uploads of the lists.
func (l *lane) query(p *target, s, i int, q *Query, r *Result, out *imagesearch.Query) (ok bool, err error) {
	if l.first[i] < 0 || r.refused() || q.lacks(s) {
		return false, nil
	}
	l.terms = l.terms[:0]
	l.parts.reset()
	legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
	for j, e := range l.entries[l.first[i]+s*q.NumTerms:][:q.NumTerms] {
		part := q.part(j)
		if e == nil || e.Empty() {
			if q.Conjunctive && part != Excluded {
				return false, nil
			}
			l.parts.lack(part)
			continue
		}
		if err := l.waits.Image(l.stream, e); err != nil {
			return false, err
		}
		leg := &legs[j]
		t := imagesearch.Term{Leg: leg.Leg, Image: e.Image()}
		if part == Excluded {
			l.parts.excluded = append(l.parts.excluded, t)
			continue
		}
		l.parts.have(part, len(l.terms))
		if !leg.Term.Linear {
			t.Lengths = p.shard.Lengths(leg.Field)
		}
		l.terms = append(l.terms, t)
	}
	if len(l.terms) == 0 && q.NumTerms > 0 {
		return false, nil
	}
	*out = imagesearch.Query{K: q.K, Terms: l.terms, Count: q.Count}
	if q.Parts != nil {
		if out.Parts, ok = l.parts.of(); !ok {
			return false, nil
		}
	}
	if e := l.filterOf(q, i, s); e != nil {
		if err := l.waits.Image(l.stream, e); err != nil {
			return false, err
		}
		out.Filter = e.Bits()
	}
	if q.Conjunctive {
		out.Mode = imagesearch.And
	}
	if q.K > 0 && len(r.Hits) == q.K {
		out.Threshold = r.Hits[q.K-1].Score
	}
	return true, nil
}

// filterOf returns the pinned bitmap of gathered query i in a segment, nil without one.
func (l *lane) filterOf(q *Query, i, s int) *residency.Entry {
	if filter(q.Filters, s) == nil {
		return nil
	}
	return l.entries[l.first[i]+len(q.Legs)+s]
}

func (l *lane) searchOne(p *target, s, i int, q *Query, r *Result, timed bool) error {
	var query imagesearch.Query
	ok, err := l.query(p, s, i, q, r, &query)
	if err != nil || !ok {
		return err
	}
	if timed {
		if err := l.stream.Record(l.begun); err != nil {
			return err
		}
	}
	// The event at the end of a timed query would wait for a kernel that stays.
	l.single.SetStay(!timed && l.d.lanes.count() == l.d.numLanes-1 && !l.waits.Any())
	err = l.single.SearchBeside(l.stream, p.segment, &query, l.beside.steps())
	if errors.Is(err, imagesearch.ErrUnsuited) {
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

func (l *lane) count(kernel string) {
	for i := range l.counts.kernels {
		if l.counts.kernels[i].Name == kernel {
			l.counts.kernels[i].Launches++
			return
		}
	}
	l.counts.kernels = append(l.counts.kernels, KernelTrace{Name: kernel, Launches: 1})
}

// bytes counts bus traffic of queries and results.
func (l *lane) bytes(to, from int64) {
	l.counts.to += to
	l.counts.from += from
}

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

// reserve grows the batch, from leastBatch up to maxBatch.
func (l *lane) reserve(queries []*Query) error {
	need := imagesearch.Limits{Queries: len(queries)}
	for _, q := range queries {
		need.Terms += q.NumTerms
		if q.Parts != nil {
			need.Terms++ // for the words of ImageParts
		}
		need.Hits += q.K
	}
	need.Queries = min(max(need.Queries, leastBatch.Queries), maxBatch.Queries)
	need.Terms = min(max(need.Terms, leastBatch.Terms), maxBatch.Terms)
	need.Hits = min(max(need.Hits, leastBatch.Hits), maxBatch.Hits)
	have := &l.limits
	if l.batch != nil && have.Queries >= need.Queries && have.Terms >= need.Terms && have.Hits >= need.Hits {
		return nil
	}
	larger := imagesearch.Limits{
		Queries: grown(have.Queries, need.Queries, maxBatch.Queries),
		Terms:   grown(have.Terms, need.Terms, maxBatch.Terms),
		Hits:    grown(have.Hits, need.Hits, maxBatch.Hits),
	}
	if l.batch != nil {
		err := l.batch.Close()
		l.batch, l.limits = nil, imagesearch.Limits{}
		if err != nil {
			return err
		}
	}
	with := larger
	with.Keys = l.d.batchKeys
	b, err := l.d.images.NewBatch(with)
	if err != nil {
		return err
	}
	l.batch, l.limits = b, larger
	return nil
}

// leastBatch has the size of launches under a high load, about 2 MiB of page-locked memory a lane: each time that a lane grows,
// the driver can wait for the kernels of all lanes.
var leastBatch = imagesearch.Limits{Queries: 1 << 9, Terms: 1 << 12, Hits: 1 << 17}

// maxBatch limits one launch: large enough to keep a device busy for milliseconds, with at
// most 100 MiB of page-locked memory.
var maxBatch = imagesearch.Limits{Queries: 1 << 13, Terms: 1 << 18, Hits: 1 << 22}

// grown returns room for need, a power of two. Room that was not enough grows at least fourfold.
func grown(have, need, most int) int {
	if need <= have {
		return have
	}
	return max(min(4*have, most), powerOfTwo(need))
}

func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }
