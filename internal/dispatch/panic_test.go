package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
)

const poisoned = "index out of range [99]"

// poison makes the GPU's code, not the CPU's, panic over a stage.
func (q *Query) poison(stage int) {
	for i := range q.gpu.stages[stage].Legs {
		q.gpu.stages[stage].Legs[i].Field = 99 // no segment has so many
	}
}

func caught(f func()) (c *invariant.Caught) {
	defer func() {
		if value := recover(); value != nil {
			c = invariant.Catch(value)
		}
	}()
	f()
	return nil
}

func allStacks() string {
	stacks := make([]byte, 4<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}

// checkClose checks that the queues are empty and that the Dispatcher closes.
func checkClose(t *testing.T, d *Dispatcher) {
	t.Helper()
	s := d.Stats().Pool
	for at := range s.Places {
		if p := &s.Places[at]; p.Running != 0 || p.Queued != 0 {
			t.Errorf("%s: %d run and %d wait at the end", sched.Place(at), p.Running, p.Queued)
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(longWait):
		t.Fatal("Close waits for a view or a lane that was not given back")
	}
}

// The panic reaches the caller with the original stack; the query keeps neither lane nor view,
// and the GPU answers the next queries.
func TestQueryPanics(t *testing.T) {
	for _, queues := range []bool{true, false} {
		t.Run(fmt.Sprintf("queues=%t", queues), func(t *testing.T) {
			g := testGPU(t, pipeline.Options{Lanes: 1})
			p, d := dispatched(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 600)), g, Config{Policy: PolicyGPU})
			if !queues {
				p.gpu.Use(withoutPool(g))
			}
			for range 3 {
				prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w2"), Options{K: 10})
				if err != nil {
					t.Fatal(err)
				}
				prepared.poison(0)
				c := caught(func() { _, _ = prepared.Run(t.Context(), testScratch(t, "whitespace"), nil) })
				if c == nil || !strings.Contains(c.Error(), poisoned) || !strings.Contains(c.Error(), "internal/gpu/pipeline") {
					t.Fatalf("it panics with %v", c)
				}
				if a := p.check(t, plantest.Parse(t, "w2 w3"), Options{K: 10}); a.Traversal != TraversalGPU {
					t.Errorf("the next query is answered by %s", a.Traversal)
				}
			}
			checkClose(t, d)
		})
	}
}

type gate struct{ entered, open chan struct{} }

func (g *gate) Run(context.Context, sched.Place) error {
	close(g.entered)
	<-g.open
	return nil
}

func (g *gate) RunBatch(context.Context, []sched.Work, []error) { panic("it is alone") }

// One query panics on the GPU; each of the others gets the right answer, once.
func TestBatchPanics(t *testing.T) {
	g := testGPU(t, pipeline.Options{Lanes: 1})
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 600))
	_, d := dispatched(t, snapshot, g, Config{Policy: PolicyGPU, CPUs: 1})
	for which := range 3 { // the leader is one of them
		door := &gate{make(chan struct{}), make(chan struct{})}
		var wg sync.WaitGroup
		wg.Go(func() {
			j := sched.Job{Alone: true}
			j.Cost[sched.CPU], j.Cost[sched.GPU] = sched.Never, time.Millisecond
			if err := d.pool.Do(t.Context(), &j, door); err != nil {
				t.Error(err)
			}
		})
		<-door.entered
		var bugs [9]*invariant.Caught
		for i := range bugs {
			p := &gpuPair{cpu: NewSearcher(snapshot, nil), gpu: NewSearcher(snapshot, nil), sc: testScratch(t, "whitespace")}
			p.gpu.Use(d)
			q := plantest.Parse(t, fmt.Sprintf("w%d w%d", i%4, (i+1)%4))
			o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[i%3], K: []int{10, 300}[i%2], Count: true}
			want := answer(t, p.cpu, p.sc, q, o)
			prepared, err := p.gpu.Prepare(p.sc, q, o)
			if err != nil {
				t.Fatal(err)
			}
			if i == 4*which {
				prepared.poison(0)
			}
			wg.Go(func() {
				bugs[i] = caught(func() {
					var trace *plan.Trace
					if i%2 == 0 {
						trace = new(plan.Trace)
					}
					a, err := prepared.RunTraced(t.Context(), p.sc, nil, trace)
					if err != nil {
						t.Errorf("query %d: %v", i, err)
					}
					checkRun(t, i, &queryRun{answer: a}, &want)
				})
			})
		}
		waitUntil(t, func() bool { return d.Stats().Pool.Places[sched.GPU].Queued >= len(bugs) }, func() string { return "not all queries wait for the GPU" })
		batches := d.Stats().Pool.Places[sched.GPU].Batches
		close(door.open)
		wg.Wait()
		failed := 0
		for _, bug := range bugs {
			if bug != nil {
				failed++
			}
		}
		if s := d.Stats().Pool; failed != 1 || s.Places[sched.GPU].Batches != batches+1 || s.Failed != int64((which+1)*(len(bugs)-1)) {
			t.Errorf("%d queries panicked, %d batches, %d ran again: want one, one, and the others", failed, s.Places[sched.GPU].Batches-batches, s.Failed)
		}
	}
	checkClose(t, d)
}

