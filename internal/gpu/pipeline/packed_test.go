package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/residency"
	"github.com/griffin-search/griffin/internal/sampletest"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func open(tb testing.TB, o Options) *Engine {
	tb.Helper()
	o.Library, o.Devices = gputest.Library(tb).Path(), Selection{Ordinals: []int{0}}
	e, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { closeEngine(tb, e) })
	return e
}

// Close reports leaked memory; the emulator reports invalid accesses of kernels.
func closeEngine(tb testing.TB, e *Engine) {
	tb.Helper()
	if err := e.Close(); err != nil {
		tb.Error(err)
	}
	if gputest.OnGPU() {
		return
	}
	if report := gputest.Report(tb); strings.HasPrefix(report, "kernel ") {
		tb.Errorf("the emulator reports: %s", report)
	}
}

func (c *collection) queries(tb testing.TB) []*Query {
	tb.Helper()
	var queries []*Query
	for _, words := range [][]int{{3}, {11}, {9, 2}, {5, 4}, {7, 3, 0}, {10, 8, 6, 4, 2, 0}, {1, 99}} {
		for _, conjunctive := range []bool{false, true} {
			queries = append(queries, c.query(tb, conjunctive, words...))
		}
	}
	return queries
}

// Every combination of list forms and memory limits agrees with the oracle.
func TestPaths(t *testing.T) {
	c := newCollection(t, 1000, 2, "")
	for name, o := range map[string]Options{
		"room":           {Memory: Memory{Bytes: 4 << 20}},
		"tight":          {Memory: Memory{Bytes: 4 << 10}},
		"nothing":        {Memory: Memory{Bytes: 512}},
		"no host memory": {Memory: Memory{Bytes: 24 << 10}, HostMemory: HostMemory{None: true}},
		"little of both": {Memory: Memory{Bytes: 4 << 10}, HostMemory: HostMemory{Memory: Memory{Bytes: 6 << 10}}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "little of both" {
				sampletest.SkipRace(t) // it makes the promotions of all cases
			}
			o.Lanes = 2
			e := open(t, o)
			v := c.attach(t, e)
			defer v.Release()
			for again := range 2 {
				for _, q := range c.queries(t) {
					for q.Path = range PathPacked + 1 {
						if again > 0 && q.Path == PathImages {
							continue
						}
						if name == "room" || q.Path == PathPacked {
							c.check(t, v, q, nil)
							continue
						}
						var r [1]Result // expects an error if there is no room
						if err := v.Run(t.Context(), []*Query{q}, r[:], nil, nil); err != nil {
							t.Fatal(err)
						}
						if r[0].Err == nil {
							c.compare(t, q, &r[0])
						} else if !errors.Is(r[0].Err, residency.ErrTooLarge) && !errors.Is(r[0].Err, residency.ErrNoRoom) {
							t.Error(r[0].Err)
						}
					}
				}
			}
			s := e.Stats().Devices[0]
			if s.Packed == 0 || s.Errors != 0 || s.SizeBytes > s.LimitBytes || s.Host.SizeBytes > s.Host.LimitBytes {
				t.Errorf("%+v: want packed runs without errors, within the memory limits", s)
			}
		})
	}
}

// The first run copies from the file, later ones read over the bus or on the device.
func TestPackedCounts(t *testing.T) {
	c := newCollection(t, 2000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 900}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	q := c.query(t, true, 8, 1)
	q.Path = PathPacked
	var traces [3]Trace
	for i := range traces {
		c.check(t, v, q, &traces[i])
	}
	first, last := traces[0].Devices[0], traces[2].Devices[0]
	size := q.Legs[0].SizeBytes() + q.Legs[1].SizeBytes()
	if first.Forms != (FormStats{File: 2}) || first.ListsMissed != 2 || first.BytesLocked < size || first.BytesInPlace == 0 || first.Bringing == 0 {
		t.Errorf("first run: %+v, want 2 lists from the file, %d bytes", first, size)
	}
	// The list of r8 fits on the device; of r1 only the directory fits.
	if last.Forms != (FormStats{Host: 1, Device: 1}) || last.ListsHit != 1 || last.BytesLocked != 0 || last.BytesInPlace == 0 || last.BytesInPlace > size {
		t.Errorf("last run: %+v, want one list on the device and one page-locked", last)
	}
	if !slices.Contains(last.Kernels, KernelTrace{"packedsearch_all", 1}) || last.Took <= 0 {
		t.Errorf("last run: %+v, want kernels with their time", last)
	}
	s := e.Stats().Devices[0]
	if s.Asked != (FormStats{File: 2, Host: 3, Device: 1}) && s.Asked != (FormStats{File: 2, Host: 2, Device: 2}) {
		t.Errorf("lists by form: %+v", s.Asked)
	}
	if s.Packed != 3 || s.Queries != 3 || s.Lists != 1 || s.Compressed != 1 || s.Directories != 1 || s.Host.Lists != 2 || s.Hits+s.Misses != 6 || s.BytesInPlace == 0 {
		t.Errorf("%+v: want 3 packed runs, one list and a directory on the device, two lists page-locked", s)
	}
	if d := e.Stats().Since(&Stats{Devices: []DeviceStats{s}}).Devices[0]; d.Packed != 0 || d.Asked != (FormStats{}) || d.Host.Filled != 0 || d.BytesInPlace != 0 || d.Host.Lists != 2 {
		t.Errorf("%+v since the last run, want no counts", d)
	}
}

