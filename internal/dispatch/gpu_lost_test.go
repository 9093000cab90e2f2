package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
)

// trapImage is a kernel that traps. The driver then refuses further work of the process, on any
// device; other processes are not affected.
const trapImage = `.version 8.0
.target sm_80
.address_size 64

.visible .entry dispatch_trap(.param .align 8 .b8 p[16])
{
	trap;
	ret;
}
`

type trapParams struct{ _, _ uint64 }

// trapper returns a function that makes a device of a library fail while it works.
func trapper(t *testing.T, library *cuda.Library, ordinal int) (lose func()) {
	t.Helper()
	if !gputest.OnGPU() { // whichever device runs the next kernel
		return func() { gputest.Lose(t, 1, cuda.LaunchFailed) }
	}
	d, err := library.Open(ordinal) // with the primary context, which the engine uses
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	m, err := d.LoadModule("trap", []byte(trapImage))
	if err != nil {
		t.Fatal(err)
	}
	k, err := cuda.LoadKernel[trapParams](m, "dispatch_trap")
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = cuda.Launch(s, k, cuda.D1(1), cuda.D1(32), 0, &trapParams{})
		if err := s.Synchronize(); !errors.Is(err, cuda.ErrDeviceLost) {
			t.Errorf("GPU %d after a trap: error %v, want a lost device", ordinal, err)
		}
	}
}

// twoGPUs returns the driver of a machine with at least two GPUs.
func twoGPUs(t *testing.T) *cuda.Library {
	t.Helper()
	if !gputest.OnGPU() {
		return gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	}
	library := gputest.Library(t)
	infos, err := library.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(infos) < 2 {
		t.Skipf("this test needs two GPUs; there are %d", len(infos))
	}
	return library
}

// rate counts the queries of a phase of lostLoad. It is the phase's JSON.
type rate struct {
	Single  float64 `json:"single_qps"`
	Batched float64 `json:"batch_qps"`
	OnGPU   int64   `json:"on_gpu"` // queries
	OnCPU   int64   `json:"on_cpu"`
	Slowest float64 `json:"slowest_single_us"`
}

// lostLoad asks single queries and batches, and compares each answer with the CPU's.
type lostLoad struct {
	snapshot *index.Snapshot
	queries  []query.Node
	options  []Options
	want     [][]plan.Answer // by option, then query
	batch    int             // queries

	singles, batches int // clients

	single, batched, slowest atomic.Int64
}

func newLostLoad(t *testing.T) *lostLoad {
	t.Helper()
	l := &lostLoad{options: []Options{{Mode: plan.ModeOr, K: 10}, {Mode: plan.ModeAnd, K: 10}}, batch: 16}
	if dir := os.Getenv(logIndexVariable); dir != "" {
		ix, err := index.Open(vfs.OS, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ix.Close() })
		l.snapshot, l.batch = indextest.Snapshot(t, ix), 1000
		for _, text := range queryTexts(t, os.Getenv(logQueriesVariable), 1000) {
			l.queries = append(l.queries, logQuery(t, text))
		}
	} else {
		rng := rand.New(rand.NewPCG(61, 1))
		l.snapshot = indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 2, true))
		for i := range 40 {
			q := plantest.Words(rng, 1+rng.IntN(4))
			if i%3 == 0 {
				q = excluding(rng, q)
			}
			l.queries = append(l.queries, q)
		}
	}
	s := NewSearcher(l.snapshot, nil)
	for _, o := range l.options {
		want := make([]plan.Answer, len(l.queries))
		var next atomic.Int64
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				sc := testScratch(t, l.snapshot.Options.Analyzer)
				for i := int(next.Add(1)) - 1; i < len(want); i = int(next.Add(1)) - 1 {
					want[i] = answer(t, s, sc, l.queries[i], o)
				}
			})
		}
		wg.Wait()
		l.want = append(l.want, want)
	}
	return l
}

func (l *lostLoad) compare(option, i int, got *plan.Answer) error {
	want := &l.want[option][i]
	if !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode || got.Matches != want.Matches {
		return fmt.Errorf("%s, %+v: mode %s, hits %v; the CPU has mode %s, %v",
			l.queries[i], l.options[option], got.Mode, head(got.Hits), want.Mode, head(want.Hits))
	}
	return nil
}

