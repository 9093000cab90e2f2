package pipeline

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/direct"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/score"
)

// A run that needs a list no more does not wait for it, and leaves others to wait.
func TestRunAwaits(t *testing.T) {
	s := testIndex(t, 65, 8)
	library := gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v := attach(t, e, s)
	defer v.Release()
	// The second device has document 64, which w0 is in, but not w2.
	q := testQuery(t, s, "w2", "w0")
	q.Conjunctive = true
	results := make([]Result, 1)
	if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil || results[0].Matches != 22 {
		t.Fatalf("error %v, %+v; want 22 matches", err, results[0])
	}
	for i, want := range []bool{true, false} {
		list := e.devices[i].cache.find(listKey{part: v.pieces[i][0].part.id, list: q.Legs[1].ID})
		if list == nil {
			t.Fatalf("GPU %d does not have w0", i)
		}
		if list.loaded.Load() != want {
			t.Errorf("GPU %d: w0 is taken for made: %t, want %t", i, !want, want)
		}
		list.unpin()
	}
}

// noOthers take all that is left to them, and so may be writing to its hits.
type noOthers struct{ left []int }

func (o *noOthers) Begin(_, left []int) { o.left = left }
func (*noOthers) Take(int) bool         { return false }

// Hits of a query that others have taken are theirs, though one of two devices has
// answered it.
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
	e.devices[1].limit[0].Store(0)
	theirs := base.Hit{DocID: 7, Score: 7}
	hits := []base.Hit{theirs}
	results := []Result{{Hits: hits}}
	q := testQuery(t, s, "w1")
	q.K = 1
	var o noOthers
	if err := v.Run(t.Context(), []*Query{q}, results, &o, nil); err != nil || results[0].Err == nil || len(o.left) != 1 {
		t.Fatalf("error %v, %+v, %v left; want one query left", err, results[0], o.left)
	}
	if hits[0] != theirs {
		t.Errorf("hits of others were overwritten: %v", hits)
	}
}

// Counts may be read while lists find no memory, and while the Engine is being closed.
func TestStatsMeanwhile(t *testing.T) {
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

// Lists that find no memory at first find it when there is some. Only calls of the driver
// count as its errors.
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
	for nth := range 8 { // main memory, the reserve, and so on, twice
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
	if err := run(v); !errors.Is(err, errTooLarge) || e.Stats().Devices[0].Errors != 0 {
		t.Errorf("a list that is too large: error %v, %+v; want no error of the driver", err, e.Stats())
	}
}

// A run whose context ends while all lanes are taken, by Warm for one, waits no longer.
func TestRunWaitsForALane(t *testing.T) {
	s := testIndex(t, 300, 6)
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	defer v.Release()
	l := <-e.devices[0].lanes
	const long = 3 * time.Minute
	late := time.AfterFunc(long, func() { e.devices[0].lanes <- l }) // so that a failure ends
	for _, tight := range []bool{false, true} {
		e.devices[0].tight.Store(tight)
		limit := e.devices[0].limit[0].Swap(1 << 10) // parts, if it is tight
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		results := make([]Result, 1)
		err := v.Run(ctx, []*Query{testQuery(t, s, "w0", "w1", "w2")}, results, nil, nil)
		if !errors.Is(err, context.DeadlineExceeded) || len(e.devices[0].lanes) > 0 {
			t.Errorf("tight %t: error %v; it waited until there was a lane: %t", tight, err, len(e.devices[0].lanes) > 0)
		}
		e.devices[0].limit[0].Store(limit)
	}
	if late.Stop() {
		e.devices[0].lanes <- l
	}
}

// For Warm, memory that the driver does not have is memory that is full: no error.
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

// With "auto" a GPU that does not open is left out; by its number, or with "gpu", it
// is an error.
func TestOpenSome(t *testing.T) {
	library := gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	open := func(s Selection) (int, error) {
		// The first device's first event cannot be made.
		var faults cuda.Faults
		faults.Fail("cuEventCreate", 1, cuda.OutOfMemory)
		e, err := Open(Options{Library: library.Path(), Devices: s, Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults})
		if err != nil {
			return 0, err
		}
		defer e.Close()
		if e.devices[0].name != "gpu1" {
			t.Errorf("%s: %s was opened, want gpu1", s, e.devices[0].name)
		}
		return len(e.devices), nil
	}
	if n, err := open(Selection{Auto: true}); n != 1 || err != nil {
		t.Errorf("auto: %d devices, error %v; want 1", n, err)
	}
	for _, s := range []Selection{{All: true}, {Ordinals: []int{0, 1}}} {
		if _, err := open(s); !errors.Is(err, cuda.ErrOutOfMemory) || !strings.Contains(err.Error(), "GPU 0") {
			t.Errorf("%s: error %v; want that of GPU 0", s, err)
		}
	}
}

// Lists of a query that turns out not to be one for package direct are counted once, as
// what is found when it goes by images.
func TestCountedOnce(t *testing.T) {
	c := newCollection(t, 2400, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	q := c.query(t, false, 3, 0)
	leg := &q.Legs[0]
	leg.Term = c.snapshot.Options.BM25.NewTerm(22, 4000, c.snapshot.Fields[0].AvgLen()) // scores may pass 32 bits
	leg.Scale = score.NewScale(leg.Term, 0, 0)
	q.Path = PathDirect
	var r [1]Result
	if err := v.Run(t.Context(), []*Query{q}, r[:], nil, nil); err != nil || !errors.Is(r[0].Err, direct.ErrUnsuited) {
		t.Fatal(err, r[0].Err)
	}
	if s := e.Stats().Devices[0]; s.Asked.File+s.Asked.Host+s.Asked.Device+s.Asked.Image != 2 || s.Hits+s.Misses != 2 {
		t.Errorf("asked for %+v, %d hits and %d misses; want 2 lists", s.Asked, s.Hits, s.Misses)
	}
}

// Runs for which others hold all memory wait for it as long as their contexts: both the one
// whose turn it is, and those behind it.
func TestRunWaitsForMemory(t *testing.T) {
	s := testIndex(t, 12_000, 4)
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 72 << 10}, Lanes: 3})
	defer v.Release()
	d := e.devices[0]
	d.tight.Store(true)
	holder := <-d.lanes
	holder.enter()
	defer holder.leave()
	if _, err := holder.gather(v, v.pieces[0], []*Query{testQuery(t, s, "w1", "w2", "w3")}, make([]Result, 1)); err != nil {
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
		d.holders.mu.Lock()
		defer d.holders.mu.Unlock()
		return d.holders.ended != nil
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("a run waits for memory though its context has ended")
	}
	if len(d.waiting) != 0 {
		t.Error("nobody waits, and nobody may")
	}
}
