package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
)

// Steps are in order of time, with their places, predictions and bus bytes.
func TestTraceSteps(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, _ := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 9000, 2, 7, 300)), g, Config{Policy: PolicyRatio})
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e300 e7 e2"), Options{Mode: plan.ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var trace plan.Trace
	trace.AddStep("parse", 0)
	a, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace)
	if err != nil {
		t.Fatal(err)
	}
	if trace.Policy != PolicyRatio || trace.Migrations != 1 || a.Migrations != 1 || a.Traversal != TraversalSteps || len(trace.Steps) != 3 {
		t.Fatalf("traversal %s, %d migrations:\n%s", a.Traversal, a.Migrations, &trace)
	}
	first, last := &trace.Steps[1], &trace.Steps[2]
	switch {
	case first.Name != plan.StepIntersect || first.Place != sched.GPU || first.Processor != "gpu0" || first.Candidates != 0 || first.Left != 5 || len(first.Lists) != 2:
		t.Errorf("first step %+v: want two lists on the GPU, of which 5 documents are left", first)
	case last.Name != plan.StepIntersect || last.Place != sched.CPU || last.Processor != plan.CPUName || last.Candidates != 5 || last.Left != 5 || len(last.Lists) != 1:
		t.Errorf("last step %+v: want one list on the CPU, from and to 5 documents", last)
	case first.BusBytes == 0 || last.BusBytes != 0 || last.PostingsDecoded == 0:
		t.Errorf("%d and %d bytes over the bus, %d postings decoded by the CPU", first.BusBytes, last.BusBytes, last.PostingsDecoded)
	case first.Predicted <= 0 || last.Predicted <= 0 || first.Took <= 0 || last.Took <= 0:
		t.Errorf("predicted %v and %v, took %v and %v", first.Predicted, last.Predicted, first.Took, last.Took)
	case first.Start < trace.Steps[0].Start || last.Start < first.Start+first.Took:
		t.Errorf("steps overlap: %v, then %v for %v, then %v", trace.Steps[0].Start, first.Start, first.Took, last.Start)
	}
	if len(trace.Notes) != 2 || !strings.HasPrefix(trace.Notes[0], "ratio, and: ") || !strings.Contains(trace.Notes[0], "begun on the gpu with 2 of 3 lists") ||
		!strings.Contains(trace.Notes[1], "5 candidates after 2 lists") {
		t.Errorf("notes %q", trace.Notes)
	}
	text := trace.String()
	for _, want := range []string{"migrations: 1\n", "and: from first list to 5; lists there", "and: from 5 candidates to 5; postings decoded"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	data, err := json.Marshal(&trace)
	if err != nil {
		t.Fatal(err)
	}
	var back plan.Trace
	if err := json.Unmarshal(data, &back); err != nil || back.Steps[1].Place != sched.GPU || back.Steps[2].Start != last.Start || back.Migrations != 1 {
		t.Errorf("error %v, back from JSON:\n%s", err, &back)
	}
}

// shut keeps a place with one server busy until the returned function is called.
func shut(t *testing.T, d *Dispatcher, at sched.Place, wg *sync.WaitGroup) (open func()) {
	t.Helper()
	door := &gate{make(chan struct{}), make(chan struct{})}
	wg.Go(func() {
		j := sched.Job{Alone: true, Cost: [sched.NumPlaces]time.Duration{sched.Never, sched.Never}}
		j.Cost[at] = time.Millisecond
		if err := d.pool.Do(t.Context(), &j, door); err != nil {
			t.Error(err)
		}
	})
	<-door.entered
	return func() { close(door.open) }
}

func queued(d *Dispatcher, at sched.Place, n int) {
	for d.Stats().Pool.Places[at].Queued < n {
		time.Sleep(time.Millisecond)
	}
}

