package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
)

// batchRuns returns runs of queries over two snapshots in all modes, and the Searcher that
// answers each on the CPU.
func batchRuns(t *testing.T, g *GPU) (d *Dispatcher, runs []*queryRun, works []sched.Work, want []plan.Answer) {
	rng := rand.New(rand.NewPCG(41, 1))
	var pairs [2]*gpuPair
	pairs[0], d = dispatched(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true)), g, Config{Policy: PolicyGPU})
	pairs[1], _ = dispatched(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 1, false)), g, Config{Policy: PolicyGPU})
	pairs[1].gpu.Use(d)
	for i := range 12 {
		p := pairs[i%2]
		q := frequentWords(rng, 1+rng.IntN(4))
		o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[i%3], K: []int{10, 500}[i/6], Count: i%2 == 0}
		want = append(want, answer(t, p.cpu, p.sc, q, o))
		sc := testScratch(t, "whitespace")
		prepared, err := p.gpu.Prepare(sc, q, o)
		if err != nil {
			t.Fatal(err)
		}
		r := &sc.run
		r.begin(t.Context(), d, prepared, sc, nil, nil)
		r.decide()
		t.Cleanup(r.end)
		runs, works = append(runs, r), append(works, r)
	}
	return d, runs, works, want
}

func checkRun(t *testing.T, i int, r *queryRun, want *plan.Answer) {
	t.Helper()
	if got := &r.answer; !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode || got.Matches != want.Matches {
		t.Errorf("run %d: mode %s, %d matches, hits %v; want mode %s, %d, %v", i, got.Mode, got.Matches, head(got.Hits), want.Mode, want.Matches, head(want.Hits))
	}
}

// Runs of plan.ModeAndOr with too few hits run again.
func TestBatchOfRuns(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	d, runs, works, want := batchRuns(t, g)
	outcomes := make([]error, len(works))
	runs[0].RunBatch(t.Context(), works, outcomes)
	for i, r := range runs {
		if outcomes[i] != nil {
			t.Fatalf("run %d: %v", i, outcomes[i])
		}
		checkRun(t, i, r, &want[i])
	}
	if s := d.Stats(); s.GPUSteps <= int64(len(runs)) || s.CPUSteps != 0 {
		t.Errorf("%+v: want a step of each run, and second ones", s)
	}
}

// The runs continue on the CPU, each from where it is.
func TestBatchOfRunsFails(t *testing.T) {
	var faults cuda.Faults
	g := testGPU(t, pipeline.Options{Faults: &faults, Lanes: 1})
	_, runs, works, want := batchRuns(t, g)
	outcomes := make([]error, len(works))
	faults.Fail("cuLaunchKernel", 2, cuda.LaunchOutOfResources)
	runs[0].RunBatch(t.Context(), works, outcomes)
	failed := 0
	for i, r := range runs {
		if outcomes[i] != nil {
			failed++
			if !errors.Is(outcomes[i], sched.ErrFailed) {
				t.Fatalf("run %d: %v", i, outcomes[i])
			}
			r.d = &Dispatcher{gpu: g, policy: gpuPolicy{}, costs: r.d.costs} // without a pool, there is nothing to leave
			if err := r.Run(context.Background(), sched.CPU); err != nil {
				t.Fatalf("run %d: %v", i, err)
			}
		}
		checkRun(t, i, r, &want[i])
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

// No answer is lost: neither of queries on the device, alone or in a batch, nor of waiting
// ones.
func TestDeviceLostUnderLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true))
	for _, policy := range []Policy{PolicyGPU, PolicyBatch, PolicyRatio, PolicyQuery, PolicyCost} {
		t.Run("policy="+string(policy), func(t *testing.T) {
			var faults cuda.Faults
			e, err := pipeline.Open(pipeline.Options{
				Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: testMemory}, Lanes: 2, Faults: &faults,
			})
			if err != nil {
				t.Fatal(err)
			}
			g := NewGPU(e)
			_, d := dispatched(t, snapshot, g, Config{Policy: policy, CPUs: 2, MaxQueue: -1})
			uselessCPU(d)
			if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
				t.Fatal(err)
			}
			faults.Fail("cuLaunchKernel", 10, cuda.IllegalAddress)
			const workers, queries = 6, 12
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(43, uint64(w)))
					p := &gpuPair{cpu: NewSearcher(snapshot, nil), gpu: NewSearcher(snapshot, nil), sc: testScratch(t, "whitespace")}
					p.gpu.Use(d)
					for i := range queries {
						if err := p.agree(frequentWords(rng, 2+rng.IntN(3)), Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[i%3], K: 10, Count: i%2 == 0}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			s := d.Stats()
			if s.Pool.Ended != workers*queries || !s.Pool.Places[sched.GPU].Lost || s.Pool.Failed == 0 || s.GPUSteps == 0 || s.CPUSteps == 0 {
				t.Errorf("%+v, pool %+v: want %d queries that ended, on both processors, and the GPU lost", s, s.Pool, workers*queries)
			}
			_ = d.Close() // a device that is lost gives nothing back
		})
	}
}