// Promotion is retried each time the uses have doubled.
func TestPromote(t *testing.T) {
	c := newCollection(t, 600, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 300}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	free := d.Probe().Fill(256)
	if free == nil {
		t.Fatal("no room for the filler")
	}
	q := c.query(t, false, 3)
	q.Path = PathPacked
	shard := v.targets[0][0].shard
	results := make([]Result, 1)
	counts := map[int]uint32{1: 1, 2: 2, 3: 2, 4: 4, 15: 8, 16: 16, 32: 32, 63: 32, 64: 64, 95: 64, 96: 96}
	for run := 1; run <= 100; run++ {
		if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil {
			t.Fatal(err, results[0].Err)
		}
		v.WaitForPromotions()
		if want, ok := counts[run]; ok && d.Probe().Uses(shard, &q.Legs[0]) != want {
			t.Errorf("after %d runs: %d uses, want %d", run, d.Probe().Uses(shard, &q.Legs[0]), want)
		}
	}
	free()
	for range 40 {
		if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil {
			t.Fatal(err, results[0].Err)
		}
		v.WaitForPromotions()
	}
	if s := e.Stats().Devices[0]; s.Compressed != 1 || s.Evictions != 1 || s.Asked.Device == 0 {
		t.Errorf("%+v: want the list on the device and one eviction", s)
	}
}