func (l *lostLoad) askSingle(ctx context.Context, s *Searcher, sc *Scratch, rng *rand.Rand) error {
	option, i := rng.IntN(len(l.options)), rng.IntN(len(l.queries))
	began := time.Now()
	q, err := s.Prepare(sc, l.queries[i], l.options[option])
	if err != nil {
		return err
	}
	a, err := q.Run(ctx, sc, nil)
	if err != nil {
		return err
	}
	took := time.Since(began)
	for before := l.slowest.Load(); int64(took) > before && !l.slowest.CompareAndSwap(before, int64(took)); before = l.slowest.Load() {
	}
	l.single.Add(1)
	return l.compare(option, i, &a)
}

func (l *lostLoad) askBatch(ctx context.Context, s *Searcher, sc *Scratch, rng *rand.Rand, memory *BatchScratch) error {
	option := rng.IntN(len(l.options))
	numbers, plans, answers := make([]int, l.batch), make([]*Query, l.batch), make([]plan.Answer, l.batch)
	for j := range plans {
		numbers[j] = rng.IntN(len(l.queries))
		var err error
		if plans[j], err = s.Prepare(sc, l.queries[numbers[j]], l.options[option]); err != nil {
			return err
		}
	}
	if err := s.Dispatcher().SearchPrepared(ctx, plans, memory, answers); err != nil {
		return err
	}
	l.batched.Add(int64(l.batch))
	for j, i := range numbers {
		if err := l.compare(option, i, &answers[j]); err != nil {
			return err
		}
	}
	return nil
}

