package pipeline

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/residency"
)

// imageBatch returns n queries by images.
func (c *collection) imageBatch(tb testing.TB, n int) []*Query {
	tb.Helper()
	queries := make([]*Query, n)
	for i := range queries {
		queries[i] = c.query(tb, i%3 == 0, 1+i%(numWords-1), 0)
		queries[i].Path = PathImages
	}
	return queries
}

// run answers queries without others and a trace.
func run(tb testing.TB, v *View, queries []*Query) []Result {
	tb.Helper()
	results := make([]Result, len(queries))
	if err := v.Run(tb.Context(), queries, results, nil, nil); err != nil {
		tb.Fatal(err)
	}
	return results
}

// withLane lends the only lane.
func withLane(d *device, f func(l *lane)) {
	l := d.lanes.take(nil, 1)
	defer func() { d.lanes.put(l) }()
	f(l)
}

// A batch that fits into the reserved memory of the previous one uses it; a larger one gets new
// memory.
func TestReserve(t *testing.T) {
	least := leastBatch
	growsFromNothing(t)
	c := newCollection(t, 300, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	batch := func(queries, terms, k int) (all []*Query) {
		words := make([]int, terms)
		for range queries {
			q := c.query(t, false, words...)
			q.K = k
			all = append(all, q)
		}
		return all
	}
	withLane(e.devices[0], func(l *lane) {
		var last *imagesearch.Batch
		for _, test := range []struct {
			queries, terms, k int
			grows             bool
			want              imagesearch.Limits
		}{
			{16, 2, 4, true, imagesearch.Limits{Queries: 16, Terms: 32, Hits: 64}},
			{16, 2, 4, false, imagesearch.Limits{Queries: 16, Terms: 32, Hits: 64}},
			{3, 1, 1, false, imagesearch.Limits{Queries: 16, Terms: 32, Hits: 64}},
			{17, 1, 1, true, imagesearch.Limits{Queries: 64, Terms: 32, Hits: 64}},
			{11, 3, 1, true, imagesearch.Limits{Queries: 64, Terms: 128, Hits: 64}},
			{5, 1, 13, true, imagesearch.Limits{Queries: 64, Terms: 128, Hits: 256}},
			{32, 2, 4, false, imagesearch.Limits{Queries: 64, Terms: 128, Hits: 256}},
		} {
			if err := l.reserve(batch(test.queries, test.terms, test.k)); err != nil {
				t.Fatal(err)
			}
			if l.limits != test.want || (l.batch != last) != test.grows {
				t.Errorf("%+v: limits %+v, new memory: %t", test, l.limits, l.batch != last)
			}
			last = l.batch
		}
		if got := [...]int{grown(8, 9, 16), grown(8, 17, 16), grown(4, 5, 64), grown(0, 5, 64)}; got != [...]int{16, 32, 16, 8} {
			t.Errorf("room grows to %v", got)
		}
		parts := batch(64, 4, 1)
		for _, q := range parts {
			q.Parts = make([]Part, q.NumTerms)
		}
		if err := l.reserve(parts); err != nil {
			t.Fatal(err)
		}
		if l.limits.Terms != 512 {
			t.Errorf("room for %d terms, want that of 64 queries with 4 terms and their parts", l.limits.Terms)
		}
		leastBatch = least
		if err := l.reserve(batch(1, 1, 1)); err != nil || l.limits != least {
			t.Errorf("a small batch has room for %+v, want %+v (%v)", l.limits, least, err)
		}
	})
}

// growsFromNothing lets batches grow from the first query on.
func growsFromNothing(t *testing.T) {
	least := leastBatch
	t.Cleanup(func() { leastBatch = least })
	leastBatch = imagesearch.Limits{}
}

// After the first batch of each lane, a load of single queries and batches of all sizes, kinds and k allocates nothing: the driver
// would wait for the kernels of other lanes.
func TestLoadAllocatesNothing(t *testing.T) {
	c := newCollection(t, 2000, 2, "")
	var faults cuda.Faults
	const lanes = 2
	e := open(t, Options{HostMemory: HostMemory{None: true}, Lanes: lanes, Faults: &faults})
	v := c.attach(t, e)
	defer v.Release()
	rng := rand.New(rand.NewPCG(20, 26))
	random := func(n int) (queries []*Query) {
		for range n {
			q := c.query(t, rng.IntN(2) == 0, rng.IntN(numWords), rng.IntN(numWords), rng.IntN(numWords))
			q.K = []int{1, 10, 100, 1000}[rng.IntN(4)]
			queries = append(queries, q)
		}
		return queries
	}
	var all []*Query
	for word := range numWords { // bring all lists
		all = append(all, c.query(t, false, word))
	}
	for range lanes { // lanes take turns
		run(t, v, all)
	}
	calls := func() (n [4]int) {
		for i, call := range []string{"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemFree_v2", "cuMemFreeHost"} {
			n[i] = faults.Calls()[call]
		}
		return n
	}
	before := calls()
	if before[0] == 0 || before[1] == 0 {
		t.Fatalf("the driver was called %v times", before)
	}
	for round := range 8 {
		var group sync.WaitGroup
		for range lanes + 1 {
			queries := random([]int{1, 2, 20, 60}[(round+rng.IntN(2))%4])
			results := make([]Result, len(queries))
			group.Go(func() {
				if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
					t.Error(err)
				}
			})
			defer func() {
				for i, q := range queries {
					c.compare(t, q, &results[i])
				}
			}()
		}
		group.Wait()
	}
	if after := calls(); after != before {
		t.Errorf("calls of the driver: %v, then %v", before, after)
	}
}

