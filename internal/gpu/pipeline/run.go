package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/invariant"
)

// Run answers queries. results[i] belongs to query i; its Hits are appended to Hits[:0], and if
// it has Err, the CPU must answer it. A single query gets the lowest latency, a batch the
// fewest launches that memory allows. The returned error is the context's. others, if not nil,
// may take queries of a batch that exceeds the devices' memory. trace, if not nil, is filled;
// measuring costs some microseconds.
func (v *View) Run(ctx context.Context, queries []*Query, results []Result, others Others, trace *Trace) error {
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
		return v.runOn(ctx, 0, queries, results, others, trace)
	}
	return v.runAll(ctx, queries, results, others, trace)
}

func (v *View) check(queries []*Query, results []Result) error {
	if len(queries) != len(results) {
		return fmt.Errorf("%d queries, but room for %d results", len(queries), len(results))
	}
	for i, q := range queries {
		if err := q.check(len(v.segments)); err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
	}
	return v.engine.Lost()
}

func fail(results []Result, err error) {
	for i := range results {
		results[i].Err = err
	}
}

func (v *View) runAll(ctx context.Context, queries []*Query, results []Result, others Others, trace *Trace) error {
	n := len(v.engine.devices)
	parts := make([][]Result, n)
	var group invariant.Group
	for i := range n {
		parts[i] = make([]Result, len(queries))
		group.Go(func() { _ = v.runOn(ctx, i, queries, parts[i], others, trace) })
	}
	group.Wait()
	if err := ctx.Err(); err != nil { // the only error of runOn
		return err
	}
	for i, q := range queries {
		r := &results[i]
		for d := range n {
			r.Err = errors.Join(r.Err, parts[d][i].Err)
		}
		if r.Err != nil {
			continue // others may be writing to its hits
		}
		for d := range n {
			p := &parts[d][i]
			r.Hits, r.Matches = mergeHits(r.Hits, p.Hits, q.K), r.Matches+p.Matches
		}
	}
	return nil
}

// runOn answers each query on its own path.
func (v *View) runOn(ctx context.Context, i int, queries []*Query, results []Result, others Others, trace *Trace) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var counts [PathBands + 1]int
	c := v.crowd(i, queries)
	if c.many {
		crowds := &v.engine.devices[i].passes.crowds
		c.together = crowds.enter()
		defer crowds.leave()
	}
	for _, q := range queries {
		counts[v.pathOn(i, q, c)]++
	}
	for path, n := range counts {
		if n == len(queries) {
			return v.runBy(ctx, Path(path), i, queries, results, others, trace)
		}
	}
	return v.runSplit(ctx, i, queries, c, results, others, trace)
}

// runBy answers queries on a path, which is not PathAuto.
func (v *View) runBy(ctx context.Context, path Path, i int, queries []*Query, results []Result, others Others, trace *Trace) error {
	switch path {
	case PathPacked:
		return v.runPacked(ctx, i, queries, results, others, trace)
	case PathBands:
		return v.runBands(ctx, i, queries, results, others, trace)
	}
	return v.runImages(ctx, i, queries, results, others, trace)
}

// runImages answers queries all at once if the lists fit, else in slices.
func (v *View) runImages(ctx context.Context, i int, queries []*Query, results []Result, others Others, trace *Trace) error {
	d := v.engine.devices[i]
	if !d.tight.Load() || v.need(i, queries) <= d.Limit() {
		if whole, err := v.runWhole(ctx, i, queries, results, trace); whole || err != nil {
			return err
		}
		d.tight.Store(true)
	}
	p := slicedRun{view: v, device: i, queries: queries, results: results, others: others, trace: trace}
	return p.run(ctx)
}

// runWhole answers queries if all their lists fit. The error is the context's.
func (v *View) runWhole(ctx context.Context, i int, queries []*Query, results []Result, trace *Trace) (whole bool, err error) {
	d, targets := v.engine.devices[i], v.targets[i]
	l := d.lane(ctx, len(queries))
	if l == nil {
		return false, ctx.Err()
	}
	l.enter()
	defer l.leave()
	n, _ := l.gather(v, targets, queries, results)
	if n == len(queries) {
		if n == 1 && len(v.engine.devices) == 1 {
			l.beside.ask = queries[0].Beside
		}
		l.run(targets, queries, results, 1, trace != nil)
		l.report(trace, i)
	} else {
		l.unpin(0)
		for j := range results[:n] { // they run again in slices
			results[j].Err = nil
		}
	}
	return n == len(queries), nil
}

// shortage is the state of a run without room for a query. One run at a time waits, so that
// waiting runs do not take memory from each other.
type shortage bool

// wait is called after gather found no room and the lane was returned; ended is from enter. It
// returns true if the run should try again or its context has ended, false if no other run
// holds lists: then the query never fits.
func (s *shortage) wait(ctx context.Context, d *device, ended uint64) bool {
	if *s {
		return d.WaitForRun(ctx, ended)
	}
	select {
	case d.waiting <- struct{}{}:
		*s = true
	case <-ctx.Done():
	}
	return true
}

// end lets another run wait.
func (s *shortage) end(d *device) {
	if *s {
		<-d.waiting
		*s = false
	}
}

// settle ends a run, after which the lists can be unpinned.
func (l *lane) settle(err error) {
	if err != nil {
		_ = l.d.Note(err)
		_ = l.stream.Synchronize() // no kernel may read unpinned lists
		return
	}
	l.waits.Ended()
	for _, e := range l.entries {
		l.waits.MarkLoaded(e)
	}
}

func (l *lane) report(trace *Trace, i int) {
	if trace == nil {
		return
	}
	t, c := &trace.Devices[i], &l.counts
	t.Device = l.d.Name()
	t.ListsHit += c.Hit
	t.ListsMissed += c.Missed
	t.ListBytes += c.ListBytes
	t.Bringing += c.Uploading
	t.BytesTo += c.to
	t.BytesFrom += c.from
	t.BytesInPlace += c.inPlace
	t.BytesLocked += c.Locked
	t.Forms = t.Forms.Plus(&c.Asked)
	t.Took += c.took
	t.HostTimes.add(&c.times)
	for _, k := range c.kernels {
		t.add(k)
	}
}

func (t *DeviceTrace) add(k KernelTrace) {
	for i := range t.Kernels {
		if t.Kernels[i].Name == k.Name {
			t.Kernels[i].Launches += k.Launches
			return
		}
	}
	t.Kernels = append(t.Kernels, k)
}

// merge adds the counts of another goroutine.
func (t *DeviceTrace) merge(o *DeviceTrace) {
	if o.Device != "" {
		t.Device = o.Device
	}
	t.ListsHit += o.ListsHit
	t.ListsMissed += o.ListsMissed
	t.Forms = t.Forms.Plus(&o.Forms)
	t.ListBytes += o.ListBytes
	t.BytesInPlace += o.BytesInPlace
	t.BytesLocked += o.BytesLocked
	t.Bringing += o.Bringing
	t.BytesTo += o.BytesTo
	t.BytesFrom += o.BytesFrom
	t.Took += o.Took
	t.HostTimes.add(&o.HostTimes)
	for _, k := range o.Kernels {
		t.add(k)
	}
}
