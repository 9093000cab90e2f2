package pipeline

import (
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/residency"
)

// images sets the path of queries.
func images(queries ...*Query) []*Query {
	for _, q := range queries {
		q.Path = PathImages
	}
	return queries
}

// Among queries of equal cost, those with the same longest lists are adjacent, whatever the order
// of their words. Unknown words have no list.
func TestSliceOrder(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	p := slicedRun{view: v, queries: []*Query{c.query(t, false, 5, 0), c.query(t, false, 2, 1), c.query(t, false, 0, 6), c.query(t, false, 99, 0)}}
	for _, q := range p.queries {
		if cost(q) != cost(p.queries[0]) {
			t.Fatalf("costs %d and %d", cost(q), cost(p.queries[0]))
		}
	}
	p.results = make([]Result, len(p.queries))
	if left := p.sort(); len(left) != 0 || !slices.Equal(p.order, []int{3, 0, 2, 1}) {
		t.Errorf("order %v, left %v", p.order, left)
	}
}

// Queries that are too large are left by rising size, then number. An unknown word has no size.
func TestSlicesLeft(t *testing.T) {
	c := newCollection(t, 4000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	p := slicedRun{view: v, queries: []*Query{
		c.query(t, false, 1, 0), c.query(t, false, 3, 2), c.query(t, false, 2), c.query(t, false, 99, 2), c.query(t, false, 3, 99),
		c.query(t, false, 1), c.query(t, false, 2, 1), c.query(t, false, 2),
	}}
	p.results = make([]Result, len(p.queries))
	three := p.queries[4].Legs
	e.devices[0].Probe().SetLimit(v.imageBytes(0, 0, &three[0]) + v.imageBytes(0, 1, &three[2]))
	if left := p.sort(); !slices.Equal(p.order, []int{4}) || !slices.Equal(left, []int{2, 3, 7, 5, 1, 6, 0}) {
		t.Errorf("order %v, left %v", p.order, left)
	}
}

// A run in slices reports its lists, kernels and bytes.
func TestSlicesTrace(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 8 << 10}, Lanes: 2})
	v := c.attach(t, e)
	defer v.Release()
	var queries []*Query
	for word := range 8 {
		q := c.query(t, false, word)
		q.Count = false // one launch for each query
		queries = append(queries, q)
	}
	var trace Trace
	results := make([]Result, len(queries))
	if err := v.Run(t.Context(), images(queries...), results, nil, &trace); err != nil {
		t.Fatal(err)
	}
	launches := 0
	for i, q := range queries {
		c.compare(t, q, &results[i])
	}
	d, s := trace.Devices[0], e.Stats().Devices[0]
	for _, k := range d.Kernels {
		launches += k.Launches
	}
	if d.Device != "gpu0" || d.ListsHit+d.ListsMissed != 8 || d.Forms != s.Asked || launches != 8 || d.BytesTo <= 0 || d.BytesFrom <= 0 {
		t.Errorf("%+v: want 8 lists and 8 launches with their bytes", d)
	}
	if !e.devices[0].tight.Load() {
		t.Error("the next batch will try to pin all lists again")
	}
}

// A list whose upload fails in a batch without room is uploaded again by a slice. The memory of
// the lane's batch is kept.
func TestSlicesRetry(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	var faults cuda.Faults
	e := open(t, Options{Memory: Memory{Bytes: 8 << 10}, HostMemory: HostMemory{None: true}, Lanes: 1, Faults: &faults})
	v := c.attach(t, e)
	defer v.Release()
	run(t, v, images(c.query(t, false, 11), c.query(t, false, 10)))
	before := batchOf(e.devices[0])
	faults.Fail("cuMemcpyHtoDAsync_v2", 1, cuda.InvalidValue)
	var queries []*Query
	for word := range 8 {
		queries = append(queries, c.query(t, false, word))
	}
	for i, r := range run(t, v, images(queries...)) {
		c.compare(t, queries[i], &r)
	}
	if n := e.Stats().Devices[0].Errors; n != 1 || !e.devices[0].tight.Load() {
		t.Errorf("%d errors, tight: %t", n, e.devices[0].tight.Load())
	}
	if after := batchOf(e.devices[0]); before == nil || after != before {
		t.Error("the memory of the batch was replaced")
	}
}

func batchOf(d *device) (b any) {
	withLane(d, func(l *lane) { b = l.batch })
	return b
}