// A growing batch is answered. If the memory of the old one cannot be freed, or there is none
// for the new one, the queries fail, and the next batches are answered, of the old size too.
func TestGrowingBatch(t *testing.T) {
	growsFromNothing(t)
	c := newCollection(t, 300, 2, "")
	small, large := c.imageBatch(t, fewQueries+1), c.imageBatch(t, 10*fewQueries)
	for _, call := range []string{"", "cuMemFree_v2", "cuMemFreeHost", "cuEventDestroy_v2", "cuMemAlloc_v2", "cuMemHostAlloc"} {
		t.Run(call, func(t *testing.T) {
			var faults cuda.Faults
			e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Lanes: 1, Faults: &faults})
			v := c.attach(t, e)
			defer v.Release()
			answered := func(queries []*Query) {
				t.Helper()
				results := run(t, v, queries)
				for i, q := range queries {
					c.compare(t, q, &results[i])
				}
			}
			answered(small)
			if call != "" {
				faults.Fail(call, 1, cuda.OutOfMemory)
				for i, r := range run(t, v, large) {
					if !errors.Is(r.Err, cuda.ErrOutOfMemory) {
						t.Errorf("query %d: error %v", i, r.Err)
					}
				}
				if n := e.Stats().Devices[0].Errors; n != 1 {
					t.Errorf("%d errors", n)
				}
			}
			answered(small)
			answered(large)
			answered(small)
		})
	}
}