func TestLocate(t *testing.T) {
	c := newCollection(t, 2000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	q := c.query(t, true, 9, 1)
	var size int64
	for i := range q.Legs {
		size += q.Legs[i].SizeBytes()
	}
	want := func(when string, forms, compressed [4]Form, image, host, file int64, path Path) {
		t.Helper()
		var l Located
		v.Locate(q, &l)
		if [4]Form(l.Forms) != forms || [4]Form(l.Compressed) != compressed || l.BytesImage != image || l.BytesHost != host || l.BytesFile != file || l.Path != path || !l.Packed {
			t.Errorf("%s: %+v,\nwant forms %v, %v, bytes %d, %d, %d, path %s", when, l, forms, compressed, image, host, file, path)
		}
		if got := v.HasImages(q); got != (image == 0) {
			t.Errorf("%s: HasImages = %v with %d bytes without images", when, got, image)
		}
	}
	leg := func(i int) *Leg { return &q.Legs[i] }
	shard := func(i int) *residency.Shard { return v.targets[0][i/2].shard }
	const file, host, device, image = FormFile, FormHost, FormDevice, FormImage
	want("at first", [4]Form{}, [4]Form{}, size, size, size, PathImages)
	limit := d.Probe().SetLimit(0)
	want("without room", [4]Form{}, [4]Form{}, size, size, size, PathPacked)
	d.Probe().SetLimit(limit)
	lane := d.lanes.take(nil, 1)
	for _, i := range []int{1, 2} {
		h, err := lane.uploader.Packed(shard(i), leg(i), &lane.counts.Counts)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Unpin()
		if i == 2 {
			if err := d.Probe().Promote(shard(i), leg(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s1, s2 := leg(1).SizeBytes(), leg(2).SizeBytes()
	want("page-locked", [4]Form{file, host, device, file}, [4]Form{file, host, device, file}, size, size-s2, size-s1-s2, PathImages)
	if _, err := lane.uploader.Warm(shard(3), &v.segments[1], leg(3), residency.UploadImage); err != nil {
		t.Fatal(err)
	}
	d.lanes.put(lane)
	want("an image", [4]Form{file, host, device, image}, [4]Form{file, host, device, file}, size-leg(3).SizeBytes(), size-s2, size-s1-s2, PathImages)
	c.check(t, v, q, nil)
	want("all images", [4]Form{image, image, image, image}, [4]Form{file, host, device, file}, 0, size-s2, size-s1-s2, PathImages)
	d.Probe().SetLimit(0)
	want("all images, no more room", [4]Form{image, image, image, image}, [4]Form{file, host, device, file}, 0, size-s2, size-s1-s2, PathImages)
	d.Probe().SetLimit(limit)
	var l Located
	v.Locate(q, &l)
	if n := gputest.AllocsPerRun(100, func() { v.Locate(q, &l); v.HasImages(q) }); n != 0 {
		t.Errorf("Locate and HasImages: %g allocations", n)
	}
	q.Path = PathPacked
	if v.Locate(q, &l); l.Path != PathPacked {
		t.Errorf("path %s, want packed", l.Path)
	}
	none := c.query(t, true, 99, 1)
	if v.Locate(none, &l); l.BytesImage != 0 || l.BytesHost != 0 || l.Forms[0] != image {
		t.Errorf("%+v: a conjunction with an unknown word reads bytes", l)
	}
	if !v.HasImages(none) {
		t.Error("HasImages = false for a conjunction with an unknown word")
	}
	d.Probe().Fail(errors.New("lost"))
	if v.Locate(q, &l); l.Packed || len(l.Forms) != 4 || v.HasImages(q) {
		t.Errorf("lost device: %+v, HasImages %v", l, v.HasImages(q))
	}
}

// Other codecs, and lists split between devices, use images; Intersect rejects them.
func TestNotPacked(t *testing.T) {
	check := func(t *testing.T, c *collection, e *Engine) {
		t.Helper()
		v := c.attach(t, e)
		defer v.Release()
		for _, q := range c.queries(t) {
			q.Path = PathPacked
			c.check(t, v, q, nil)
			var l Located
			if v.Locate(q, &l); l.Packed || l.Path != PathImages || v.HasImages(q) != (l.BytesImage == 0) {
				t.Errorf("%+v: want path images; HasImages %v", l, v.HasImages(q))
			}
		}
		q := c.query(t, true, 6, 3)
		s := Step{Legs: q.Legs, NumTerms: 2, K: 10}
		if err := v.Intersect(t.Context(), &s, nil); err != nil || !errors.Is(s.Result.Err, errNotPacked) {
			t.Errorf("Intersect: error %v, result %+v", err, s.Result)
		}
		for i, d := range e.Stats().Devices {
			if d.Packed != 0 || d.Queries == 0 {
				t.Errorf("GPU %d: %+v, want runs by images", i, d)
			}
		}
	}
	t.Run("codec", func(t *testing.T) {
		check(t, newCollection(t, 600, 1, "ef"), open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1}))
	})
	t.Run("devices", func(t *testing.T) {
		library := gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
		e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		check(t, newCollection(t, 600, 1, ""), e)
	})
}

// A batch has the answers, counts and trace of both paths.
func TestBatchOfPaths(t *testing.T) {
	c := newCollection(t, 1200, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 3})
	v := c.attach(t, e)
	defer v.Release()
	queries := c.queries(t)
	for i, q := range queries {
		q.Path = Path(i % 3)
	}
	results := make([]Result, len(queries))
	var trace Trace
	if err := v.Run(t.Context(), queries, results, nil, &trace); err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		c.compare(t, q, &results[i])
	}
	d := trace.Devices[0]
	if s := e.Stats().Devices[0]; s.Packed != int64(len(queries)/3) || s.Queries != int64(len(queries)) || d.Forms != s.Asked || d.Device != "gpu0" || d.BytesInPlace != s.BytesInPlace {
		t.Errorf("%+v, trace %+v: want a third of the queries packed", s, d)
	}
	var o testOthers
	o.query = 4
	s := subset{numbers: []int{7, 4, 1}}
	some := s.others(&o)
	some.Begin(0, []int{2, 0}, []int{1})
	if fmt.Sprint(o.order, o.left) != "[1 7] [4]" || some.Take(1) || !some.Take(0) {
		t.Errorf("Begin got %v and %v, or Take is wrong", o.order, o.left)
	}
}

// If the images of a batch exceed the memory several times, an AND reads compressed lists. If they exceed it
// many times, an OR does so too. Queries with resident images use these. The queries of both paths are offered
// to other processors.
func TestCrowdedBatch(t *testing.T) {
	c := newCollection(t, 2000, 2, "")
	for _, times := range []int64{crowdedAnd + 1, crowdedOr + 1} {
		e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 2})
		v := c.attach(t, e)
		defer v.Release()
		image := c.query(t, false, numWords-1) // the shortest list
		if r := run(t, v, []*Query{image}); r[0].Err != nil || !v.HasImages(image) {
			t.Fatalf("%v, image: %t", r[0].Err, v.HasImages(image))
		}
		queries := append(c.queries(t), image)
		d := e.devices[0]
		d.tight.Store(true)
		d.Probe().SetLimit(v.need(0, queries) / times)
		packed, paths := int64(0), make([]Path, len(queries))
		for i, q := range queries {
			if paths[i] = v.pathOn(0, q, v.crowd(0, queries)); paths[i] == PathPacked {
				packed++
			}
		}
		if packed == 0 || packed == int64(len(queries)) {
			t.Fatalf("%d times: paths %v", times, paths)
		}
		others := new(allOthers)
		results := make([]Result, len(queries))
		if err := v.Run(t.Context(), queries, results, others, nil); err != nil {
			t.Fatal(err)
		}
		for i, q := range queries {
			if !errors.Is(results[i].Err, residency.ErrTooLarge) {
				c.compare(t, q, &results[i])
			} else if paths[i] == PathPacked {
				t.Errorf("%d times: query %d: %v", times, i, results[i].Err)
			}
		}
		if n := e.Stats().Devices[0].Packed; n != packed {
			t.Errorf("%d times: %d of %d queries read compressed lists, want %d", times, n, len(queries), packed)
		}
		slices.Sort(others.offered)
		if once := slices.Compact(slices.Clone(others.offered)); len(once) != len(others.offered) || int64(len(once)) < packed || others.device != 0 {
			t.Errorf("%d times: offered: %v by %d", times, others.offered, others.device)
		}
	}
}

