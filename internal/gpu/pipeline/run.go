package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Run answers queries; result i is that of query i, its Hits appended to Hits[:0] as
// given. One query is answered in the least time, many in as few launches as memory
// allows. What cannot be answered has Result.Err, and is for the CPU; the error of Run
// itself is the context's only. trace, if not nil, is filled; measuring costs the run
// some microseconds.
func (v *View) Run(ctx context.Context, queries []*Query, results []Result, trace *Trace) error {
	for i := range results {
		results[i] = Result{Hits: results[i].Hits[:0]}
	}
	if trace != nil {
		trace.Devices = append(trace.Devices[:0], make([]DeviceTrace, len(v.engine.devices))...)
	}
	if err := v.check(queries, results); err != nil {
		fail(results, err)
		return ctx.Err()
	}
	if len(v.engine.devices) == 1 {
		return v.runOn(ctx, 0, queries, results, trace)
	}
	return v.runAll(ctx, queries, results, trace)
}

// check returns why no query can be answered, and sets the Err of those that are of
// another shape.
func (v *View) check(queries []*Query, results []Result) error {
	if len(queries) != len(results) {
		return fmt.Errorf("%d queries, but room for %d results", len(queries), len(results))
	}
	for i, q := range queries {
		if q.K < 1 || q.K > MaxK || q.NumTerms < 1 || len(q.Legs) != q.NumTerms*len(v.segments) {
			return fmt.Errorf("query %d: k %d, %d legs of %d terms over %d segments", i, q.K, len(q.Legs), q.NumTerms, len(v.segments))
		}
	}
	return v.engine.lost()
}

func fail(results []Result, err error) {
	for i := range results {
		results[i].Err = err
	}
}

// runAll answers queries on all devices, each of which has a part of every segment.
func (v *View) runAll(ctx context.Context, queries []*Query, results []Result, trace *Trace) error {
	n := len(v.engine.devices)
	parts := make([][]Result, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		parts[i] = make([]Result, len(queries))
		wg.Go(func() { errs[i] = v.runOn(ctx, i, queries, parts[i], trace) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return ctx.Err()
	}
	for i, q := range queries {
		r := &results[i]
		for d := range n {
			p := &parts[d][i]
			r.Hits, r.Matches, r.Err = mergeHits(r.Hits, p.Hits, q.K), r.Matches+p.Matches, errors.Join(r.Err, p.Err)
		}
	}
	return nil
}

// runOn answers queries on device i: all at once if their lists have room, and else
// in parts, of which one computes while the lists of the next are brought.
func (v *View) runOn(ctx context.Context, i int, queries []*Query, results []Result, trace *Trace) error {
	d, pieces := v.engine.devices[i], v.pieces[i]
	var computing flight
	var short shortage
	defer short.end(d)
	for from := 0; from < len(queries); {
		if err := ctx.Err(); err != nil {
			computing.wait()
			return err
		}
		l := <-d.lanes
		l.reset()
		ended := d.holders.begin()
		n, err := l.gather(v, pieces, queries[from:], results[from:])
		if n == 0 && err != nil {
			d.lanes <- l
			if !short.wait(d, &computing, ended) {
				results[from].Err = err
				from++
			}
			continue
		}
		short.end(d)
		part, out := queries[from:from+n], results[from:from+n]
		if from == 0 && n == len(queries) {
			l.run(pieces, part, out, trace != nil)
			l.report(trace, i)
			d.lanes <- l
			d.holders.end()
			return nil
		}
		computing.wait()
		computing.start(func() {
			l.run(pieces, part, out, trace != nil)
			l.report(trace, i)
			d.lanes <- l
			d.holders.end()
		})
		from += n
	}
	computing.wait()
	return nil
}

// shortage is the state of a run that finds no room for even one query. One run at a
// time waits for memory, so that those that wait do not take it from each other.
type shortage bool

// wait is called after a gather that began when ended runs had ended, and found no
// room. It returns true when the run is to try again, and false if nobody else has
// lists pinned: then there will never be room.
func (s *shortage) wait(d *device, computing *flight, ended uint64) bool {
	d.holders.leave()
	if !*s {
		d.waiting.Lock()
		*s = true
		return true
	}
	return computing.wait() || d.holders.wait(ended)
}

// end lets another run wait.
func (s *shortage) end(d *device) {
	if *s {
		d.waiting.Unlock()
		*s = false
	}
}

// flight is work that goes on beside a goroutine, one piece at a time.
type flight struct{ done chan struct{} } // nil: nothing does

func (f *flight) start(work func()) {
	done := make(chan struct{})
	f.done = done
	go func() {
		defer close(done)
		work()
	}()
}

// wait waits for the work and reports whether there was any.
func (f *flight) wait() bool {
	if f.done == nil {
		return false
	}
	<-f.done
	f.done = nil
	return true
}

// report adds what a lane did to the trace of device i.
func (l *lane) report(trace *Trace, i int) {
	if trace == nil {
		return
	}
	t, c := &trace.Devices[i], &l.counts
	t.Device = l.d.name
	t.ListsHit += c.hit
	t.ListsMissed += c.missed
	t.ListBytes += c.listBytes
	t.Bringing += c.bringing
	t.BytesTo += c.to
	t.BytesFrom += c.from
	t.Took += c.took
	for _, k := range c.kernels {
		t.add(k)
	}
}

// add counts launches of a kernel.
func (t *DeviceTrace) add(k KernelTrace) {
	for i := range t.Kernels {
		if t.Kernels[i].Name == k.Name {
			t.Kernels[i].Launches += k.Launches
			return
		}
	}
	t.Kernels = append(t.Kernels, k)
}
