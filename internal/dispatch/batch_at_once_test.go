package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// atOnceBatch logs the calls for each query, and answers like its Searcher.
type atOnceBatch struct {
	t       testing.TB
	s       *Searcher
	nodes   []query.Node
	options func(i int) Options
	called  func(call string, i int) error // may be nil

	mu      sync.Mutex
	calls   []string // such as "prepare 3"
	plans   []*Query // by query
	answers []plan.Answer
	errs    []error
}

func newAtOnceBatch(t testing.TB, s *Searcher, nodes []query.Node, options func(i int) Options) *atOnceBatch {
	n := len(nodes)
	return &atOnceBatch{t: t, s: s, nodes: nodes, options: options, plans: make([]*Query, n), answers: make([]plan.Answer, n), errs: make([]error, n)}
}

func (b *atOnceBatch) log(call string, i int) error {
	b.mu.Lock()
	b.calls = append(b.calls, fmt.Sprint(call, " ", i))
	b.mu.Unlock()
	if b.called != nil {
		return b.called(call, i)
	}
	return nil
}

func (b *atOnceBatch) Len() int              { return len(b.nodes) }
func (b *atOnceBatch) Fail(i int, err error) { b.errs[i] = err }
func (b *atOnceBatch) NewWorker() (BatchWorker, error) {
	return &atOnceWorker{b, testScratch(b.t, "whitespace")}, nil
}

type atOnceWorker struct {
	*atOnceBatch
	sc *Scratch
}

func (w *atOnceWorker) Scratch() *Scratch { return w.sc }
func (w *atOnceWorker) Release()          {}

func (w *atOnceWorker) Prepare(i int, into *Query) (*Query, error) {
	w.plans[i] = into
	if err := w.log("prepare", i); err != nil {
		return nil, err
	}
	return into, w.s.PrepareInto(into, w.sc, w.nodes[i], w.options(i))
}

func (w *atOnceWorker) Complete(i int, _ *Query, a *plan.Answer) error {
	w.answers[i] = *a
	w.answers[i].Hits = slices.Clone(a.Hits)
	return w.log("complete", i)
}

// check compares the answers with the CPU's.
func (b *atOnceBatch) check(snapshot *index.Snapshot) {
	b.t.Helper()
	cpu, sc := NewSearcher(snapshot, nil), testScratch(b.t, "whitespace")
	for i, q := range b.nodes {
		o := b.options(i)
		want := answer(b.t, cpu, sc, q, o)
		if got := &b.answers[i]; b.errs[i] != nil || !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode || got.Matches != want.Matches {
			b.t.Fatalf("query %d, %s, %+v: error %v, mode %s, %d matches, hits %v; the CPU has mode %s, %d, %v", i, q, o, b.errs[i],
				got.Mode, got.Matches, head(got.Hits), want.Mode, want.Matches, head(want.Hits))
		}
	}
}

// A query that only a CPU answers is completed before the next one of its worker is planned, with the same memory, unless many
// others wait for the GPU.
func TestBatchAtOnce(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	g.unaided = true
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300))
	const n = 64
	nodes := make([]query.Node, n)
	for i := range nodes {
		nodes[i] = plantest.Parse(t, fmt.Sprintf("w%d w%d", i%4, (i+1)%4))
	}
	for _, c := range []struct {
		name   string
		onGPU  func(i int) bool
		atOnce int
		policy bool // the queries ask for policy cpu, not for the CPU
	}{
		{"all", func(int) bool { return false }, n, false},
		{"by policy", func(int) bool { return false }, n, true},
		{"none", func(int) bool { return true }, 0, false},
		{"half", func(i int) bool { return i%2 == 0 }, 0, false},
		{"one in sixteen", func(i int) bool { return i%16 == 15 }, n - n/16, false},
		{"one in sixteen, from the first on", func(i int) bool { return i%16 == 0 }, n - n/16 - 7, false},
		{"the last half", func(i int) bool { return i >= n/2 }, n / 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, d := dispatched(t, snapshot, g, Config{Policy: PolicyGPU})
			d.slots = make(chan struct{}, 1)
			before := g.Stats()
			b := newAtOnceBatch(t, p.gpu, nodes, func(i int) Options {
				switch o := (Options{K: 10}); {
				case c.onGPU(i):
					return o
				case c.policy:
					o.Policy = PolicyCPU
					return o
				default:
					o.CPU = true
					return o
				}
			})
			if err := d.SearchBatch(t.Context(), b, new(BatchScratch)); err != nil {
				t.Fatal(err)
			}
			b.check(snapshot)
			atOnce, onGPU := 0, 0
			for i := range nodes {
				at := slices.Index(b.calls, fmt.Sprint("prepare ", i))
				if b.calls[at+1] == fmt.Sprint("complete ", i) {
					atOnce++
				}
				if c.onGPU(i) {
					onGPU++
				}
			}
			if atOnce != c.atOnce || len(b.calls) != 2*n {
				t.Errorf("%d queries are answered at once, want %d, in %d calls", atOnce, c.atOnce, len(b.calls))
			}
			if after, s := g.Stats(), d.Stats(); after.OnGPU-before.OnGPU != int64(onGPU) || after.OnCPU-before.OnCPU != int64(n-onGPU) || s.GPUSteps != int64(onGPU) || s.CPUSteps != int64(n-onGPU) {
				t.Errorf("%+v, then %+v, %+v: want %d queries on the GPU", before, after, s, onGPU)
			}
			different := slices.Clone(b.plans)
			slices.SortFunc(different, func(x, y *Query) int { return slices.Index(b.plans, x) - slices.Index(b.plans, y) })
			if k := len(slices.Compact(different)); c.atOnce == n && k > n/4 || c.atOnce == 0 && k != n {
				t.Errorf("%d plans for %d queries, %d of them at once", k, n, c.atOnce)
			}
		})
	}
}

