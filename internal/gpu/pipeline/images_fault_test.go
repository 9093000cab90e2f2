package pipeline

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Runs have the answer or a counted error, later runs succeed, and no memory leaks.
func TestImageFaults(t *testing.T) {
	c := newCollection(t, 500, 2, "")
	rng := rand.New(rand.NewPCG(4, 1))
	var queries []*Query
	for i := range fewQueries + 2 {
		q := c.query(t, i%2 == 0, i+1, i)
		q.Path = PathImages
		switch i % 3 {
		case 1:
			q.Filters = c.filters(rng)
		case 2:
			q.Filters = c.ranges(t, i)
		}
		queries = append(queries, q)
	}
	var faults cuda.Faults
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Lanes: 1, Faults: &faults})
	run := func(trace *Trace) (errs int) {
		t.Helper()
		v, err := e.Attach(c.segments)
		if err != nil {
			return 1
		}
		defer v.Release()
		for _, batch := range [][]*Query{queries[:1], queries, queries[1:3]} {
			results := make([]Result, len(batch))
			if err := v.Run(t.Context(), batch, results, nil, trace); err != nil {
				t.Fatal(err)
			}
			for i, q := range batch {
				if results[i].Err != nil {
					errs++
					continue
				}
				c.compare(t, q, &results[i])
			}
		}
		return errs
	}
	for _, trace := range []*Trace{nil, {}} {
		d := e.devices[0]
		d.tight.Store(trace != nil) // in slices
		for range 2 {
			if n := run(trace); n != 0 {
				t.Fatalf("%d errors without faults", n)
			}
		}
		before := faults.Calls()
		run(trace)
		for call, n := range faults.Calls() {
			made := n - before[call]
			for nth := 1; nth <= made; nth += 1 + made/2 {
				counted, called := e.Stats().Devices[0].Errors, faults.Calls()[call]
				faults.Fail(call, nth, cuda.InvalidValue)
				errs := 0
				for runs := 0; faults.Calls()[call] < called+nth && runs < 20; runs++ { // some calls are a matter of time
					errs += run(trace)
				}
				if faults.Calls()[call] < called+nth {
					t.Fatalf("%d calls of %s are not made any more", nth, call)
				}
				if e.Stats().Devices[0].Errors == counted && call != "cuMemGetInfo_v2" {
					t.Errorf("call %d of %s fails: no error was counted", nth, call)
				}
				if errs == 0 && !strings.Contains(call, "Free") && !strings.Contains(call, "Info") && !strings.Contains(call, "Query") && !strings.Contains(call, "Sync") {
					t.Errorf("call %d of %s fails: no query has an error", nth, call)
				}
				checkIdle(t, e)
				if n := run(trace); n != 0 {
					t.Errorf("after call %d of %s failed: %d errors", nth, call, n)
				}
			}
		}
		if s := e.Stats().Devices[0]; s.Lists+s.SizeBytes != 0 {
			t.Errorf("%+v: want no lists", s)
		}
	}
}

// Nothing leaks; Close releases everything.
func TestOpenFaults(t *testing.T) {
	library := gputest.Library(t)
	open := func(faults *cuda.Faults) error {
		e, err := Open(Options{Library: library.Path(), Devices: Selection{Ordinals: []int{0}}, Memory: Memory{Bytes: 1 << 20}, Lanes: 2, Faults: faults})
		if err != nil {
			return err
		}
		return e.Close()
	}
	counting := new(cuda.Faults)
	if err := open(counting); err != nil {
		t.Fatal(err)
	}
	calls := counting.Calls()
	pairs := map[string]string{
		"cuStreamCreate": "cuStreamDestroy_v2", "cuEventCreate": "cuEventDestroy_v2", "cuModuleLoadDataEx": "cuModuleUnload",
		"cuMemAlloc_v2": "cuMemFree_v2", "cuMemHostAlloc": "cuMemFreeHost",
	}
	var releases []string
	for made, released := range pairs {
		releases = append(releases, released)
		if calls[made] == 0 || calls[made] != calls[released] {
			t.Errorf("%d calls of %s, %d of %s: %v", calls[made], made, calls[released], released, calls)
		}
	}
	failed := 0
	for call, n := range calls {
		for nth := 1; nth <= n; nth += 1 + n/6 {
			faults := new(cuda.Faults)
			faults.Fail(call, nth, cuda.OutOfMemory)
			err := open(faults)
			var e *cuda.Error
			if errors.As(err, &e) {
				failed++
			} else if err != nil || slices.Contains(releases, call) { // Close returns its errors
				t.Errorf("call %d of %s fails: error %v", nth, call, err)
			}
		}
	}
	if failed < 20 {
		t.Errorf("%d failing calls had an error, of %v", failed, calls)
	}
}