// start begins a load that ends with ctx.
func (l *lostLoad) start(ctx context.Context, t *testing.T, s *Searcher) *sync.WaitGroup {
	var wg sync.WaitGroup
	for c := range l.singles + l.batches {
		sc := testScratch(t, l.snapshot.Options.Analyzer)
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(62, uint64(c)))
			var memory BatchScratch
			for ctx.Err() == nil {
				var err error
				if c < l.singles {
					err = l.askSingle(t.Context(), s, sc, rng)
				} else {
					err = l.askBatch(t.Context(), s, sc, rng, &memory)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return &wg
}

// phase calls event, if not nil, and waits for a time, and until there are some answers of each kind.
func (l *lostLoad) phase(t *testing.T, stats func() GPUStats, d time.Duration, event func()) rate {
	t.Helper()
	before, began := stats(), time.Now()
	l.single.Store(0)
	l.batched.Store(0)
	l.slowest.Store(0)
	if event != nil {
		event()
	}
	for time.Since(began) < d || l.singles > 0 && l.single.Load() < 5 || l.batches > 0 && l.batched.Load() < int64(2*l.batch) {
		if t.Failed() || time.Since(began) > longWait {
			t.Fatalf("%d single queries and %d in batches after %v", l.single.Load(), l.batched.Load(), time.Since(began))
		}
		time.Sleep(time.Millisecond)
	}
	took, s := time.Since(began).Seconds(), stats().Since(&before)
	return rate{
		float64(l.single.Load()) / took, float64(l.batched.Load()) / took, s.OnGPU, s.OnCPU,
		float64(l.slowest.Load()) / float64(time.Microsecond),
	}
}

// openFaulty opens the GPUs of o as replicas, with faults to inject into the calls of the second one.
func openFaulty(t *testing.T, o pipeline.Options) (*GPU, *cuda.Faults) {
	t.Helper()
	faults := new(cuda.Faults)
	o.HostMemory.Share = 2
	var engines []*pipeline.Engine
	for i, ordinal := range o.Devices.Ordinals {
		o.Devices = pipeline.Selection{Ordinals: []int{ordinal}}
		o.Faults = nil
		if i == 1 {
			o.Faults = faults
		}
		e, err := pipeline.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
	}
	g := NewGPU(engines...)
	t.Cleanup(func() { _ = g.Close() })
	return g, faults
}

// One of several GPUs is lost under a load of single queries and batches. Every answer is the CPU's,
// before, during and after it. Afterwards the other GPUs answer if each has all documents, and the
// CPUs if each has a part of every segment. A real GPU is lost by an error that is injected into its
// driver calls, and at last by a kernel that traps, which takes all GPUs from the process. Real GPUs
// also lose one under single queries alone and under batches alone, which shows the share that is lost.
// The log has the rates as JSON.
func TestGPULostUnderLoad(t *testing.T) {
	if gputest.OnGPU() {
		t.Run("singles", func(t *testing.T) { loseUnderLoad(t, LayoutReplicas, true, 16, 0) })
		t.Run("batches", func(t *testing.T) { loseUnderLoad(t, LayoutReplicas, true, 0, 32) })
	}
	singles, batches := 2, 1
	if gputest.OnGPU() {
		singles, batches = 16, 4
	}
	t.Run(LayoutReplicas, func(t *testing.T) { loseUnderLoad(t, LayoutReplicas, gputest.OnGPU(), singles, batches) })
	t.Run(LayoutRanges, func(t *testing.T) { loseUnderLoad(t, LayoutRanges, false, singles, batches) })
}

// loseUnderLoad loses the second GPU while some clients ask single queries and others batches.
func loseUnderLoad(t *testing.T, layout string, inject bool, singles, batches int) {
	library := twoGPUs(t)
	infos, err := library.Devices()
	if err != nil {
		t.Fatal(err)
	}
	var ordinals []int
	for i := range infos {
		ordinals = append(ordinals, infos[i].Ordinal)
	}
	l := newLostLoad(t)
	l.singles, l.batches = singles, batches
	o := pipeline.Options{Library: library.Path(), Devices: pipeline.Selection{Ordinals: ordinals}, Memory: pipeline.Memory{Bytes: 16 << 20}}
	phase := 50 * time.Millisecond
	if gputest.OnGPU() {
		o.Memory.Bytes, o.Lanes = 32<<30, pipeline.DefaultLanes
		phase = 2 * time.Second
	}
	var faults *cuda.Faults
	var g *GPU
	if inject {
		g, faults = openFaulty(t, o)
	} else {
		g = openTestGPU(t, o, layout)
	}
	g.unaided = !gputest.OnGPU() // idle CPUs would answer many queries of an emulated GPU
	if _, _, err := g.Warm(t.Context(), l.snapshot, WarmOptions{MinDocFreq: 1000}); err != nil {
		t.Fatal(err)
	}
	p, _ := dispatched(t, l.snapshot, g, Config{Policy: PolicyGPU})
	lose := func() { faults.Fail("cuLaunchKernel", 1, cuda.LaunchFailed) }
	if !inject {
		lose = trapper(t, library, ordinals[1])
	}

	ctx, cancel := context.WithCancel(t.Context())
	load := l.start(ctx, t, p.gpu)
	defer load.Wait()
	defer cancel()
	_ = l.phase(t, g.Stats, phase/2, nil) // warm-up
	before := l.phase(t, g.Stats, phase, nil)
	during := l.phase(t, g.Stats, phase/10, lose)
	after := l.phase(t, g.Stats, phase, nil)
	cancel()
	load.Wait()
	if before.OnGPU == 0 || before.OnCPU > before.OnGPU {
		t.Errorf("before: %+v; want most queries on the GPUs", before)
	}
	if goesOn := after.OnGPU > after.OnCPU; goesOn != (layout == LayoutReplicas) {
		t.Errorf("after the loss: %+v", after)
	}
	s := g.Stats()
	lost := slices.DeleteFunc(slices.Clone(s.Devices), func(d DeviceStats) bool { return d.Lost == "" })
	if len(lost) == 0 || inject && (len(lost) != 1 || lost[0].Name != fmt.Sprintf("gpu%d", ordinals[1])) {
		t.Fatalf("%d lost GPUs: %+v", len(lost), s.Devices)
	}

	// The CPUs alone.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	none, _ := dispatched(t, l.snapshot, nil, Config{Admit: true})
	load = l.start(ctx, t, none.gpu)
	cpu := l.phase(t, func() GPUStats { return GPUStats{} }, phase, nil)
	cancel()
	load.Wait()

	report, err := json.Marshal(map[string]any{
		"layout": layout, "gpus": len(s.Devices), "lost": lost[0].Name, "error": lost[0].Lost, "batch": l.batch, "singles": singles, "batches": batches,
		"phase_ms": phase.Milliseconds(), "before": before, "during": during, "after": after, "cpu": cpu,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("measured: %s", report)
}