// The queue of the GPU sums the predicted times that queries add to batches, so these are never
// close to 0, although different models predict queries alone and in a batch.
func TestBatchShareIsPositive(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 50000, 2, 3, 5))
	p, d := dispatched(t, snapshot, g, Config{Policy: PolicyGPU})
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3 e5"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	r := &p.sc.run
	r.begin(t.Context(), d, prepared, p.sc, nil, nil)
	defer r.end()
	r.decide()
	usual := r.predictor.batchShare
	if alone := r.choices[sched.GPU].took; usual < alone/BatchMeasured/8 || usual > alone {
		t.Errorf("a query of %v adds %v to a batch", alone, usual)
	}
	r.predictor.predictBatchShare(time.Second)
	if r.predictor.batchShare < usual/8 || r.predictor.batchShare > usual {
		t.Errorf("a query that another model says takes a second adds %v to a batch, not about %v", r.predictor.batchShare, usual)
	}
	r.predictor.predictBatchShare(time.Microsecond)
	if r.predictor.batchShare != time.Microsecond {
		t.Errorf("a query of a microsecond adds %v to a batch", r.predictor.batchShare)
	}
}

// A run that has ended, and the leader of a batch, hold nothing of the plans and hits of
// others, which are reused.
func TestRunsReleaseMemory(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	_, runs, works, _ := batchRuns(t, g)
	outcomes := make([]error, len(works))
	leader := runs[0]
	leader.RunBatch(t.Context(), works, outcomes)
	b := <-leader.d.led
	for _, q := range b.queries[:cap(b.queries)] {
		if q != nil {
			t.Fatal("the leader has a query of a batch that has ended")
		}
	}
	for _, r := range b.results[:cap(b.results)] {
		if r.Hits != nil {
			t.Fatal("the leader has hits of a batch that has ended")
		}
	}
	rng := rand.New(rand.NewPCG(49, 1))
	p, d := dispatched(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true)), g, Config{})
	d.policy = &anyPolicy{anyPlacement(rng)}
	for range 10 {
		p.check(t, frequentWords(rng, 3), Options{Mode: plan.ModeAndOr, K: 10})
	}
	r := &p.sc.run
	for i := range r.gpu.steps {
		if s := &r.gpu.steps[i]; s.Legs != nil || s.From != nil || s.Result.Hits != nil {
			t.Errorf("step %d has something of a run that has ended", i)
		}
	}
	if r.gpu.view != nil || r.plan != nil || r.gpu.results[0].Hits != nil {
		t.Error("a run that has ended has a view, a plan, legs or hits")
	}
}

