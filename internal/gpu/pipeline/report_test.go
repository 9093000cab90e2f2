package pipeline

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// Each count of a lane reaches the trace. The counts of two runs are added.
func TestLaneReport(t *testing.T) {
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	l := &lane{d: e.devices[0]}
	c := &l.counts
	c.Hit, c.Missed, c.ListBytes, c.Uploading, c.Locked = 2, 3, 5, 7, 11
	c.Asked.File, c.Asked.Host, c.Asked.Device, c.Asked.Image = 13, 17, 19, 23
	c.inPlace, c.took, c.to, c.from = 29, 31, 37, 41
	c.kernels = []KernelTrace{{"one", 1}, {"two", 2}}
	trace := Trace{Devices: make([]DeviceTrace, 1)}
	l.report(nil, 0)
	l.report(&trace, 0)
	c.kernels = []KernelTrace{{"two", 3}, {"three", 4}}
	l.report(&trace, 0)
	want := DeviceTrace{
		Device: e.devices[0].Name(), Kernels: []KernelTrace{{"one", 1}, {"two", 5}, {"three", 4}},
		ListsHit: 4, ListsMissed: 6, ListBytes: 10, Bringing: 14, BytesLocked: 22,
		Forms:        FormStats{File: 26, Host: 34, Device: 38, Image: 46},
		BytesInPlace: 58, Took: 62 * time.Nanosecond, BytesTo: 74, BytesFrom: 82,
	}
	if !reflect.DeepEqual(trace.Devices[0], want) {
		t.Errorf("got %+v,\nwant %+v", trace.Devices[0], want)
	}
}

// A run of each path, and a step, reports its kernels and its reads from the device if it
// is traced.
func TestTraceOfPaths(t *testing.T) {
	c := newCollection(t, 600, 1, "")
	v := c.attach(t, open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1}))
	defer v.Release()
	one, other := c.query(t, false, 6, 3), c.query(t, false, 5, 2)
	run := func(path Path, queries ...*Query) func(*Trace) error {
		return func(trace *Trace) error {
			for _, q := range queries {
				q.Path = path
			}
			return v.Run(t.Context(), queries, make([]Result, len(queries)), nil, trace)
		}
	}
	and := c.query(t, true, 6, 3)
	for _, test := range []struct {
		name string
		run  func(*Trace) error
	}{
		{"images", run(PathImages, one)},
		{"batch of images", run(PathImages, one, other)},
		{"packed", run(PathPacked, one)},
		{"batch of packed", run(PathPacked, one, other)},
		{"step", func(trace *Trace) error {
			s := Step{Legs: and.Legs, NumTerms: 2, K: 10}
			if err := v.Intersect(t.Context(), &s, trace); err != nil {
				return err
			}
			return s.Result.Err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var trace Trace
			if err := test.run(&trace); err != nil {
				t.Fatal(err)
			}
			d := trace.Devices[0]
			if d.Device != "gpu0" || len(d.Kernels) == 0 || strings.Contains(test.name, "images") && d.BytesTo <= 0 || d.BytesFrom <= 0 || d.ListsHit+d.ListsMissed < 2 {
				t.Errorf("%+v: want a device, kernels, bytes and lists", d)
			}
			for _, k := range d.Kernels {
				if k.Name == "" || k.Launches < 1 {
					t.Errorf("kernel %+v", k)
				}
			}
			if err := test.run(nil); err != nil {
				t.Errorf("without a trace: %v", err)
			}
		})
	}
}

// A list that several queries share counts once, and an absent one not at all.
func TestFits(t *testing.T) {
	c := newCollection(t, 2000, 1, "")
	queries := []*Query{c.query(t, false, 6, 3, 99), c.query(t, false, 3, 99), c.query(t, true, 6, 3)}
	var size int64
	measure := c.attach(t, open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1}))
	defer measure.Release()
	for j := range 2 {
		size += measure.imageBytes(0, 0, &queries[0].Legs[j])
	}
	for bytes := size; ; bytes += 256 {
		v := c.attach(t, open(t, Options{Memory: Memory{Bytes: bytes}, Lanes: 1}))
		defer v.Release()
		limit := v.engine.devices[0].Limit()
		want := limit >= size
		if got := v.need(0, queries) <= limit; got != want {
			t.Errorf("lists of %d bytes fit into %d: %t", size, limit, got)
		}
		terms := queries[0].terms()
		room := v.engine.devices[0].Room()
		if got := v.imageRoom(0, &terms); got != (room >= size) {
			t.Errorf("there is room for %d bytes in %d: %t", size, room, got)
		}
		if room < size {
			continue
		}
		queries[0].Path = PathImages
		c.check(t, v, queries[0], nil)
		if !v.HasImages(queries[0]) || !v.imageRoom(0, &terms) {
			t.Error("images that are there need no room")
		}
		break
	}
}

