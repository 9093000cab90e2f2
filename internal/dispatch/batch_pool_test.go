package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// Searches in a batch whose lists do not fit into the GPU's memory end although other batches
// have all CPUs of helpers.
func TestBatchOfPoolWaitsForNoCPU(t *testing.T) {
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 24 << 10}, Lanes: 1})
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 6000))
	p, d := dispatched(t, snapshot, g, Config{Policy: PolicyGPU, CPUs: 2})
	for range cap(d.slots) {
		d.slots <- struct{}{}
	}
	door := &gate{make(chan struct{}), make(chan struct{})}
	held := make(chan error, 1)
	go func() {
		j := sched.Job{Alone: true}
		j.Cost[sched.CPU], j.Cost[sched.GPU] = sched.Never, time.Millisecond
		held <- d.pool.Do(t.Context(), &j, door)
	}()
	<-door.entered
	queries := frequentBatch(t, rand.New(rand.NewPCG(62, 1)), 12)
	ended := make(chan error, len(queries))
	for _, q := range queries {
		own := *p
		own.sc = testScratch(t, "whitespace")
		go func() { ended <- own.agree(q, Options{K: 10, Mode: plan.ModeAndOr}) }()
	}
	waitUntil(t, func() bool { return d.Stats().Pool.Places[sched.GPU].Queued == len(queries) }, func() string { return "not all wait for the GPU" })
	close(door.open)
	late := time.After(longWait)
	for n := range queries {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-late:
			t.Errorf("%d of %d searches wait for a helper", len(queries)-n, len(queries))
			for len(d.slots) > 0 {
				<-d.slots
			}
			select {
			case <-ended:
			case <-time.After(longWait):
				t.Fatal("they wait although a helper is free")
			}
		}
	}
	if err := <-held; err != nil {
		t.Error(err)
	}
	if s := d.Stats().Pool; s.Failed == 0 || s.Places[sched.GPU].Batches != 1 {
		t.Errorf("%d searches went on to the CPU, %d batches; want some, and one", s.Failed, s.Places[sched.GPU].Batches)
	}
	for len(d.slots) > 0 {
		<-d.slots
	}
	checkClose(t, d)
}

// poolBatch returns runs of one batch that exceeds the GPU's memory, and their answers.
func poolBatch(t *testing.T, queries []query.Node) (runs []*queryRun, works []sched.Work, want []plan.Answer) {
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 24 << 10}, Lanes: 1})
	p, d := dispatched(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 6000)), g, Config{Policy: PolicyGPU})
	for _, node := range queries {
		o := Options{K: 10, Mode: plan.ModeAndOr}
		want = append(want, answer(t, p.cpu, p.sc, node, o))
		sc := testScratch(t, "whitespace")
		q, err := p.gpu.Prepare(sc, node, o)
		if err != nil {
			t.Fatal(err)
		}
		sc.run.begin(t.Context(), d, q, sc, nil, nil)
		sc.run.decide()
		t.Cleanup(sc.run.end)
		runs, works = append(runs, &sc.run), append(works, &sc.run)
	}
	return runs, works, want
}

// The lists of the batch do not fit into the GPU's memory. In the last round CPUs do not help: in the
// others they may answer every query before the GPU.
func TestHelpersInBatchOfPool(t *testing.T) {
	runs, works, want := poolBatch(t, frequentBatch(t, rand.New(rand.NewPCG(62, 1)), 24))
	notOnGPU := 0
	const rounds = 4
	for round := range rounds {
		runs[0].d.gpu.unaided = round == rounds-1
		outcomes := make([]error, len(works))
		runs[0].RunBatch(t.Context(), works, outcomes)
		for i, r := range runs {
			switch err := outcomes[i]; {
			case err == nil:
				checkRun(t, i, r, &want[i])
			case !errors.Is(err, sched.ErrFailed):
				t.Fatalf("run %d: %v", i, err)
			}
			if outcomes[i] != nil || r.answer.By == sched.CPU {
				notOnGPU++
			}
			r.gpu.refusal = ""
			r.rewind()
			r.decide()
		}
	}
	if notOnGPU < rounds || notOnGPU == rounds*len(runs) {
		t.Errorf("%d of %d queries not on the GPU, want those that do not fit", notOnGPU, rounds*len(runs))
	}
}

// Optional helpers take queries while a CPU is free, and never wait for one.
func TestHelpersOptional(t *testing.T) {
	for _, free := range []bool{true, false} {
		s := NewSearcher(indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), nil)
		sc := testScratch(t, "whitespace")
		items, answers := make([]batchItem, 3), make([]plan.Answer, 3)
		for i := range items {
			q, err := s.Prepare(sc, plantest.Parse(t, "w0 w1"), Options{K: 10})
			if err != nil {
				t.Fatal(err)
			}
			items[i] = batchItem{query: q, answer: &answers[i]}
		}
		slots := make(chan struct{}, 1)
		if !free {
			slots <- struct{}{}
		}
		var h helpers
		h.reset(t.Context(), slots, items, true)
		h.optional = true
		h.launch([]int{0, 1, 2})
		h.Begin(0, []int{0, 1}, []int{2})
		ended := make(chan error, 1)
		go func() { ended <- h.wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(longWait):
			t.Fatal("they wait for a CPU")
		}
		for i := range items {
			if h.settle(i) != free || (len(answers[i].Hits) > 0) != free {
				t.Errorf("a CPU is free: %t; query %d: by a CPU %t, %d hits", free, i, h.answered(i), len(answers[i].Hits))
			}
		}
	}
}

// endedIn is a context that has ended in the code of a function only.
type endedIn struct {
	context.Context
	function string
}

func (c endedIn) Err() error {
	err := c.Context.Err()
	askedContext{c.Context, c.function, func() { err = context.Canceled }}.Err()
	return err
}

// The runs whose own contexts have ended, before the batch or on a helper, end with their
// errors; the others are answered, also if they are led by such a run.
func TestBatchOfPoolContexts(t *testing.T) {
	for _, function := range []string{"RunBatch", "batchItem).onCPU"} {
		t.Run(function, func(t *testing.T) {
			queries := slices.Repeat([]query.Node{plantest.Parse(t, "w0 w1 w2 w3")}, 8) // larger than the memory
			runs, works, want := poolBatch(t, queries)
			for i := 0; i < len(runs); i += 2 {
				runs[i].ctx = endedIn{t.Context(), function} //nolint:fatcontext // one for each run
			}
			outcomes := make([]error, len(works))
			runs[0].RunBatch(t.Context(), works, outcomes)
			ended := 0
			for i, r := range runs {
				switch err := outcomes[i]; {
				case i%2 == 0 && errors.Is(err, context.Canceled):
					ended++
				case i%2 == 0 && function == "RunBatch" || err != nil && !errors.Is(err, sched.ErrFailed):
					t.Errorf("run %d: %v", i, err)
				case err == nil:
					checkRun(t, i, r, &want[i])
				}
			}
			if ended == 0 {
				t.Error("no run ended with its context")
			}
		})
	}
}
