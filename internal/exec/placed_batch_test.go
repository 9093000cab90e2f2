package exec

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// batchRuns returns runs of queries over two snapshots in all modes, and the Searcher that
// answers each on the CPU.
func batchRuns(t *testing.T, g *GPU) (d *Dispatcher, runs []*placedRun, works []sched.Work, want []Answer) {
	rng := rand.New(rand.NewPCG(41, 1))
	var pairs [2]*gpuPair
	pairs[0], d = dispatched(t, testSnapshot(t, randomIndex(t, rng, 300, 2, true)), g, DispatchOptions{Policy: PolicyGPU})
	pairs[1], _ = dispatched(t, testSnapshot(t, randomIndex(t, rng, 200, 1, false)), g, DispatchOptions{Policy: PolicyGPU})
	pairs[1].gpu.Use(d)
	for i := range 12 {
		p := pairs[i%2]
		q := frequentWords(rng, 1+rng.IntN(4))
		o := Options{Mode: []Mode{ModeOr, ModeAnd, ModeAndOr}[i%3], K: []int{10, 500}[i/6], Count: i%2 == 0}
		want = append(want, answer(t, p.cpu, p.sc, q, o))
		sc := testScratch(t, "whitespace")
		plan, err := p.gpu.Prepare(sc, q, o)
		if err != nil {
			t.Fatal(err)
		}
		r := &sc.placed
		r.begin(d, plan, sc, nil, nil)
		r.decide()
		t.Cleanup(r.end)
		runs, works = append(runs, r), append(works, r)
	}
	return d, runs, works, want
}

func checkRun(t *testing.T, i int, r *placedRun, want *Answer) {
	t.Helper()
	if got := &r.answer; !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode || got.Matches != want.Matches {
		t.Errorf("run %d: mode %s, %d matches, hits %v; want mode %s, %d, %v", i, got.Mode, got.Matches, head(got.Hits), want.Mode, want.Matches, head(want.Hits))
	}
}

// A batch answers runs of several snapshots and modes; those of ModeAndOr that find too
// few are asked again, and none is left out.
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

// Runs of a batch that the GPU fails at go on on the CPU, each from where it is.
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
			r.d = &Dispatcher{gpu: g, policy: PolicyGPU, costs: r.d.costs} // without a pool, there is nothing to leave
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

// A device that is lost while queries come from all sides costs no answer: those that are
// on it, alone or in a batch, and those that wait for it are answered by the CPU.
func TestDeviceLostUnderLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	snapshot := testSnapshot(t, randomIndex(t, rng, 300, 2, true))
	for _, policy := range []Policy{PolicyGPU, PolicyBatch, PolicyRatio, PolicyQuery, PolicyCost} {
		t.Run("policy="+string(policy), func(t *testing.T) {
			var faults cuda.Faults
			e, err := pipeline.Open(pipeline.Options{
				Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: testMemory}, Lanes: 2, Faults: &faults,
			})
			if err != nil {
				t.Fatal(err)
			}
			g := newGPU(e)
			_, d := dispatched(t, snapshot, g, DispatchOptions{Policy: policy, CPUs: 2, MaxQueue: -1})
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
						if err := p.agree(frequentWords(rng, 2+rng.IntN(3)), Options{Mode: []Mode{ModeOr, ModeAnd, ModeAndOr}[i%3], K: 10, Count: i%2 == 0}); err != nil {
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

// What a query adds to a batch is never next to nothing, though it is predicted by one
// model alone and by another in a batch: what waits for the GPU is summed up from it.
func TestBatchedIsNeverNothing(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := testSnapshot(t, spacedIndex(t, 50000, 2, 3, 5))
	p, d := dispatched(t, snapshot, g, DispatchOptions{Policy: PolicyGPU})
	plan, err := p.gpu.Prepare(p.sc, parse(t, "e2 e3 e5"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	r := &p.sc.placed
	r.begin(d, plan, p.sc, nil, nil)
	defer r.end()
	r.decide()
	usual := r.batched
	if alone := r.choices[sched.GPU].took; usual < alone/batchMeasured/8 || usual > alone {
		t.Errorf("a query of %v adds %v to a batch", alone, usual)
	}
	r.batchedBy(time.Second)
	if r.batched < usual/8 || r.batched > usual {
		t.Errorf("a query that another model says takes a second adds %v to a batch, not about %v", r.batched, usual)
	}
	r.batchedBy(time.Microsecond)
	if r.batched != time.Microsecond {
		t.Errorf("a query of a microsecond adds %v to a batch", r.batched)
	}
}

// A run that has ended, and the leader of a batch, hold nothing of the plans and hits of
// others, which are used again or given back.
func TestRunsForget(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	_, runs, works, _ := batchRuns(t, g)
	outcomes := make([]error, len(works))
	leader := runs[0]
	leader.RunBatch(t.Context(), works, outcomes)
	b := &leader.group
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
	p, d := dispatched(t, testSnapshot(t, randomIndex(t, rng, 300, 2, true)), g, DispatchOptions{})
	d.choose = anyPlacement(rng)
	for range 10 {
		p.check(t, frequentWords(rng, 3), Options{Mode: ModeAndOr, K: 10})
	}
	r := &p.sc.placed
	for i := range r.steps {
		if s := &r.steps[i]; s.Legs != nil || s.From != nil || s.Result.Hits != nil {
			t.Errorf("step %d has something of a run that has ended", i)
		}
	}
	if r.view != nil || r.plan != nil || len(r.legs) > 0 || r.results[0].Hits != nil {
		t.Error("a run that has ended has a view, a plan, legs or hits")
	}
}
