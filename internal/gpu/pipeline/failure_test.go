package pipeline

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
	"github.com/griffin-search/griffin/internal/score"
)

// A conjunction without a match on one device does not wait for the upload there; the list
// stays unloaded.
func TestRunSkipsUnneededWait(t *testing.T) {
	s := testIndex(t, 65, 8)
	library := gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v := attach(t, e, s)
	defer v.Release()
	// The second device has only document 64, with w0 and without w2.
	q := testQuery(t, s, "w2", "w0")
	q.Conjunctive = true
	results := make([]Result, 1)
	if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil || results[0].Matches != 22 {
		t.Fatalf("error %v, %+v; want 22 matches", err, results[0])
	}
	for i, want := range []bool{true, false} {
		loaded, ok := e.devices[i].Probe().Loaded(v.targets[i][0].shard, &q.Legs[1])
		if !ok {
			t.Fatalf("GPU %d: no image of w0", i)
		}
		if loaded != want {
			t.Errorf("GPU %d: w0 loaded = %t, want %t", i, loaded, want)
		}
	}
}

// noOthers claim all queries and may be writing to their hits.
type noOthers struct{ left []int }

func (o *noOthers) Begin(_ int, _, left []int) { o.left = left }
func (*noOthers) Take(int) bool                { return false }

// Others may be writing to the hits of their queries, even if one of two devices has answered
// them.
func TestRunLeavesHits(t *testing.T) {
	s := testIndex(t, 300, 6)
	library := gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v := attach(t, e, s)
	defer v.Release()
	e.devices[1].tight.Store(true)
	e.devices[1].Probe().SetLimit(0)
	theirs := base.Hit{DocID: 7, Score: 7}
	hits := []base.Hit{theirs}
	results := []Result{{Hits: hits}}
	q := testQuery(t, s, "w1")
	q.K = 1
	var o noOthers
	if err := v.Run(t.Context(), []*Query{q}, results, &o, nil); err != nil || results[0].Err == nil || len(o.left) != 1 {
		t.Fatalf("error %v, %+v, %v left; want one query in left", err, results[0], o.left)
	}
	if hits[0] != theirs {
		t.Errorf("hits of a query taken by others were overwritten: %v", hits)
	}
}

func TestStatsConcurrent(t *testing.T) {
	s := testIndex(t, 300, 6)
	var faults cuda.Faults
	e, err := Open(Options{
		Library: gputest.Library(t).Path(), Devices: Selection{Ordinals: []int{0}}, Memory: Memory{Bytes: 1 << 20}, Lanes: 2, Faults: &faults,
	})
	if err != nil {
		t.Fatal(err)
	}
	v := attach(t, e, s)
	faults.Fail("cuMemAlloc_v2", 0, cuda.OutOfMemory)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = e.Stats()
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			results := make([]Result, 1)
			if err := v.Run(t.Context(), []*Query{testQuery(t, s, "w1", "w2")}, results, nil, nil); err != nil || results[0].Err == nil {
				t.Errorf("without memory: error %v, %+v", err, results[0])
			}
		})
	}
	for e.Stats().Devices[0].Errors == 0 {
		runtime.Gosched()
	}
	time.AfterFunc(20*time.Millisecond, func() { close(stop) })
	wg.Wait()
	v.Release()
	wg.Go(func() { _ = e.Stats() })
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// A run succeeds after memory becomes available; only driver errors are counted.
func TestRunErrors(t *testing.T) {
	s := testIndex(t, 300, 6)
	run := func(v *View) error {
		results := make([]Result, 1)
		q := testQuery(t, s, "w1")
		q.Path = PathImages
		if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil {
			t.Fatal(err)
		}
		return results[0].Err
	}
	var faults cuda.Faults
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults})
	defer v.Release()
	last := faults.Calls()["cuMemAlloc_v2"]
	for nth := range 8 { // main memory, reserve, and so on, twice
		faults.Fail("cuMemAlloc_v2", nth+1, cuda.OutOfMemory)
	}
	if err := run(v); err == nil || e.Stats().Devices[0].Errors == 0 || faults.Calls()["cuMemAlloc_v2"] == last {
		t.Errorf("without memory: error %v, %+v", err, e.Stats())
	}
	for faults.Calls()["cuMemAlloc_v2"] < last+8 {
		_ = run(v)
	}
	if err := run(v); err != nil {
		t.Errorf("with memory: error %v, %+v", err, e.Stats())
	}
	e, v = attached(t, s, Options{Memory: Memory{Bytes: 300}, Lanes: 1})
	defer v.Release()
	if err := run(v); !errors.Is(err, residency.ErrTooLarge) || e.Stats().Devices[0].Errors != 0 {
		t.Errorf("list larger than memory: error %v, %+v; want no driver error", err, e.Stats())
	}
}

