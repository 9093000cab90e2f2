package pipeline

import (
	"slices"
	"sync"
	"testing"
)

// testOthers take one query and record Begin's arguments.
type testOthers struct {
	mu          sync.Mutex
	query       int
	order, left []int
}

func (o *testOthers) Begin(_ int, order, left []int) {
	o.order, o.left = slices.Clone(order), slices.Clone(left)
}

func (o *testOthers) Take(query int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return query != o.query
}

// Slices are ordered by cost and longest list. Queries that are too large or taken by others
// have an error. Evicted lists are uploaded again from page-locked memory.
func TestSlices(t *testing.T) {
	s := testIndex(t, 12_000, 4)
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 72 << 10}, Lanes: 2})
	defer v.Release()
	d := e.devices[0]
	queries := []*Query{
		testQuery(t, s, "w3"), testQuery(t, s, "w0", "w3"), testQuery(t, s, "w2", "w1"), testQuery(t, s, "w0", "w1", "w2", "w3"),
		testQuery(t, s, "w2"), testQuery(t, s, "w0", "w2"), testQuery(t, s, "w1"), testQuery(t, s, "w3", "w2"),
	}
	for _, q := range queries {
		q.Path = PathImages
	}
	whole := int64(0)
	for j := range queries[3].Legs {
		whole += v.imageBytes(0, 0, &queries[3].Legs[j])
	}
	if whole <= d.Limit() {
		t.Fatalf("the lists of %d bytes fit into %d", whole, d.Limit())
	}
	results := make([]Result, len(queries))
	others := &testOthers{query: 6}
	for range 3 {
		if err := v.Run(t.Context(), queries, results, others, nil); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(others.left, []int{3}) || len(others.order) != 7 || slices.Contains(others.order, 3) {
		t.Errorf("left %v, order %v: want only query 3 in left", others.left, others.order)
	}
	at := func(query int) int { return slices.Index(others.order, query) }
	if at(1)-at(5) != 1 && at(5)-at(1) != 1 || at(0) < at(5) {
		t.Errorf("order %v: want queries 1 and 5 adjacent and before query 0", others.order)
	}
	for i, want := range []int64{3000, 12000, 8000, 0, 4000, 12000, 0, 6000} {
		r := &results[i]
		if want == 0 {
			if r.Err == nil {
				t.Errorf("query %d was answered, want an error", i)
			}
		} else if r.Err != nil || r.Matches != want {
			t.Errorf("query %d: %d matches, error %v, want %d", i, r.Matches, r.Err, want)
		}
	}
	st := e.Stats().Devices[0]
	if st.Host.SizeBytes == 0 || st.Evictions == 0 || st.Hits == 0 || st.Misses == 0 || st.Queries != 3*6 || st.Errors != 0 {
		t.Errorf("%+v: want evictions, hits, misses and page-locked lists", st)
	}
}

// A slice ends after sliceQueries queries, or once it has uploaded 1/sliceShare of the memory.
func TestSliceSize(t *testing.T) {
	c := newCollection(t, 2000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	var queries []*Query
	for range 2 * sliceQueries {
		for word := range numWords {
			queries = append(queries, c.query(t, false, word))
		}
	}
	whole := v.imageBytes(0, 0, &queries[0].Legs[0]) // of the longest list
	gather := func() (numbers []int) {
		p := slicedRun{view: v, device: 0, queries: queries, results: make([]Result, len(queries))}
		p.sort()
		w := batchSlice{first: -1}
		l := d.lanes.take(nil, 1)
		l.enter()
		defer l.leave()
		if err := p.gather(l, v.targets[0], &w); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(w.numbers)
	}
	limit := d.Probe().SetLimit(sliceShare * whole)
	if n := gather(); len(n) != 1 { // it has uploaded its share
		t.Errorf("%d queries, want 1", len(n))
	}
	for size, want := range map[int64]int{whole: 0, whole - 1: 1} { // a query of exactly the limit fits
		d.Probe().SetLimit(size)
		p := slicedRun{view: v, queries: queries[:1], results: make([]Result, 1)}
		if left := p.sort(); len(left) != want {
			t.Errorf("list of %d bytes, limit %d: %d queries are left", whole, size, len(left))
		}
	}
	d.Probe().SetLimit(limit)
	if n := gather(); len(n) != sliceQueries {
		t.Errorf("%d queries, want %d", len(n), sliceQueries)
	}
}