// A query that the kernels refuse does not disturb the other answers of its batch.
func TestRefusedInBatch(t *testing.T) {
	c := newCollection(t, 300, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	queries := c.imageBatch(t, fewQueries+4)
	refused := map[int]bool{0: true, 4: true, 5: true}
	for i := range refused {
		queries[i] = c.tooManyTerms(queries[i])
	}
	for i, r := range run(t, v, queries) {
		if !refused[i] {
			c.compare(t, queries[i], &r)
		} else if !errors.Is(r.Err, imagesearch.ErrUnsuited) {
			t.Errorf("query %d: error %v", i, r.Err)
		}
	}
	if s := e.Stats().Devices[0]; s.Busy <= 0 {
		t.Errorf("%+v: want the time of the batch", s)
	}
}

// If a launch fails, a query with an error of its own keeps it.
func TestOwnErrors(t *testing.T) {
	c := newCollection(t, 2000, 1, "")
	var faults cuda.Faults
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	queries := []*Query{c.query(t, false, 0), c.query(t, false, 11)}
	for _, q := range queries {
		q.Path = PathImages
	}
	run(t, v, queries[1:])                                            // uploads the list
	d.Probe().SetLimit(v.imageBytes(0, 0, &queries[0].Legs[0]) - 256) // sizes are multiples of 256
	faults.Fail("cuLaunchKernel", 1, cuda.LaunchOutOfResources)
	r := run(t, v, queries)
	if !errors.Is(r[0].Err, residency.ErrTooLarge) || !errors.Is(r[1].Err, cuda.ErrLaunch) {
		t.Errorf("errors %v and %v", r[0].Err, r[1].Err)
	}
}

// If a query has no room, it runs again. Until then, its uploads are counted apart, its
// lists are not pinned, and its hits are not counted. A query with an error leaves no pins either.
func TestGatherWithoutRoom(t *testing.T) {
	c := newCollection(t, 4000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 32 << 10}, HostMemory: HostMemory{None: true}, Lanes: 2})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	holder, l := d.lanes.take(nil, 1), d.lanes.take(nil, 1)
	defer func() { d.lanes.put(holder); d.lanes.put(l) }()
	gather := func(l *lane, results []Result, queries ...*Query) (int, error) {
		return l.gather(v, v.targets[0], queries, results)
	}
	holder.enter()
	if n, err := gather(holder, make([]Result, 1), c.query(t, false, 11, 10)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	defer holder.d.EndRun()
	free := c.leaveRoom(t, v, 9, 8)
	l.enter()
	defer l.d.EndRun()
	fits, no := c.query(t, false, 10, 8), c.query(t, false, 11, 9, 1)
	results := make([]Result, 3)
	n, err := gather(l, results, fits, no, fits)
	if n != 1 || !errors.Is(err, residency.ErrNoRoom) {
		t.Fatalf("%d queries, error %v", n, err)
	}
	if len(l.entries) != 2 || l.counts.Hit != 1 || l.counts.Asked.Image != 1 || l.counts.Missed != 2 || l.wasted != 1 {
		t.Errorf("%d pinned lists, %+v, %d wasted; want 2, a hit, 2 misses, 1", len(l.entries), l.counts.Counts, l.wasted)
	}
	if n := d.Probe().Users(); n != 5 {
		t.Errorf("%d pins, want 2, 2 of the holder and the filler's", n)
	}
	d.Probe().SetLimit(v.imageBytes(0, 0, &c.query(t, false, 0).Legs[0]) - 256) // sizes are multiples of 256
	n, err = gather(l, results, c.query(t, false, 11, 0), fits)
	if n != 2 || err != nil || !errors.Is(results[0].Err, residency.ErrTooLarge) || results[1].Err != nil {
		t.Errorf("%d queries, error %v, results %+v", n, err, results)
	}
	if len(l.entries) != 4 || l.first[1] >= 0 || l.first[2] != 2 {
		t.Errorf("%d pinned lists, queries start at %v", len(l.entries), l.first)
	}
	l.unpin(0)
	holder.unpin(0)
	free()
	if n := d.Probe().Users(); n != 0 {
		t.Errorf("%d pins", n)
	}
}

// leaveRoom fills the device's memory but for the images of words.
func (c *collection) leaveRoom(t *testing.T, v *View, words ...int) (free func()) {
	t.Helper()
	d := v.engine.devices[0]
	limit := d.Limit()
	used := limit - limit/8 - d.Room()
	room := int64(0)
	for _, word := range words {
		room += v.imageBytes(0, 0, &c.query(t, false, word).Legs[0])
	}
	if free = d.Probe().Fill(limit - used - room); free == nil {
		t.Fatalf("no room for the filler beside %d of %d bytes", used, limit)
	}
	return free
}