func TestRunStopsWaitingForLane(t *testing.T) {
	s := testIndex(t, 300, 6)
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	defer v.Release()
	l := e.devices[0].lanes.take(nil, 1)
	const long = 3 * time.Minute
	late := time.AfterFunc(long, func() { e.devices[0].lanes.put(l) }) // ends the test on failure
	for _, tight := range []bool{false, true} {
		for _, path := range []Path{PathImages, PathPacked} {
			e.devices[0].tight.Store(tight)
			limit := e.devices[0].Probe().SetLimit(1 << 10) // forces slices if tight
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			q := testQuery(t, s, "w0", "w1", "w2")
			q.Path = path
			err := v.Run(ctx, []*Query{q}, make([]Result, 1), nil, nil)
			if !errors.Is(err, context.DeadlineExceeded) || e.devices[0].lanes.count() > 0 {
				t.Errorf("tight %t, %s: error %v; waited for the lane: %t", tight, path, err, e.devices[0].lanes.count() > 0)
			}
			e.devices[0].Probe().SetLimit(limit)
		}
	}
	if late.Stop() {
		e.devices[0].lanes.put(l)
	}
}

// A failed allocation is full memory, not an error.
func TestWarmWithoutMemory(t *testing.T) {
	s := testIndex(t, 300, 6)
	var faults cuda.Faults
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults})
	defer v.Release()
	faults.Fail("cuMemAlloc_v2", 2, cuda.OutOfMemory) // the first is for lists
	lists, total, err := v.Warm(t.Context(), WarmOptions{})
	if err != nil || lists != total-1 || e.Stats().Devices[0].Errors != 1 {
		t.Errorf("%d of %d lists, error %v, %+v; want all but one", lists, total, err, e.Stats())
	}
}

// Selection.Auto omits a GPU that fails to open; others return the error.
func TestOpenSome(t *testing.T) {
	library := gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	open := func(s Selection) (int, error) {
		// The first device's first event fails.
		var faults cuda.Faults
		faults.Fail("cuEventCreate", 1, cuda.OutOfMemory)
		e, err := Open(Options{Library: library.Path(), Devices: s, Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults})
		if err != nil {
			return 0, err
		}
		defer e.Close()
		if e.devices[0].Name() != "gpu1" {
			t.Errorf("%+v: opened %s, want gpu1", s, e.devices[0].Name())
		}
		return len(e.devices), nil
	}
	if n, err := open(Selection{Auto: true}); n != 1 || err != nil {
		t.Errorf("auto: %d devices, error %v; want 1", n, err)
	}
	for _, s := range []Selection{{All: true}, {Ordinals: []int{0, 1}}} {
		if _, err := open(s); !errors.Is(err, cuda.ErrOutOfMemory) || !strings.Contains(err.Error(), "GPU 0") {
			t.Errorf("%+v: error %v; want an error of GPU 0", s, err)
		}
	}
}

// The query falls back from packedsearch to images.
func TestCountedOnce(t *testing.T) {
	c := newCollection(t, 2400, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	q := c.query(t, false, 3, 0)
	leg := &q.Legs[0]
	leg.Term = c.snapshot.Options.BM25.NewTerm(22, 4000, c.snapshot.Fields[0].AvgLen()) // scores may exceed 32 bits
	leg.Scale = score.NewScale(leg.Term, 0, 0)
	q.Path = PathPacked
	var r [1]Result
	if err := v.Run(t.Context(), []*Query{q}, r[:], nil, nil); err != nil || !errors.Is(r[0].Err, packedsearch.ErrUnsuited) {
		t.Fatal(err, r[0].Err)
	}
	if s := e.Stats().Devices[0]; s.Asked.File+s.Asked.Host+s.Asked.Device+s.Asked.Image != 2 || s.Hits+s.Misses != 2 {
		t.Errorf("lists %+v, %d hits and %d misses; want 2 lists", s.Asked, s.Hits, s.Misses)
	}
}

// A run whose context ends stops, also while it waits for its turn to wait for memory.
func TestRunWaitsForMemory(t *testing.T) {
	s := testIndex(t, 12_000, 4)
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 72 << 10}, Lanes: 3})
	defer v.Release()
	d := e.devices[0]
	d.tight.Store(true)
	holder := d.lanes.take(nil, 1)
	holder.enter()
	defer holder.leave()
	if _, err := holder.gather(v, v.targets[0], []*Query{testQuery(t, s, "w1", "w2", "w3")}, make([]Result, 1)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		wg.Go(func() {
			q := testQuery(t, s, "w0")
			q.Path = PathImages
			if err := v.Run(ctx, []*Query{q}, make([]Result, 1), nil, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	}
	waits := func() bool {
		_, waited := d.Probe().Holders()
		return waited
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(3 * time.Minute):
		t.Fatal("a run waits for memory although its context has ended")
	}
	if len(d.waiting) != 0 {
		t.Error("the turn to wait for memory was not returned")
	}
}
