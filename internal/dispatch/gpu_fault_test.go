package dispatch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

type faultWork struct {
	snapshot *index.Snapshot
	queries  []query.Node
	want     [][]base.Hit
}

// excluding excludes some documents of a query.
func excluding(rng *rand.Rand, q query.Node) query.Node {
	return &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: q}, {Occur: query.MustNot, Node: &query.Term{Text: plantest.RandomWord(rng)}}}}
}

func newFaultWork(t testing.TB) *faultWork {
	rng := rand.New(rand.NewPCG(21, 1))
	w := &faultWork{snapshot: indextest.Snapshot(t, plantest.RandomIndex(t, rng, 150, 2, true))}
	s, sc := NewSearcher(w.snapshot, nil), testScratch(t, "whitespace")
	for i := range 4 {
		q := plantest.Words(rng, 2)
		if i%2 == 1 {
			q = excluding(rng, q)
		}
		w.queries = append(w.queries, q)
		w.want = append(w.want, answer(t, s, sc, q, Options{K: 10}).Hits)
	}
	return w
}

// run asks the queries of a GPU whose driver has faults and compares the answers. It returns
// the counts of the GPU and of driver calls; opened is false if the GPU gave an error.
func (w *faultWork) run(t *testing.T, faults *cuda.Faults) (stats GPUStats, calls map[string]int, opened bool) {
	t.Helper()
	e, err := pipeline.Open(pipeline.Options{
		Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: 1 << 20}, Lanes: 1, Faults: faults,
	})
	if err != nil {
		if !strings.Contains(err.Error(), "cu") {
			t.Errorf("the error of opening names no call of the driver: %v", err)
		}
		return stats, nil, false
	}
	g := NewGPU(e)
	s, sc := NewSearcher(w.snapshot, nil), testScratch(t, "whitespace")
	s.Use(withoutPool(g))
	plans, answers := make([]*Query, len(w.queries)), make([]plan.Answer, len(w.queries))
	for i, q := range w.queries {
		if plans[i], err = s.Prepare(sc, q, Options{K: 10}); err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			a, err := plans[i].Run(t.Context(), sc, nil)
			if err != nil || !slices.Equal(a.Hits, w.want[i]) {
				t.Fatalf("%s: error %v, hits %v, want %v", q, err, a.Hits, w.want[i])
			}
		}
	}
	if err := s.dispatcher.SearchPrepared(t.Context(), plans, new(BatchScratch), answers); err != nil {
		t.Fatal(err)
	}
	for i := range answers {
		if !slices.Equal(answers[i].Hits, w.want[i]) {
			t.Fatalf("%s in a batch: hits %v, want %v", w.queries[i], answers[i].Hits, w.want[i])
		}
	}
	stats, calls = g.Stats(), faults.Calls()
	_ = g.Close() // memory that a fault leaks does not matter here
	return stats, calls, true
}