// allOthers take nothing.
type allOthers struct {
	mu      sync.Mutex
	offered []int
	device  int // the last one
}

func (o *allOthers) Begin(device int, order, left []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.device, o.offered = device, append(append(o.offered, order...), left...)
}

func (*allOthers) Take(int) bool { return true }

// Others may take queries of a packed batch.
func TestPackedBatch(t *testing.T) {
	c := newCollection(t, 600, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 4 << 10}, Lanes: 2})
	v := c.attach(t, e)
	defer v.Release()
	queries := c.queries(t)
	for _, q := range queries {
		q.Path = PathPacked
	}
	results := make([]Result, len(queries))
	others := &testOthers{query: 5}
	if err := v.Run(t.Context(), queries, results, others, nil); err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		if i == others.query {
			if !errors.Is(results[i].Err, errLeft) {
				t.Errorf("query %d: %+v, want it taken by others", i, results[i])
			}
			continue
		}
		c.compare(t, q, &results[i])
	}
	if len(others.order) != len(queries) || len(others.left) != 0 || !slices.IsSortedFunc(others.order, func(a, b int) int { return cost(queries[b]) - cost(queries[a]) }) {
		t.Errorf("order %v, left %v: want all queries, highest cost first", others.order, others.left)
	}
}

// Runs on all paths, with evictions, agree with the oracle and leave no pins.
func TestPackedConcurrent(t *testing.T) {
	c := newCollection(t, 2000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 4 << 10}, HostMemory: HostMemory{Memory: Memory{Bytes: 6 << 10}}, Lanes: 3})
	v := c.attach(t, e)
	queries := c.queries(t)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(11, uint64(worker)))
			for range 30 {
				own := *queries[rng.IntN(len(queries))]
				q := &own
				if q.Conjunctive && q.NumTerms > 1 && rng.IntN(2) == 0 {
					c.intersect(t, v, q, splitOf(rng, q.NumTerms), false)
					continue
				}
				q.Path = PathPacked
				results := make([]Result, 1)
				if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil {
					t.Error(err)
				}
				if r := &results[0]; r.Err == nil {
					c.compare(t, q, r)
				} else if !errors.Is(r.Err, residency.ErrNoRoom) && !errors.Is(r.Err, residency.ErrTooLarge) {
					t.Error(r.Err)
				}
			}
		})
	}
	wg.Wait()
	s := e.Stats().Devices[0]
	if s.Evictions == 0 || s.Host.Evictions == 0 || s.Errors != 0 || s.SizeBytes > s.LimitBytes || s.Host.SizeBytes > s.Host.LimitBytes {
		t.Errorf("%+v: want evictions, within the limits", s)
	}
	v.WaitForPromotions()
	v.Release() // checks that nothing is pinned
	if s := e.Stats().Devices[0]; s.Lists+s.Directories+s.Host.Lists != 0 || e.devices[0].Probe().Lists() != 0 {
		t.Errorf("%+v: want no lists", s)
	}
}

