package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/residency"
)

// inBands reports whether a pass can answer a query.
func (v *View) inBands(device int, q *Query) bool {
	if q.imagesOnly() || q.Count || len(q.Filters) > 0 || q.K > imagesearch.MaxPassK || q.NumTerms > imagesearch.MaxPassTerms {
		return false
	}
	for s := range v.targets[device] {
		p := v.targets[device][s].shard
		if p == nil {
			continue
		}
		legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
		for j := range legs {
			if legs[j].DocFreq() > 0 && !v.engine.devices[device].ReadsPacked(p, &legs[j]) {
				return false
			}
		}
	}
	return true
}

// runBands answers queries by bands, and those that a pass cannot answer by images. The error is the context's.
func (v *View) runBands(ctx context.Context, i int, queries []*Query, results []Result, others Others, trace *Trace) error {
	for from := 0; from < len(queries); from += passQueries {
		to := min(from+passQueries, len(queries))
		r := &passRequest{
			ctx: ctx, view: v, queries: queries[from:to], results: results[from:to], trace: trace,
			rest: make([]bool, to-from), numbers: make([]int, to-from), done: make(chan struct{}),
		}
		if err := v.engine.devices[i].passes.answer(r, i); err != nil {
			return err
		}
		var rest subset
		for j, is := range r.rest {
			if is {
				rest.add(from+j, queries[from+j], &results[from+j])
			}
		}
		if len(rest.queries) > 0 {
			_ = v.runImages(ctx, i, rest.queries, rest.results, rest.others(others), trace)
			rest.give(results)
		}
	}
	return ctx.Err()
}

// Limits of the memory that a pass borrows.
const (
	// passShare of the device's memory is left for lists of other queries.
	passShare = 16
	// mostOfPass is enough for the widest bands of some thousand lists.
	mostOfPass = 128 << 20
	// leastOfPass of the device's memory is too little for a pass: its bands would be narrow.
	leastOfPass = 8
)

// pass answers requests of this view together.
func (v *View) pass(device int, requests []*passRequest) {
	d := v.engine.devices[device]
	l := d.lane(context.WithoutCancel(requests[0].ctx), passQueries) // others need the pass if the context of the first one ends
	l.enter()
	defer l.leave()
	b := bandRun{lane: l, view: v, device: device, requests: requests}
	began := time.Now()
	err := b.all()
	l.release()
	b.counts.Passes, b.counts.Took = 1, time.Since(began)
	d.passes.add(&b.counts)
	switch {
	case errors.Is(err, residency.ErrNoRoom), errors.Is(err, imagesearch.ErrBand):
		for _, r := range requests {
			for j := range r.rest {
				r.rest[j] = true
				r.results[j] = Result{Hits: r.results[j].Hits[:0]}
			}
		}
		l.counts.Hit, l.counts.Missed, l.counts.Asked = 0, 0, FormStats{} // the run by images counts the lists
	case err != nil:
		err = d.Note(err)
		for _, r := range requests {
			for j := range r.results {
				r.results[j].Err = errors.Join(r.results[j].Err, err)
			}
		}
	}
	d.busy.Add(int64(l.counts.took))
	d.CountLists(l.counts.Hit, l.counts.Missed)
	d.asked.Add(&l.counts.Asked)
	d.inPlace.Add(l.counts.inPlace)
	for _, r := range requests {
		l.report(r.trace, device)
		l.counts = laneCounts{kernels: l.counts.kernels, took: l.counts.took} // bytes and lists count once
	}
}

// bandRun is a pass for several requests.
type bandRun struct {
	lane     *lane
	view     *View
	device   int
	requests []*passRequest
	loan     residency.Loan
	pass     *imagesearch.Pass
	lists    map[residency.ListKey]int // their numbers in pass; noList: they cannot be read
	counts   PassStats
}

const noList = -1

func (b *bandRun) all() (err error) {
	d := b.lane.d
	if b.pass = d.passes.pass; b.pass == nil {
		if b.pass, err = d.images.NewPass(); err != nil {
			return err
		}
		d.passes.pass = b.pass
	}
	limit := d.Limit()
	if b.loan, err = residency.Borrow(d.Device, min(limit/leastOfPass, mostOfPass), min(limit-limit/passShare, mostOfPass)); err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended { // panic: kernels may be running
			d.passes.pass = nil
			_ = d.Note(b.pass.Close())
		}
		b.loan.Return()
	}()
	err = b.segments()
	ended = true
	return err
}

func (b *bandRun) segments() error {
	b.lists = map[residency.ListKey]int{}
	targets := b.view.targets[b.device]
	for s := range targets {
		if targets[s].shard == nil {
			continue
		}
		if err := b.segment(&targets[s], s); err != nil {
			return err
		}
	}
	for _, r := range b.requests {
		for j := range r.queries {
			if !r.rest[j] {
				b.lane.d.queries.Add(1)
			}
		}
	}
	return nil
}