// Batches of too few queries for several goroutines to plan them are nevertheless answered by all CPUs.
func TestBatchAtOnceWorkers(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300))
	p, d := dispatched(t, snapshot, g, Config{})
	d.slots = make(chan struct{}, 2)
	b := newAtOnceBatch(t, p.gpu, slices.Repeat([]query.Node{plantest.Parse(t, "w0 w1")}, 20), func(int) Options { return Options{K: 10, CPU: true} })
	met := make(chan struct{})
	var once sync.Once
	running := 0
	var mu sync.Mutex
	b.called = func(call string, i int) error {
		mu.Lock()
		running++
		if running == 2 {
			once.Do(func() { close(met) })
		}
		mu.Unlock()
		defer func() {
			mu.Lock()
			running--
			mu.Unlock()
		}()
		if call == "prepare" && i == 0 {
			return nil // nothing is answered yet
		}
		select {
		case <-met:
			return nil
		case <-time.After(longWait):
			return errors.New("no other goroutine works")
		}
	}
	if err := d.SearchBatch(t.Context(), b, new(BatchScratch)); err != nil {
		t.Fatal(err)
	}
	b.check(snapshot)
	if len(d.slots) != 0 {
		t.Errorf("%d slots are kept", len(d.slots))
	}
}

// While the first query is answered, other goroutines answer all that are not of its turn, which is short.
func TestBatchAtOnceFirstTurn(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300))
	p, d := dispatched(t, snapshot, g, Config{})
	d.slots = make(chan struct{}, 2)
	const n = 100
	b := newAtOnceBatch(t, p.gpu, slices.Repeat([]query.Node{plantest.Parse(t, "w0 w1")}, n), func(int) Options { return Options{K: 10, CPU: true} })
	others := make(chan struct{}, n)
	b.called = func(call string, i int) error {
		switch {
		case call == "complete" && i > 0:
			others <- struct{}{}
		case call == "complete":
			deadline := time.After(longWait)
			for range n - firstTurn {
				select {
				case <-others:
				case <-deadline:
					return errors.New("others wait for the first goroutine")
				}
			}
		}
		return nil
	}
	if err := d.SearchBatch(t.Context(), b, new(BatchScratch)); err != nil {
		t.Fatal(err)
	}
	b.check(snapshot)
}

// A goroutine whose answers take long leaves its CPU to another batch before its turn ends.
func TestBatchAtOnceLeavesSlot(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300))
	p, d := dispatched(t, snapshot, g, Config{})
	d.slots = make(chan struct{}, 1)
	nodes := slices.Repeat([]query.Node{plantest.Parse(t, "w0 w1")}, 4*firstTurn) // a turn has a quarter of the rest at most
	for range 5 {                                                                 // the other goroutine may be late
		b := newAtOnceBatch(t, p.gpu, nodes, func(int) Options { return Options{K: 10, CPU: true} })
		var completed atomic.Int64
		at := make(chan int64, 1)
		b.called = func(call string, i int) error {
			if call != "complete" {
				return nil
			}
			if i == 0 {
				go func() {
					d.slots <- struct{}{}
					at <- completed.Load()
					<-d.slots
				}()
			}
			time.Sleep(3 * longTurn)
			completed.Add(1)
			return nil
		}
		if err := d.SearchBatch(t.Context(), b, new(BatchScratch)); err != nil {
			t.Fatal(err)
		}
		b.check(snapshot)
		if <-at < firstTurn {
			return
		}
	}
	t.Error("the CPU was kept until all queries of the turn were answered")
}