// The answers are the same on CPUs alone, on a GPU, and with policy cpu.
func TestSearchBatchOfAnyQueries(t *testing.T) {
	for _, c := range []struct {
		name   string
		gpu    bool
		config Config
		parts  int
	}{
		{"cpu", false, Config{}, 1},
		{"cpu/limited", false, Config{CPUs: 1, MaxQueue: 1}, 1},
		{"gpu", true, Config{}, 1},
		{"gpu/limited", true, Config{CPUs: 1}, 1},
		{"gpu/parts", true, Config{}, 4},
		{"gpu/policy=cpu", true, Config{Policy: PolicyCPU}, 1},
	} {
		t.Run("on="+c.name, func(t *testing.T) {
			var g *GPU
			if c.gpu {
				g = testGPU(t, pipeline.Options{})
			}
			rng := rand.New(rand.NewPCG(61, 1))
			ix := plantest.RandomIndex(t, rng, 300, 2, true)
			if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
				t.Fatal(err)
			}
			one, d := dispatched(t, indextest.Snapshot(t, ix), g, c.config)
			other := &gpuPair{cpu: NewSearcher(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 1, false)), nil), sc: one.sc}
			other.gpu = NewSearcher(other.cpu.planner.Snapshot(), nil)
			other.gpu.Use(d)
			const numQueries = 60
			if c.parts > 1 {
				d.partQueries = numQueries / c.parts
			}
			var queries []*Query
			var want []plan.Answer
			for i := range numQueries {
				p := []*gpuPair{one, other}[i%2]
				o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[i%3], K: []int{10, 500}[i/30], Count: i%4 == 0}
				node := plantest.RandomNode(rng, 2)
				if p == one && i%5 == 0 {
					o.Mode = plan.ModeSaat
				}
				if i%7 < 5 || o.Mode == plan.ModeSaat {
					node = plantest.Words(rng, 1+rng.IntN(4))
				}
				want = append(want, answer(t, p.cpu, p.sc, node, o))
				q, err := p.gpu.Prepare(p.sc, node, o)
				if err != nil {
					t.Fatal(err)
				}
				queries = append(queries, q)
			}
			var sc BatchScratch
			answers := make([]plan.Answer, len(queries))
			for round := range 2 {
				if err := d.SearchPrepared(t.Context(), queries, &sc, answers); err != nil {
					t.Fatal(err)
				}
				onGPU := 0
				for i, a := range answers {
					if !slices.Equal(a.Hits, want[i].Hits) || a.Mode != want[i].Mode || a.Matches != want[i].Matches {
						t.Errorf("query %d, %s: %d matches, %v; want %d, %v", i, queries[i].Query(), a.Matches, head(a.Hits), want[i].Matches, head(want[i].Hits))
					}
					if a.By == sched.GPU {
						onGPU++
					}
				}
				if s := g.Stats(); c.gpu && int(s.OnGPU+s.OnCPU) != (round+1)*numQueries {
					t.Errorf("%d queries on the GPU and %d on CPUs are counted in round %d", s.OnGPU, s.OnCPU, round)
				}
				if s := d.Stats(); c.gpu && s.CPUSteps+s.GPUSteps != int64((round+1)*numQueries) {
					t.Errorf("%d steps on CPUs and %d on the GPU are counted in round %d", s.CPUSteps, s.GPUSteps, round)
				}
				if all := c.gpu && c.config.Policy != PolicyCPU; (onGPU > 0) != all || onGPU == len(queries) {
					t.Errorf("%d of %d queries on the GPU", onGPU, len(queries))
				}
			}
			if p := sc.parts[0]; len(sc.parts) > c.parts || len(sc.parts) == 1 && c.parts > 1 || p.queries != nil || len(p.items) != 0 || len(p.views) != 0 {
				t.Error("the batch is not forgotten")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := d.SearchPrepared(ctx, queries, &sc, answers); !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that has ended: %v", err)
			}
		})
	}
}

// A damaged index fails its own queries only.
func TestHelperErrorsStayApart(t *testing.T) {
	damaged := plantest.FrequentIndex(t, "simdbp", 300)
	snapshots := []*index.Snapshot{
		indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), indextest.Snapshot(t, damaged), indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)),
	}
	sc := testScratch(t, "whitespace")
	items, answers := make([]batchItem, 3), make([]plan.Answer, 3)
	for i, snapshot := range snapshots {
		q, err := NewSearcher(snapshot, nil).Prepare(sc, plantest.Parse(t, "w0 w1"), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		items[i] = batchItem{query: q, answer: &answers[i]}
	}
	files, err := filepath.Glob(filepath.Join(damaged.Dir(), "seg-*", "*postings*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no postings: %v", err)
	}
	for _, file := range files {
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
	}
	var h helpers
	h.reset(t.Context(), make(chan struct{}, 2), items, true)
	h.launch([]int{0, 1, 2})
	h.Begin(0, nil, []int{0, 1, 2})
	if err := h.wait(); err != nil {
		t.Fatal(err)
	}
	for i := range items {
		if corrupt := errors.Is(items[i].err, base.ErrCorrupt); corrupt != (i == 1) || (len(answers[i].Hits) == 0) != (i == 1) {
			t.Errorf("query %d: %d hits, error %v", i, len(answers[i].Hits), items[i].err)
		}
	}
}