// segment answers the queries in a segment. The thresholds of one prune the next.
func (b *bandRun) segment(p *target, s int) error {
	began := time.Now()
	b.pass.Reset(p.segment)
	clear(b.lists)
	for _, r := range b.requests {
		for j, q := range r.queries {
			r.numbers[j] = -1
			if r.rest[j] || r.results[j].refused() || q.lacks(s) || r.ctx.Err() != nil {
				continue
			}
			var err error
			if r.numbers[j], err = b.add(p, s, q, &r.results[j]); err == nil {
				continue
			}
			r.numbers[j] = -1
			if r.rest[j] = unsuited(err); r.rest[j] {
				r.results[j].Hits = r.results[j].Hits[:0]
			} else {
				r.results[j].Err = b.lane.d.Note(err)
			}
		}
	}
	b.counts.Gathering += time.Since(began)
	if b.pass.Len() == 0 {
		return nil
	}
	l := b.lane
	if err := b.pass.Run(b.loan.Memory(), b.await, b.abandoned); err != nil {
		if errors.Is(err, imagesearch.ErrStopped) {
			return nil
		}
		return err
	}
	b.report()
	for _, r := range b.requests {
		for j, n := range r.numbers {
			if n >= 0 {
				l.merged = b.pass.AppendHits(l.merged[:0], n)
				l.merge(&r.results[j], r.queries[j].K)
			}
		}
	}
	return nil
}

// unsuited errors mean that a query needs another path.
func unsuited(err error) bool {
	return errors.Is(err, imagesearch.ErrUnsuited) || errors.Is(err, residency.ErrNoRoom) || errors.Is(err, residency.ErrTooLarge)
}

// add adds a query to the pass, -1 if it has no term in the segment.
func (b *bandRun) add(p *target, s int, q *Query, r *Result) (number int, err error) {
	ask := imagesearch.PassQuery{K: q.K}
	if q.Conjunctive {
		ask.Mode = imagesearch.And
	}
	legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
	for j := range legs {
		leg := &legs[j]
		if leg.DocFreq() == 0 {
			continue
		}
		k := p.shard.Key(leg)
		n, known := b.lists[k]
		if !known {
			if n, err = b.list(p, s, leg); unsuited(err) {
				n = noList
			} else if err != nil {
				return -1, err
			}
			b.lists[k] = n
		}
		if n == noList {
			return -1, imagesearch.ErrUnsuited
		}
		ask.Terms = append(ask.Terms, imagesearch.PassTerm{Leg: leg.Leg, List: n})
	}
	if len(ask.Terms) == 0 {
		return -1, nil
	}
	if len(r.Hits) == q.K {
		ask.Threshold = r.Hits[q.K-1].Score
	}
	return b.pass.Add(&ask)
}

// list pins a list and adds it to the pass.
func (b *bandRun) list(p *target, s int, leg *Leg) (number int, err error) {
	l := b.lane
	held, err := l.uploader.Packed(p.shard, leg, &l.counts.Counts)
	if err != nil {
		return noList, err
	}
	l.packed.held = append(l.packed.held, held)
	list := imagesearch.PassList{Shape: p.shard.Shape(leg), Cuts: p.shard.Cuts(leg)}
	list.Payload, list.Directory, _ = held.Addresses()
	if !list.Shape.Saturation.Linear {
		if list.Lengths, err = l.uploader.Lengths(p.shard, &b.view.segments[s], leg.Field); err != nil {
			return noList, err
		}
	}
	if number, err = b.pass.AddList(&list); err == nil && held.OnHost() {
		l.counts.inPlace += leg.SizeBytes()
	}
	b.counts.Lists++
	b.counts.ListBytes += leg.SizeBytes()
	return number, err
}

// await makes a stream wait for the uploads of the lists.
func (b *bandRun) await(s *cuda.Stream) error {
	for i := range b.lane.packed.held {
		if err := b.lane.waits.Packed(s, &b.lane.packed.held[i]); err != nil {
			return err
		}
	}
	return nil
}

// abandoned reports whether nobody waits for the pass.
func (b *bandRun) abandoned() bool {
	for _, r := range b.requests {
		if r.ctx.Err() == nil {
			return false
		}
	}
	return true
}

// report counts the work of a segment.
func (b *bandRun) report() {
	l, s := b.lane, b.pass.Stats()
	c := &b.counts
	c.Bands, c.Queries, c.Blocks = c.Bands+int64(s.Bands), c.Queries+int64(b.pass.Len()), c.Blocks+s.Blocks
	c.Planning, c.Waiting, c.Filling, c.Searching = c.Planning+s.Planning, c.Waiting+s.Waiting, c.Filling+s.Filling, c.Searching+s.Searching
	l.d.launches.Add(2 * int64(s.Bands))
	l.counts.took += s.Took
	l.bytes(b.pass.Bytes())
	b.pass.Launches(l.count)
}
