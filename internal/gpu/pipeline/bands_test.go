package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/residency"
)

// bandQueriesOf returns queries without counts, of one to all words, also of words in no document.
func (c *collection) bandQueriesOf(tb testing.TB, rng *rand.Rand, n int) []*Query {
	tb.Helper()
	queries := make([]*Query, n)
	for i := range queries {
		words := rng.Perm(numWords + 1)[:1+rng.IntN(numWords)]
		if rng.IntN(2) == 0 {
			words = words[:min(len(words), 3)]
		}
		q := c.query(tb, rng.IntN(3) == 0, words...)
		q.K, q.Count, q.Path = []int{1, 10, 10, 100, 1000}[rng.IntN(5)], false, PathBands
		queries[i] = q
	}
	return queries
}

func (c *collection) compareAll(tb testing.TB, queries []*Query, results []Result) {
	tb.Helper()
	for i, q := range queries {
		c.compare(tb, q, &results[i])
	}
}

// Batches by bands equal the oracle, beside other paths and in any number at the same time.
func TestBands(t *testing.T) {
	c := newCollection(t, 50_000, 2, "")
	for name, o := range map[string]Options{
		"a band per segment": {Memory: Memory{Bytes: 8 << 20}},
		"a unit per band":    {Memory: Memory{Bytes: 1400 << 10}},
		"no host memory":     {Memory: Memory{Bytes: 4 << 20}, HostMemory: HostMemory{None: true}},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, o)
			v := c.attach(t, e)
			defer v.Release()
			rng := rand.New(rand.NewPCG(1, uint64(o.Memory.Bytes)))
			var group sync.WaitGroup
			for range 3 {
				queries := c.bandQueriesOf(t, rng, 12)
				queries[3].Count, queries[5].Path, queries[7].Path = true, PathPacked, PathImages
				queries[9].Filters = c.filters(rng)
				group.Go(func() {
					for range 2 {
						results, trace := make([]Result, len(queries)), new(Trace)
						if err := v.Run(t.Context(), queries, results, nil, trace); err != nil {
							t.Error(err)
							return
						}
						for i, q := range queries {
							if results[i].Err == nil || i != 7 { // images may find no room
								c.compare(t, q, &results[i])
							}
						}
						if !slices.ContainsFunc(trace.Devices[0].Kernels, func(k KernelTrace) bool { return k.Name == "imagesearch_band_search" }) {
							t.Errorf("%+v: want a search of bands", trace.Devices[0])
						}
					}
				})
			}
			group.Wait()
			s := e.Stats().Devices[0]
			if s.Errors != 0 || s.SizeBytes > s.LimitBytes || s.Queries == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A crowd whose images exceed the memory several times goes by bands by itself; AND queries only beside other crowds.
func TestCrowdGoesByBands(t *testing.T) {
	c := newCollection(t, 20_000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 256 << 10}})
	v := c.attach(t, e)
	defer v.Release()
	e.devices[0].tight.Store(true)
	e.devices[0].Probe().SetLimit(32 << 10)
	queries := make([]*Query, bandQueries)
	for i := range queries {
		queries[i] = c.query(t, i%8 == 0, i%numWords, (i+1)%numWords)
		queries[i].Count = false
	}
	crowd := v.crowd(0, queries)
	t.Logf("%+v", crowd)
	for _, crowd.together = range []int{1, bandCrowds - 1, bandCrowds} {
		for i, q := range queries {
			if path := v.pathOn(0, q, crowd); (path == PathBands) != (!q.Conjunctive || crowd.together >= bandCrowds) {
				t.Fatalf("query %d, conjunctive %t, %d crowds: %s", i, q.Conjunctive, crowd.together, path)
			}
		}
	}
	if path := v.pathOn(0, queries[1], v.crowd(0, queries[:bandQueries-1])); path == PathBands {
		t.Errorf("a small batch goes by bands")
	}
	results := make([]Result, len(queries))
	if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		if !errors.Is(results[i].Err, residency.ErrTooLarge) { // images answer, since no band has room
			c.compare(t, q, &results[i])
		}
	}
	if n := e.devices[0].passes.crowds.running; n != 0 {
		t.Errorf("%d crowds are running", n)
	}
}

// Without memory for the smallest band, images answer.
func TestBandsWithoutRoom(t *testing.T) {
	c := newCollection(t, 20_000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 64 << 10}})
	v := c.attach(t, e)
	defer v.Release()
	queries := []*Query{c.query(t, false, 11), c.query(t, false, 0, 1, 2, 3, 4)}
	for _, q := range queries {
		q.Path, q.Count = PathBands, false
	}
	results := make([]Result, len(queries))
	if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
		t.Fatal(err)
	}
	c.compare(t, queries[0], &results[0])
	if results[1].Err == nil {
		t.Errorf("a query whose images do not fit was answered")
	}
}