// Batches of queries for CPUs, for the GPU and for both have the CPU's answers, with other errors for some.
func TestBatchAtOnceRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(107, 1))
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 500, 2, true))
	errPrepare := errors.New("prepare")
	var sc BatchScratch
	for _, policy := range []Policy{PolicyCost, PolicyGPU} {
		p, d := dispatched(t, snapshot, g, Config{Policy: policy})
		d.partQueries = 60
		d.slots = make(chan struct{}, 3)
		for range sampletest.Rounds(4, 20) {
			n := 1 + rng.IntN(200)
			nodes, options := make([]query.Node, n), make([]Options, n)
			share := rng.IntN(12) // one in this number is for the GPU
			for i := range nodes {
				o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[rng.IntN(3)], K: []int{1, 10, 1000}[rng.IntN(3)], Count: rng.IntN(2) == 0}
				if nodes[i] = withPhrase(rng); rng.IntN(3) == 0 {
					nodes[i] = plantest.Words(rng, 1+rng.IntN(4))
				}
				o.CPU = share > 0 && rng.IntN(share) > 0 && rng.IntN(3) > 0
				options[i] = o
			}
			failing := rng.IntN(2 * n)
			b := newAtOnceBatch(t, p.gpu, nodes, func(i int) Options { return options[i] })
			b.called = func(call string, i int) error {
				if call == "prepare" && i == failing {
					return errPrepare
				}
				return nil
			}
			before := g.Stats()
			if err := d.SearchBatch(t.Context(), b, &sc); err != nil {
				t.Fatal(err)
			}
			answered := int64(n)
			if failing < n {
				if !errors.Is(b.errs[failing], errPrepare) || b.answers[failing].Hits != nil {
					t.Errorf("query %d: %v, %d hits", failing, b.errs[failing], len(b.answers[failing].Hits))
				}
				b.errs[failing], b.answers[failing] = nil, answer(t, p.cpu, p.sc, nodes[failing], options[failing])
				answered--
			}
			b.check(snapshot)
			if after := g.Stats(); after.OnGPU+after.OnCPU-before.OnGPU-before.OnCPU != answered {
				t.Errorf("%+v, then %+v: want %d queries more", before, after, answered)
			}
		}
	}
}

// A query during which the context ends fails, is not completed, and ends the batch. A file that cannot be read fails its
// queries only.
func TestBatchAtOnceErrors(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	ix := plantest.FrequentIndex(t, "simdbp", 300)
	snapshot := indextest.Snapshot(t, ix)
	p, d := dispatched(t, snapshot, g, Config{})
	d.slots = make(chan struct{}, 1)
	nodes := slices.Repeat([]query.Node{plantest.Parse(t, "w0 w1")}, 40)
	options := func(int) Options { return Options{K: 10, CPU: true} }
	b := newAtOnceBatch(t, p.gpu, nodes, options)
	ctx, cancel := context.WithCancel(t.Context())
	b.called = func(call string, i int) error {
		if call == "prepare" && i == 5 {
			cancel()
		}
		return nil
	}
	if err := d.SearchBatch(ctx, b, new(BatchScratch)); !errors.Is(err, context.Canceled) {
		t.Errorf("the batch: %v", err)
	}
	for i := range nodes {
		if (b.answers[i].Hits != nil) != (i < 5) || errors.Is(b.errs[i], context.Canceled) != (i == 5) {
			t.Errorf("query %d: %d hits, %v", i, len(b.answers[i].Hits), b.errs[i])
		}
	}
	if n := len(d.slots) + int(d.parts.Load()); n != 0 {
		t.Errorf("%d slots and parts are kept", n)
	}
	truncateAll(t, ix.Dir(), "*postings*")
	b = newAtOnceBatch(t, p.gpu, nodes, options)
	if err := d.SearchBatch(t.Context(), b, new(BatchScratch)); err != nil {
		t.Fatal(err)
	}
	for i, err := range b.errs {
		if !errors.Is(err, base.ErrCorrupt) || b.answers[i].Hits != nil {
			t.Errorf("query %d: %d hits, error %v", i, len(b.answers[i].Hits), err)
		}
	}
}