// With resident lists, neither Go nor device memory is allocated.
func TestPackedDoesNotAllocate(t *testing.T) {
	c := newCollection(t, 1500, 2, "")
	var faults cuda.Faults
	e := open(t, Options{Memory: Memory{Bytes: 1200}, Lanes: 1, Faults: &faults})
	v := c.attach(t, e)
	defer v.Release()
	q := c.query(t, true, 7, 2, 0)
	q.Path = PathPacked
	or := c.query(t, false, 7, 2, 0)
	or.Path = PathPacked
	asked, results := []*Query{q}, make([]Result, 1)
	first, second := Step{Legs: q.Legs, NumTerms: 3, First: 0, End: 2}, Step{Legs: q.Legs, NumTerms: 3, First: 2, End: 3, K: 10}
	run := func() {
		for _, one := range []*Query{q, or} {
			asked[0] = one
			if err := v.Run(t.Context(), asked, results, nil, nil); err != nil || results[0].Err != nil {
				t.Fatal(err, results[0].Err)
			}
		}
		for _, s := range []*Step{&first, &second} {
			if err := v.Intersect(t.Context(), s, nil); err != nil || s.Result.Err != nil {
				t.Fatal(err, s.Result.Err)
			}
			second.From = &first.Out
		}
	}
	for range 3 {
		run()
	}
	before := faults.Calls()
	if n := gputest.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%g allocations", n)
	}
	for call, n := range faults.Calls() {
		if n != before[call] && (call == "cuMemAlloc_v2" || call == "cuMemHostAlloc" || call == "cuMemFree_v2" || call == "cuEventCreate") {
			t.Errorf("%s was called %d times", call, n-before[call])
		}
	}
}

// Runs and steps have the answer or an error, later runs succeed, and no memory leaks.
func TestPackedFaults(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	q := c.query(t, true, 5, 2, 0)
	or := c.query(t, false, 5, 2, 0)
	run := func(t *testing.T, faults *cuda.Faults, begin, end func()) (errs int) {
		t.Helper()
		e, err := Open(Options{Library: gputest.Library(t).Path(), Devices: Selection{Ordinals: []int{0}}, Memory: Memory{Bytes: 1200}, Lanes: 1, Faults: faults})
		if err != nil {
			t.Fatal(err)
		}
		defer closeEngine(t, e)
		v, err := e.Attach(c.segments)
		if err != nil {
			t.Fatal(err)
		}
		begin()
		for range 2 {
			for _, one := range []*Query{q, or} {
				one.Path = PathPacked
				results := make([]Result, 1)
				if err := v.Run(t.Context(), []*Query{one}, results, nil, &Trace{}); err != nil {
					t.Fatal(err)
				}
				if results[0].Err != nil {
					errs++
				} else {
					c.compare(t, one, &results[0])
				}
				v.WaitForPromotions()
			}
			errs += c.intersect(t, v, q, []int{1, 2, 3}, true)
			v.WaitForPromotions()
		}
		end()
		v.Release()
		if s := e.Stats().Devices[0]; s.Lists+s.Directories+s.Host.Lists != 0 {
			t.Errorf("%+v: want no lists", s)
		}
		return errs
	}
	var counting cuda.Faults
	var before, calls map[string]int
	if n := run(t, &counting, func() { before = counting.Calls() }, func() { calls = counting.Calls() }); n != 0 {
		t.Fatalf("%d errors without faults", n)
	}
	failed := 0
	for call, n := range calls {
		for nth := before[call] + 1; nth <= n; nth += 1 + n/sampletest.UnderRace(8, 3) {
			var faults cuda.Faults
			failed += run(t, &faults, func() { faults.Fail(call, nth-before[call], cuda.OutOfMemory) }, func() {})
			if t.Failed() {
				t.Fatalf("with failing call %d of %s", nth, call)
			}
		}
	}
	if failed == 0 {
		t.Error("no fault caused an error")
	}
	for nth := range 3 { // the device is lost, and all later runs fail
		var faults cuda.Faults
		if n := run(t, &faults, func() { faults.Fail("cuLaunchKernel", nth+1, cuda.LaunchFailed) }, func() {}); n < 6-nth {
			t.Errorf("device lost at launch %d: %d of 6 runs failed", nth+1, n)
		}
	}
}