// Runs begin again, however far they had come.
func TestBatchOfRunsPanics(t *testing.T) {
	for _, at := range []sched.Place{sched.CPU, sched.GPU} {
		g := testGPU(t, pipeline.Options{})
		d, runs, works, want := batchRuns(t, g)
		last := runs[8] // of plan.ModeAndOr, which finds too few
		last.plan.poison(1)
		if bug := caught(func() { runs[0].RunBatch(t.Context(), works, make([]error, len(works))) }); bug == nil {
			t.Fatal("it does not panic")
		}
		if d.Stats().GPUSteps == 0 {
			t.Fatal("no run had come anywhere")
		}
		for i, r := range runs {
			r.d = &Dispatcher{gpu: g, costs: d.costs}
			r.policy = costPolicy{}
			if r == last && at == sched.GPU {
				continue
			}
			if err := r.Run(t.Context(), at); err != nil {
				t.Fatalf("run %d: %v", i, err)
			}
			checkRun(t, i, r, &want[i])
		}
	}
}

// The bug is reported; the process and the loading of other lists continue, and nothing is
// kept.
func TestPreloadPanics(t *testing.T) {
	g := testGPU(t, pipeline.Options{Lanes: 1})
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 50000, 2, 3, 5, 7)), g, Config{})
	reported := make(chan *invariant.Caught, 1)
	d.onBug = func(c *invariant.Caught) { reported <- c }
	q := plantest.Parse(t, "e2 e3 e5 e7")
	prepared, err := p.gpu.Prepare(p.sc, q, Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	legs := prepared.gpu.stages[0].Legs
	w := &preloadRequest{d: d, snapshot: p.gpu.planner.Snapshot().Retain(), query: prepared.gpu.stages[0]}
	w.query.Legs = make([]pipeline.Leg, len(legs))
	for i := range legs {
		w.query.Legs[i].Leg = legs[i].Leg
		w.query.Legs[i].Field = 99
	}
	d.preloader.busy.Store(true)
	go w.serve()
	select {
	case bug := <-reported:
		if !strings.Contains(bug.Error(), poisoned) || !strings.Contains(bug.Error(), "pipeline") {
			t.Errorf("reported: %v", bug)
		}
	case <-time.After(longWait):
		t.Fatal("nothing was reported")
	}
	waitUntil(t, func() bool { return !d.preloader.busy.Load() }, func() string { return "the preloader is busy after its panic" })
	if s := d.Stats(); s.Bugs != 1 || s.Preloaded != 0 {
		t.Errorf("%+v: want one bug", s)
	}
	p.check(t, q, Options{K: 10, Policy: PolicyGPU})
	checkClose(t, d)
}

// A bug that no query waits for ends the process where invariants are checked, else is logged
// with its stack.
func TestReportBug(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	d := new(Dispatcher)
	bug := caught(func() { d.reportBug("testing", caught(func() { panic("broken") })) })
	if (bug != nil) != invariant.Enabled || d.bugs.Load() != 1 {
		t.Errorf("it panics with %v, %d are counted", bug, d.bugs.Load())
	}
	if text := log.String(); !invariant.Enabled && (!strings.Contains(text, "panic=broken") || !strings.Contains(text, "TestReportBug")) {
		t.Errorf("logged: %s", text)
	}
}