// Each driver call fails, for lack of memory, at a launch, or because the device is lost.
func TestGPUFaults(t *testing.T) {
	w := newFaultWork(t)
	var none cuda.Faults
	s, calls, opened := w.run(t, &none)
	if !opened || s.OnCPU != 0 || s.OnGPU != 6 {
		t.Fatalf("without faults: opened %t, %+v", opened, s)
	}
	for _, c := range []struct {
		functions []string
		code      cuda.Code
		some      int // of the calls fail, each in its run
	}{
		{[]string{"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemAllocAsync"}, cuda.OutOfMemory, 40},
		{[]string{"cuLaunchKernel"}, cuda.LaunchOutOfResources, 6},
		{[]string{"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuEventSynchronize", "cuEventRecord"}, cuda.IllegalAddress, 3},
		{[]string{"cuStreamWaitEvent", "cuEventRecord", "cuEventSynchronize", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize", "cuMemsetD8Async"}, cuda.InvalidValue, 3},
	} {
		for _, function := range c.functions {
			if testing.Short() {
				c.some = 2
			} else if !sampletest.All() {
				c.some = min(c.some, 10)
			}
			for _, nth := range spread(calls[function], c.some) {
				var faults cuda.Faults
				faults.Fail(function, nth, c.code)
				s, made, opened := w.run(t, &faults)
				switch {
				case !opened:
				case made[function] < nth: // whether the host has to wait is a matter of time
				case s.Devices[0].Errors == 0:
					t.Errorf("%s, call %d, fails with %d: no error was counted", function, nth, c.code)
				case s.OnGPU+s.OnCPU != 6:
					t.Errorf("%s, call %d, fails with %d: %d queries on the GPU and %d on the CPU of 6", function, nth, c.code, s.OnGPU, s.OnCPU)
				case c.code == cuda.IllegalAddress && s.Devices[0].Lost == "":
					t.Errorf("%s, call %d: the device is not lost", function, nth)
				}
			}
		}
	}
}

// spread returns up to n of the calls 1 to calls, with the first and the last.
func spread(calls, n int) []int {
	var nths []int
	for i := range min(calls, n) {
		nths = append(nths, 1+i*(calls-1)/max(min(calls, n)-1, 1))
	}
	return nths
}

// A device that is lost while a kernel runs is used no more; its query is answered.
func TestGPULostInMidQuery(t *testing.T) {
	w := newFaultWork(t)
	library := gputest.Configure(t, gputest.Config{Devices: 1, MemoryBytes: 256 << 20})
	g := testGPU(t, pipeline.Options{Library: library.Path()})
	p := newGPUPair(t, w.snapshot, g)
	p.check(t, w.queries[0], Options{K: 10})
	gputest.Lose(t, 1, cuda.LaunchFailed)
	for i, q := range w.queries {
		var trace plan.Trace
		prepared, err := p.gpu.Prepare(p.sc, q, Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		a, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace)
		if err != nil || !slices.Equal(a.Hits, w.want[i]) {
			t.Fatalf("%s: error %v, hits %v, want %v", q, err, a.Hits, w.want[i])
		}
		if text := trace.String(); !strings.Contains(text, "answered by the CPU: cu") || !strings.Contains(text, "CUDA_ERROR_LAUNCH_FAILED") {
			t.Errorf("%s: the trace does not say why the CPU answered:\n%s", q, text)
		}
	}
	if s := g.Stats(); s.OnGPU != 1 || s.OnCPU != 4 || s.Devices[0].Lost == "" || s.Devices[0].Errors == 0 {
		t.Errorf("%+v: want 1 query on the GPU, 4 on the CPU, and the device lost", s)
	}
}

// A plan without hits is counted with the others of its batch, and each query counts for one
// processor, whichever stage went to the CPU.
func TestGPUBatchCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	var faults cuda.Faults
	g := testGPU(t, pipeline.Options{Faults: &faults})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 1, false)), g)
	run := func(mode plan.Mode, ks ...int) GPUStats {
		t.Helper()
		before := g.Stats()
		plans, answers := make([]*Query, len(ks)), make([]plan.Answer, len(ks))
		for i, k := range ks {
			var err error
			if plans[i], err = p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w30"), Options{Mode: mode, K: k, Count: true}); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.gpu.dispatcher.SearchPrepared(t.Context(), plans, new(BatchScratch), answers); err != nil {
			t.Fatal(err)
		}
		for i, k := range ks {
			want := answer(t, p.cpu, p.sc, plantest.Parse(t, "w1 w30"), Options{Mode: mode, K: k, Count: true})
			if !slices.Equal(answers[i].Hits, want.Hits) || answers[i].Matches != want.Matches {
				t.Errorf("mode %s, k %d: %d matches, hits %v; the CPU has %d, %v", mode, k, answers[i].Matches, answers[i].Hits, want.Matches, want.Hits)
			}
		}
		return g.Stats().Since(&before)
	}
	if s := run(plan.ModeOr, 5, 0, 5); s.OnGPU != 3 || s.OnCPU != 0 {
		t.Errorf("%d queries on the GPU, %d on the CPU; want 3 and 0", s.OnGPU, s.OnCPU)
	}
	const launch = "cuLaunchKernel"
	launches := faults.Calls()[launch]
	if s := run(plan.ModeAndOr, 100, 100); s.OnGPU != 2 || s.OnCPU != 0 || s.Devices[0].Launches != 2 {
		t.Fatalf("%+v: want 2 queries on the GPU in 2 launches", s)
	}
	faults.Fail(launch, faults.Calls()[launch]-launches, cuda.LaunchOutOfResources)
	if s := run(plan.ModeAndOr, 100, 100); s.OnGPU != 0 || s.OnCPU != 2 {
		t.Errorf("%d queries on the GPU, %d on the CPU; want 2 on the CPU, since the last launch failed", s.OnGPU, s.OnCPU)
	}
}

// The error names the request; "auto" works without a GPU.
func TestOpenGPU(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, "/nowhere/libcuda.so.1")
	for _, device := range []string{"gpu", "0", "0,1"} {
		g, err := OpenGPU(GPUOptions{Device: device}, 1)
		if !errors.Is(err, cuda.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "/nowhere/libcuda.so.1") {
			t.Errorf("device %s: %v, error %v; want one that says where the driver was looked for", device, g, err)
		}
	}
	for _, device := range []string{"", "cpu", "auto"} {
		if g, err := OpenGPU(GPUOptions{Device: device}, 1); g != nil || err != nil {
			t.Errorf("device %q: %v, error %v; want neither", device, g, err)
		}
	}
	for _, o := range []GPUOptions{{Device: "gpus"}, {Device: "auto", Memory: "lots"}} {
		if _, err := OpenGPU(o, 1); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: error %v, want ErrBadInput", o, err)
		}
	}
	library := gputest.Configure(t, gputest.Config{Devices: 1, MemoryBytes: 256 << 20})
	t.Setenv(cuda.LibraryVariable, library.Path())
	if _, err := OpenGPU(GPUOptions{Device: "1"}, 1); !errors.Is(err, cuda.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), "no GPU 1: the driver reports") {
		t.Errorf("device 1 of 1: error %v", err)
	}
	gputest.Configure(t, gputest.Config{Devices: 1, MemoryBytes: 8 << 10})
	if _, err := OpenGPU(GPUOptions{Device: "gpu"}, 1); !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("a device with too little memory: error %v", err)
	}
	if g, err := OpenGPU(GPUOptions{Device: "auto"}, 1); g != nil || err != nil {
		t.Errorf("auto, of a device with too little memory: %v, error %v; want neither", g, err)
	}
	gputest.Configure(t, gputest.Config{Devices: 1, MemoryBytes: 256 << 20})
	g, err := OpenGPU(GPUOptions{Device: "auto", Memory: "1MiB"}, 1)
	if err != nil || g == nil {
		t.Fatalf("auto with a GPU: %v, error %v", g, err)
	}
	if s := g.Stats(); len(s.Devices) != 1 || s.Devices[0].LimitBytes != 1<<20 || s.Devices[0].GPU == "" {
		t.Errorf("%+v: want one device with a limit of 1 MiB", s)
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}