// A batch that is too large for one launch has several, whose errors reach every query.
func TestSeveralLaunches(t *testing.T) {
	whole := maxBatch
	defer func() { maxBatch = whole }()
	c := newCollection(t, 600, 2, "")
	queries := c.queries(t)
	for _, q := range queries {
		q.Path = PathImages
	}
	for name, limit := range map[string]imagesearch.Limits{
		"queries": {Queries: 3, Terms: 1 << 10, Hits: 1 << 10},
		"terms":   {Queries: 1 << 5, Terms: 7, Hits: 1 << 10},
		"hits":    {Queries: 1 << 5, Terms: 1 << 10, Hits: 25},
	} {
		t.Run(name, func(t *testing.T) {
			maxBatch = limit
			var faults cuda.Faults
			v := c.attach(t, open(t, Options{Memory: Memory{Bytes: 4 << 20}, Lanes: 1, Faults: &faults}))
			defer v.Release()
			results := make([]Result, len(queries))
			before := v.engine.devices[0].launches.Load()
			if err := v.Run(t.Context(), queries, results, nil, nil); err != nil {
				t.Fatal(err)
			}
			for i, q := range queries {
				c.compare(t, q, &results[i])
			}
			launches := v.engine.devices[0].launches.Load() - before
			if launches < 2*int64(len(c.segments)) {
				t.Errorf("%d launches over %d segments", launches, len(c.segments))
			}
			faults.Fail("cuLaunchKernel", 1, cuda.LaunchOutOfResources)
			failed := make([]Result, len(queries))
			if err := v.Run(t.Context(), queries, failed, nil, nil); err != nil {
				t.Fatal(err)
			}
			n := 0
			for i, q := range queries {
				if failed[i].Err != nil {
					n++
				} else {
					c.compare(t, q, &failed[i])
				}
			}
			if n == 0 {
				t.Error("no query knows that a launch failed")
			}
		})
	}
}

// used opens an Engine, answers queries on all paths, and returns it before Close.
func used(t *testing.T, c *collection, faults *cuda.Faults) *Engine {
	t.Helper()
	e, err := Open(Options{Library: gputest.Library(t).Path(), Devices: Selection{Ordinals: []int{0}}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	v := c.attach(t, e)
	queries := c.queries(t)[:6]
	for _, path := range []Path{PathImages, PathPacked} {
		for _, q := range queries {
			q.Path = path
		}
		for _, some := range [][]*Query{queries[:1], queries} {
			results := make([]Result, len(some))
			if err := v.Run(t.Context(), some, results, nil, nil); err != nil {
				t.Fatal(err)
			}
			for i, q := range some {
				c.compare(t, q, &results[i])
			}
		}
	}
	v.WaitForPromotions()
	v.Release()
	return e
}

// What an Engine makes on the device, Close gives back, and reports the rest.
func TestCloseGivesBack(t *testing.T) {
	if gputest.OnGPU() {
		t.Skip("failed calls leave memory on the device")
	}
	c := newCollection(t, 300, 1, "")
	var faults cuda.Faults
	e := used(t, c, &faults)
	before := faults.Calls()
	closeEngine(t, e)
	calls := faults.Calls()
	for _, pair := range []string{
		"cuMemAlloc_v2 cuMemFree_v2", "cuMemHostAlloc cuMemFreeHost", "cuStreamCreate cuStreamDestroy_v2",
		"cuEventCreate cuEventDestroy_v2", "cuModuleLoadDataEx cuModuleUnload",
	} {
		made, freed, _ := strings.Cut(pair, " ")
		t.Run(freed, func(t *testing.T) {
			if calls[made] == 0 || calls[made] != calls[freed] {
				t.Errorf("%d calls of %s, %d of %s", calls[made], made, calls[freed], freed)
			}
			n := calls[freed] - before[freed]
			for nth := 1; nth <= n; nth += 1 + n/sampletest.UnderRace(12, 2) {
				var faults cuda.Faults
				e := used(t, c, &faults)
				faults.Fail(freed, nth, cuda.InvalidValue)
				if err := e.Close(); err == nil {
					t.Errorf("call %d of %d fails: Close returns nil", nth, n)
				}
			}
		})
	}
}