// askedContext calls asked when its error is read.
type askedContext struct {
	context.Context
	function string
	asked    func()
}

func (c askedContext) Err() error {
	if strings.Contains(string(debug.Stack()), c.function) {
		c.asked()
	}
	return c.Context.Err()
}

// The panic continues in the caller of the batch, and no CPU stays taken: of a query that helpers answer beside one on the GPU,
// and of one that is answered at once.
func TestHelperPanics(t *testing.T) {
	g := testGPU(t, pipeline.Options{Lanes: 1})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 600)), g)
	d := p.gpu.dispatcher
	plans := make([]*Query, 6)
	for i := range plans {
		var err error
		if plans[i], err = p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w2"), Options{K: 10, CPU: i > 0}); err != nil {
			t.Fatal(err)
		}
	}
	for range cap(d.slots) + 1 {
		ctx := askedContext{t.Context(), "batchPart).answerAtOnce", func() { panic("asked") }}
		if c := caught(func() {
			_ = d.SearchPrepared(ctx, plans[1:], new(BatchScratch), make([]plan.Answer, len(plans)-1))
		}); c == nil || c.Value != "asked" || len(d.slots) != 0 {
			t.Fatalf("answered at once, it panics with %v, %d CPUs are kept", c, len(d.slots))
		}
		ctx.function = "batchItem).onCPU"
		c := caught(func() {
			_ = d.SearchPrepared(ctx, plans, new(BatchScratch), make([]plan.Answer, len(plans)))
		})
		if c == nil || c.Value != "asked" || !strings.Contains(c.Error(), "helpers") {
			t.Fatalf("it panics with %v", c)
		}
		if len(d.slots) != 0 {
			t.Fatalf("%d CPUs are kept", len(d.slots))
		}
	}
	if n := d.parts.Load(); n != 0 {
		t.Errorf("%d parts of batches are counted at the end", n)
	}
	if err := d.SearchPrepared(t.Context(), plans, new(BatchScratch), make([]plan.Answer, len(plans))); err != nil {
		t.Error(err)
	}
}

// The batch ends when nobody writes to its answers any more.
func TestBatchOfSearcherPanics(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 24 << 10}, Lanes: 1})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 6000)), g)
	queries := frequentBatch(t, rng, 24)
	p.checkBatch(t, queries, Options{K: 10}) // since then it is known that memory is short
	plans := make([]*Query, len(queries))
	for i, q := range queries {
		var err error
		if plans[i], err = p.gpu.Prepare(p.sc, q, Options{K: 10}); err != nil {
			t.Fatal(err)
		}
	}
	for n, prepared := range plans {
		for i := range prepared.gpu.stages[0].Legs { // lists that nobody else has, and that the GPU cannot read
			leg := &prepared.gpu.stages[0].Legs[i]
			list := *leg.List
			list.Codec = nil
			list.FrontierOffset = 1<<40 + uint64(8*n+i)
			leg.List = &list
		}
	}
	held := make(chan struct{}) // the CPUs, until it is closed
	ctx := askedContext{t.Context(), "helpers).turn", func() { <-held }}
	bug := make(chan *invariant.Caught, 1)
	part := new(batchPart)
	go func() {
		bug <- caught(func() {
			_ = p.gpu.dispatcher.SearchPrepared(ctx, plans, &BatchScratch{parts: []*batchPart{part}}, make([]plan.Answer, len(plans)))
		})
	}()
	h := &part.helpers
	early := false
	waitUntil(t, func() bool { // the CPUs have begun, and the batch waits for them or ends early
		select {
		case c := <-bug:
			bug <- c
			early = true
		default:
		}
		h.mu.Lock()
		abandoned := h.begun && errors.Is(h.err, errAbandoned)
		h.mu.Unlock()
		return early || abandoned && strings.Contains(allStacks(), "(*helpers).wait(")
	}, func() string { return "the batch goes on" })
	if early {
		t.Error("the batch ends before its CPUs")
	}
	close(held)
	if c := <-bug; c == nil {
		t.Error("it does not panic")
	}
	p.sc = testScratch(t, "whitespace")
	p.checkBatch(t, queries, Options{K: 10})
}