// Lists uploaded for a query that found no room then are no hits when it runs, but hits of the
// next query.
func TestUploadedInVain(t *testing.T) {
	c := newCollection(t, 4000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 32 << 10}, HostMemory: HostMemory{None: true}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	free := c.leaveRoom(t, v, 9)
	p := slicedRun{view: v, queries: images(c.query(t, false, 9, 1), c.query(t, false, 9)), results: make([]Result, 2)}
	p.sort()
	w := batchSlice{first: -1}
	withLane(e.devices[0], func(l *lane) {
		for range 2 {
			l.reset()
			if err := p.gather(l, v.targets[0], &w); !errors.Is(err, residency.ErrNoRoom) || w.first != 0 || len(w.numbers) != 0 || w.uploaded != 1 {
				t.Errorf("error %v, %+v", err, w)
			}
		}
		free()
		for i, want := range []residency.Counts{{Missed: 1, Asked: FormStats{File: 1}}, {Hit: 1, Asked: FormStats{Image: 1}}} {
			l.reset()
			w.reset()
			if err := p.gather(l, v.targets[0], &w); err != nil || !slices.Equal(w.numbers, []int{i}) {
				t.Fatalf("error %v, queries %v, want %d", err, w.numbers, i)
			}
			if c := l.counts; c.Hit != want.Hit || c.Missed != want.Missed || c.Asked != want.Asked {
				t.Errorf("query %d: %+v, want %+v", i, c.Counts, want)
			}
			l.unpin(0)
		}
	})
}

// If a query never finds room, its uploaded lists are hits of the next one.
func TestGivenUp(t *testing.T) {
	c := newCollection(t, 4000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 32 << 10}, HostMemory: HostMemory{None: true}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	free := c.leaveRoom(t, v, 9)
	defer free()
	e.devices[0].tight.Store(true)
	var trace Trace
	p := slicedRun{
		view: v, queries: images(c.query(t, false, 9, 1), c.query(t, false, 9)), results: make([]Result, 2),
		trace: &trace,
	}
	trace.Devices = make([]DeviceTrace, 1)
	if err := p.run(t.Context()); err != nil || !errors.Is(p.results[0].Err, residency.ErrNoRoom) {
		t.Errorf("errors %v, %v", err, p.results[0].Err)
	}
	c.compare(t, p.queries[1], &p.results[1])
	if d := trace.Devices[0]; d.ListsHit != 1 || d.Forms.Image != 1 {
		t.Errorf("%+v: want a hit", d)
	}
}

// A run that finds room lets another one wait for memory.
func TestShortageEnds(t *testing.T) {
	c := newCollection(t, 500, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	p := slicedRun{view: v, queries: images(c.query(t, false, 2)), results: make([]Result, 1)}
	p.sort()
	var short shortage
	if !short.wait(t.Context(), d, 0) || !bool(short) || len(d.waiting) != 1 {
		t.Fatalf("short: %t, %d wait", short, len(d.waiting))
	}
	w := batchSlice{first: -1}
	if _, err := p.answer(t.Context(), &w, &short); err != nil || short || len(d.waiting) != 0 {
		t.Errorf("error %v, short: %t, %d wait", err, short, len(d.waiting))
	}
	short.end(d)
	c.compare(t, p.queries[0], &p.results[0])
}

// A lane whose run panicked has no state of it.
func TestPanicClearsLane(t *testing.T) {
	c := newCollection(t, 500, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	c.check(t, v, c.directly(t, false, 3, 2), nil)
	run(t, v, images(c.query(t, false, 4), c.query(t, false, 5)))
	q := c.directly(t, false, 7, 6)
	q.Legs[1].Field = 99
	panics(t, func() error { return runAll(t, v, nil, q) })
	withLane(e.devices[0], func(l *lane) {
		if l.batch != nil || l.limits.Queries != 0 || l.packed.runner != nil || l.packed.ask.terms.legs != nil || len(l.packed.held) != 0 {
			t.Errorf("batch %v, runner %v, %+v, %d lists", l.batch, l.packed.runner, l.packed.ask, len(l.packed.held))
		}
	})
	for _, path := range []Path{PathImages, PathPacked} {
		q := c.query(t, false, 3, 2)
		q.Path = path
		c.check(t, v, q, nil)
	}
}