// The CPUs answer such a query even if the launch ends before a CPU is free.
func TestHelpersAnswerWhatDoesNotFit(t *testing.T) {
	s := NewSearcher(indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), nil)
	sc := testScratch(t, "whitespace")
	items, answers := make([]batchItem, 2), make([]plan.Answer, 2)
	for i := range items {
		q, err := s.Prepare(sc, plantest.Parse(t, "w0 w1"), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		items[i] = batchItem{query: q, answer: &answers[i]}
	}
	slots := make(chan struct{}, 1)
	slots <- struct{}{} // no CPU is free
	var h helpers
	h.reset(t.Context(), slots, items, true)
	h.launch([]int{0, 1})
	h.Begin(0, []int{0}, []int{1})
	if h.settle(0) || !h.settle(1) {
		t.Errorf("CPUs have query 0: %v, query 1: %v", h.answered(0), h.answered(1))
	}
	<-slots
	if err := h.wait(); err != nil || len(answers[0].Hits) != 0 || len(answers[1].Hits) == 0 {
		t.Errorf("%d and %d hits, error %v; want only hits of query 1", len(answers[0].Hits), len(answers[1].Hits), err)
	}
}

// A device begins once for each path of its queries. The CPUs take the queries of the first path first. Other
// devices answer the same queries.
func TestHelpersBeginTwice(t *testing.T) {
	var h helpers
	h.reset(t.Context(), make(chan struct{}), make([]batchItem, 9), true)
	defer h.abandon()
	h.slots = nil // no CPU works
	h.launch([]int{8, 7, 6, 5, 4})
	h.Begin(1, []int{0, 2}, nil)
	h.Begin(0, []int{1, 3}, nil)
	h.Begin(1, []int{4, 1}, nil)
	if want := []int{4, 7, 8, 6}; !slices.Equal(h.order, want) {
		t.Errorf("order %v, want %v", h.order, want)
	}
	h.launch([]int{3})
	h.Begin(0, []int{0}, nil)
	if !slices.Equal(h.order, []int{3}) {
		t.Errorf("order of the next launch: %v", h.order)
	}
}

type holdCPU struct{ has, done chan struct{} }

func (w *holdCPU) Run(context.Context, sched.Place) error {
	close(w.has)
	<-w.done
	return nil
}
func (w *holdCPU) RunBatch(context.Context, []sched.Work, []error) {}

// A batch waits for the pool's CPUs even if its queue is full.
func TestBatchSharesCPUs(t *testing.T) {
	d, err := NewDispatcher(nil, Config{CPUs: 1, MaxQueue: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSearcher(indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), nil)
	s.Use(d)
	sc := testScratch(t, "whitespace")
	queries := make([]*Query, 3)
	for i := range queries {
		if queries[i], err = s.Prepare(sc, plantest.Parse(t, "w0 w1"), Options{K: 10}); err != nil {
			t.Fatal(err)
		}
	}
	hold := &holdCPU{make(chan struct{}), make(chan struct{})}
	held, batches := make(chan error, 1), make(chan error, 2)
	go func() {
		held <- d.pool.Do(context.Background(), &sched.Job{Cost: [sched.NumPlaces]time.Duration{sched.CPU: 1, sched.GPU: sched.Never}}, hold)
	}()
	<-hold.has
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	answers := [2][3]plan.Answer{}
	for i := range answers {
		go func() { batches <- d.SearchPrepared(ctx, queries, new(BatchScratch), answers[i][:]) }()
	}
	for d.pool.Stats().Places[sched.CPU].Queued < 1 { // the other batch waits for the only slot
		select {
		case err := <-batches:
			t.Fatalf("a batch ended while the only CPU was busy: %v", err)
		default:
			runtime.Gosched()
		}
	}
	close(hold.done)
	for _, c := range []chan error{held, batches, batches} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	for i := range answers {
		for j := range answers[i] {
			if len(answers[i][j].Hits) != 10 {
				t.Errorf("batch %d, query %d: %d hits", i, j, len(answers[i][j].Hits))
			}
		}
	}
}