// A run that is cancelled returns, also while it waits for a pass, and the next one is answered.
func TestBandsCancelled(t *testing.T) {
	c := newCollection(t, 20_000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 8 << 20}})
	v := c.attach(t, e)
	defer v.Release()
	rng := rand.New(rand.NewPCG(2, 2))
	queries := c.bandQueriesOf(t, rng, 6)
	d := e.devices[0]
	d.passes.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- v.Run(ctx, queries, make([]Result, len(queries)), nil, nil) }()
	for waiting := 0; waiting == 0; {
		d.passes.mu.Lock()
		waiting = len(d.passes.waiting)
		d.passes.mu.Unlock()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := len(d.passes.waiting); n != 0 {
		t.Errorf("%d runs wait", n)
	}
	<-d.passes.turn
	results := make([]Result, len(queries))
	if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
		t.Fatal(err)
	}
	c.compareAll(t, queries, results)
}

// Waiting runs share a pass. A leader waits a short time until the number of queries reaches the number in the
// last pass.
func TestBandsTogether(t *testing.T) {
	c := newCollection(t, 20_000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 8 << 20}})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	rng := rand.New(rand.NewPCG(3, 3))
	const runs = 4
	d.passes.expected, d.passes.took = runs*6, time.Minute // the longest wait
	var group sync.WaitGroup
	for range runs {
		queries := c.bandQueriesOf(t, rng, 6)
		group.Go(func() {
			results := make([]Result, len(queries))
			if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
				t.Error(err)
				return
			}
			c.compareAll(t, queries, results)
		})
	}
	group.Wait()
	s := e.Stats().Devices[0].Passes
	if s.Queries < runs*6/2 || s.Queries > runs*6 || s.Passes > 2 || d.passes.expected > runs*6 || len(d.passes.waiting) != 0 {
		t.Errorf("%+v, %d queries expected, %d requests wait; want most of %d queries in one pass, or two on a slow machine", s, d.passes.expected, len(d.passes.waiting), runs*6)
	}
	if s.Bands == 0 || s.Lists == 0 || s.Blocks == 0 || s.ListBytes == 0 || s.Took <= 0 || s.Filling <= 0 || s.Searching <= 0 || s.Planning <= 0 {
		t.Errorf("%+v: want all counts", s)
	}
	if none := e.Stats().Since(&Stats{Devices: []DeviceStats{e.Stats().Devices[0]}}).Devices[0].Passes; none != (PassStats{}) {
		t.Errorf("%+v since now", none)
	}
}

// A leader waits for the queries of the last pass, and for the queries that arrived while it ran, up to the room of a
// pass.
func TestBandsExpected(t *testing.T) {
	view, other := new(View), new(View)
	of := func(v *View, sizes ...int) (requests []*passRequest) {
		for _, n := range sizes {
			requests = append(requests, &passRequest{view: v, queries: make([]*Query, n)})
		}
		return requests
	}
	for _, c := range []struct {
		pass, waiting []*passRequest
		want          int
	}{
		{of(view, 1000), nil, 1000},
		{of(view, 1000, 500, 1000), of(view, 300), 2800},
		{of(view, 1000), append(of(other, 700), of(view, 20, 1)...), 1021},
		{of(view, 4000, 4000), of(view, 4000), passQueries - 4000},
		{of(view, passQueries), of(view, 1), 0},
	} {
		p := passes{waiting: c.waiting}
		if p.expect(c.pass); p.expected != c.want {
			t.Errorf("%d requests in the pass, %d wait: %d queries expected, want %d", len(c.pass), len(c.waiting), p.expected, c.want)
		}
	}
}

// Errors of the device never reach a user: all queries have an error, for the CPU. A device without memory is used again, a lost
// one is not.
func TestBandsFail(t *testing.T) {
	c := newCollection(t, 20_000, 1, "")
	var faults cuda.Faults
	e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, Faults: &faults})
	v := c.attach(t, e)
	defer v.Release()
	queries := c.bandQueriesOf(t, rand.New(rand.NewPCG(4, 4)), 5)
	results := make([]Result, len(queries))
	for _, test := range []struct {
		call string
		nth  int
		code cuda.Code
	}{
		{"cuMemAlloc_v2", 1, cuda.OutOfMemory},
		{"cuLaunchKernel", 1, cuda.OutOfMemory},
		{"cuLaunchKernel", 2, cuda.OutOfMemory},
		{"cuStreamWaitEvent", 1, cuda.OutOfMemory},
		{"cuLaunchKernel", 2, cuda.LaunchFailed},
	} {
		faults.Fail(test.call, test.nth, test.code)
		if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
			t.Fatal(err)
		}
		for i, q := range queries {
			switch {
			case results[i].Err == nil && test.call == "cuMemAlloc_v2": // images have room
				c.compare(t, q, &results[i])
			case results[i].Err == nil:
				t.Errorf("%+v: query %d has no error", test, i)
			}
		}
		if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
			t.Fatal(err)
		}
		if lost := e.Lost() != nil; lost != (test.code == cuda.LaunchFailed) {
			t.Fatalf("%+v: lost %t", test, lost)
		} else if !lost {
			c.compareAll(t, queries, results)
		}
	}
}