// checkWaits checks that steps follow one another and include all waits, which it returns.
func checkWaits(t *testing.T, trace *plan.Trace, r *queryRun) (waits []*plan.Step) {
	t.Helper()
	var sum, end time.Duration
	for i := range trace.Steps {
		s := &trace.Steps[i]
		if s.Start < end {
			t.Errorf("step %d begins at %v, while the one before goes on to %v:\n%s", i, s.Start, end, trace)
		}
		end = s.Start + s.Took
		if s.Name == plan.StepWait {
			waits, sum = append(waits, s), sum+s.Took
		}
	}
	if sum != r.job.Queued {
		t.Errorf("the waits take %v, and the query waited for %v:\n%s", sum, r.job.Queued, trace)
	}
	return waits
}

// The wait ends before the batch begins; a query that fails in the batch waits a second time.
func TestTraceWaitsInBatch(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprintf("fails=%t", fails), func(t *testing.T) {
			var faults cuda.Faults
			g := testGPU(t, pipeline.Options{Lanes: 1, Faults: &faults})
			snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 600))
			_, d := dispatched(t, snapshot, g, Config{Policy: PolicyGPU, CPUs: 1})
			var scs [4]*Scratch
			for i := range scs {
				scs[i] = testScratch(t, "whitespace")
			}
			rounds := 2 // with the same memory
			if fails {
				rounds = 1
			}
			for range rounds {
				var wg sync.WaitGroup
				open := shut(t, d, sched.GPU, &wg)
				var traces [len(scs)]plan.Trace
				for i, sc := range scs {
					p := &gpuPair{gpu: NewSearcher(snapshot, nil)}
					p.gpu.Use(d)
					prepared, err := p.gpu.Prepare(sc, plantest.Parse(t, fmt.Sprintf("w%d w%d", i, i+1)), Options{Mode: plan.ModeOr, K: 10})
					if err != nil {
						t.Fatal(err)
					}
					wg.Go(func() {
						if _, err := prepared.RunTraced(t.Context(), sc, nil, &traces[i]); err != nil {
							t.Errorf("query %d: %v", i, err)
						}
					})
				}
				queued(d, sched.GPU, len(scs))
				if fails {
					faults.Fail("cuLaunchKernel", 1, cuda.LaunchOutOfResources)
					openCPU := shut(t, d, sched.CPU, &wg)
					open()
					queued(d, sched.CPU, 1)
					openCPU()
				} else {
					open()
				}
				wg.Wait()
				twice := 0
				for i := range traces {
					waits := checkWaits(t, &traces[i], &scs[i].run)
					if len(waits) == 0 || waits[0].Place != sched.GPU || waits[0].Processor != "gpu" {
						t.Fatalf("query %d: %d waits, the first not for the GPU:\n%s", i, len(waits), &traces[i])
					}
					if len(waits) == 2 && waits[1].Place == sched.CPU {
						twice++
					}
					if last := traces[i].Steps[len(traces[i].Steps)-1]; !fails && (len(waits) != 1 || last.Batch != len(scs)) {
						t.Errorf("query %d: %d waits, and a batch of %d:\n%s", i, len(waits), last.Batch, &traces[i])
					}
				}
				if fails != (twice > 0) {
					t.Errorf("%d queries waited for the CPU after the GPU", twice)
				}
			}
		})
	}
}

func TestTraceWaitsOfMigration(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 9000, 2, 7, 300)), g, Config{Policy: PolicyRatio, CPUs: 1})
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e300 e7 e2"), Options{Mode: plan.ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	open := shut(t, d, sched.CPU, &wg)
	var trace plan.Trace
	wg.Go(func() {
		if _, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace); err != nil {
			t.Error(err)
		}
	})
	queued(d, sched.CPU, 1)
	open()
	wg.Wait()
	waits := checkWaits(t, &trace, &p.sc.run)
	if n := len(trace.Steps); trace.Migrations != 1 || n < 3 || len(waits) == 0 || waits[len(waits)-1] != &trace.Steps[n-2] || trace.Steps[n-2].Place != sched.CPU || trace.Steps[n-3].Place != sched.GPU {
		t.Errorf("want a step on the GPU, a wait for the CPU, and a step there:\n%s", &trace)
	}
}
