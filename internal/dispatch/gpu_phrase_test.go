package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// randomPhrase has two to four words, sometimes one twice, slop, or a last word that is the beginning of others.
func randomPhrase(rng *rand.Rand) *query.Phrase {
	p := &query.Phrase{Text: plantest.RandomWords(rng, 2+rng.IntN(3))}
	switch rng.IntN(6) {
	case 0:
		p.Field, p.Text = "title", plantest.RandomWords(rng, 2)
	case 1:
		p.Slop = 1 + rng.IntN(4)
	case 2:
		p.Prefix = true
		p.Text += " w" + p.Text[1:2]
	}
	if rng.IntN(4) == 0 {
		p.Boost = 2.5
	}
	return p
}

// withPhrase is a phrase alone or beside required, optional and excluded words, phrases, filters and groups.
func withPhrase(rng *rand.Rand) query.Node {
	if rng.IntN(3) == 0 {
		return randomPhrase(rng)
	}
	b := &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: randomPhrase(rng)}}}
	for range 1 + rng.IntN(3) {
		c := query.Clause{Occur: []query.Occur{query.Must, query.Must, query.Should, query.MustNot, query.Filter}[rng.IntN(5)]}
		switch rng.IntN(5) {
		case 0:
			c.Node = randomPhrase(rng)
		case 1:
			c.Node = query.Any(plantest.Words(rng, 1), randomPhrase(rng))
		default:
			c.Node = &query.Term{Text: plantest.RandomWord(rng), Boost: 1 + float64(rng.IntN(3))}
		}
		b.Clauses = append(b.Clauses, c)
	}
	return b
}

// Queries that require a phrase have the CPU's hits, scores, order and matches with candidates from a GPU: alone and in
// batches, over several segments with deleted documents, for every k, with and without a count.
func TestGPUPhrases(t *testing.T) {
	rng := rand.New(rand.NewPCG(101, 1))
	ix := plantest.RandomIndex(t, rng, 700, 3, true)
	plain := indextest.Snapshot(t, ix)
	other := plantest.RandomIndex(t, rng, 500, 4, true)
	plantest.Reorder(t, other)
	reordered := indextest.Snapshot(t, other)
	for _, c := range sampletest.Some(t, sampletest.UnderRace(3, 2), []struct {
		name      string
		open      func(t *testing.T) *GPU
		reordered bool
		onCPU     bool
	}{
		{name: "one", open: func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{}) }},
		{name: "reordered", open: func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{}) }, reordered: true},
		{name: "two replicas", open: twoReplicas},
		{name: "small segments", open: func(t *testing.T) *GPU {
			g := testGPU(t, pipeline.Options{})
			g.smallDocs = plain.Segments[2].NumDocs() + 1
			return g
		}},
		{name: "little memory", open: func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 24 << 10}}) }},
		{name: "two ranges", onCPU: true, open: func(t *testing.T) *GPU {
			return testGPU(t, pipeline.Options{Library: twoGPUs(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}})
		}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			snapshot := plain
			if c.reordered {
				snapshot = reordered
			}
			g := c.open(t)
			p := newGPUPair(t, snapshot, g)
			pooled, d := dispatched(t, snapshot, g, Config{Policy: PolicyGPU})
			matched, steps := 0, 0
			for range sampletest.Rounds(2, 8) {
				for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr} {
					o := Options{Mode: mode, K: []int{1, 10, 1000}[rng.IntN(3)], Count: rng.IntN(2) == 0}
					batch := make([]query.Node, 8)
					for i := range batch {
						batch[i] = withPhrase(rng)
						a := p.check(t, batch[i], o)
						matched += len(a.Hits)
						steps += a.StepsAt[sched.GPU]
						pooled.check(t, batch[i], o)
					}
					p.checkBatch(t, batch, o)
					p.check(t, batch[0], Options{Mode: mode, Count: true})
				}
			}
			if matched == 0 || (steps == 0) != c.onCPU {
				t.Errorf("%d hits, %d steps of the GPU; on the CPU only: %t", matched, steps, c.onCPU)
			}
			if s := d.Stats(); (s.GPUSteps == 0) != c.onCPU {
				t.Errorf("with a pool: %+v", s)
			}
			for _, device := range g.Stats().Devices {
				if device.Errors != 0 {
					t.Errorf("%+v", device)
				}
			}
		})
	}
}

// Excluded phrases are bitmaps on the GPU, as filters are.
func TestGPUExcludedPhrases(t *testing.T) {
	rng := rand.New(rand.NewPCG(102, 1))
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 2, true)), g)
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr} {
		batch := make([]query.Node, 6)
		for i := range batch {
			b := &query.Boolean{Clauses: []query.Clause{
				{Node: plantest.Words(rng, 2)}, {Occur: query.MustNot, Node: &query.Phrase{Text: "w0 w1"}}, {Occur: query.MustNot, Node: &query.Phrase{Text: plantest.RandomWords(rng, 2)}},
			}}
			if i%2 == 0 {
				b.Clauses = append(b.Clauses, query.Clause{Occur: query.MustNot, Node: &query.Term{Text: plantest.RandomWord(rng)}})
			}
			if i%3 == 0 {
				b.Clauses = append(b.Clauses, query.Clause{Occur: query.Must, Node: &query.Term{Text: "w2"}})
			}
			batch[i] = b
			p.check(t, b, Options{Mode: mode, K: 10, Count: i%2 == 1})
		}
		p.checkBatch(t, batch, Options{Mode: mode, K: 10, Count: true})
	}
	if s := g.Stats(); s.OnCPU > s.OnGPU/4 || s.Devices[0].Filters == 0 { // in few queries a word is excluded by itself
		t.Errorf("%+v: want the queries on the GPU, with bitmaps", s)
	}
}

// A trace has the intersection by the GPU, with its lists, and the positions read by the CPU; or the reason why the CPU does it all.
func TestGPUPhraseTrace(t *testing.T) {
	rng := rand.New(rand.NewPCG(103, 1))
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 2, true))
	p := newGPUPair(t, snapshot, g)
	trace := func(s *Searcher, text string, o Options) (plan.Answer, *plan.Trace) {
		q, err := s.Prepare(p.sc, plantest.Parse(t, text), o)
		if err != nil {
			t.Fatal(err)
		}
		traced := new(plan.Trace)
		a, err := q.RunTraced(t.Context(), p.sc, nil, traced)
		if err != nil {
			t.Fatal(err)
		}
		return a, traced
	}
	a, got := trace(p.gpu, `+"w0 w1 w0" +w2 w5`, Options{K: 10})
	if len(got.Steps) != 3 || a.Migrations != 1 || a.By != sched.CPU || a.Traversal != TraversalSteps {
		t.Fatalf("%+v:\n%s", a, got)
	}
	first := &got.Steps[0]
	if first.Name != plan.StepIntersect || first.Place != sched.GPU || len(first.Lists) != 3 || first.Left == 0 || first.Device == nil {
		t.Errorf("the GPU's step:\n%+v", first)
	}
	left := int64(0)
	for _, s := range got.Steps[1:] {
		if s.Name != plan.StepPositions || s.Place != sched.CPU || s.Segment == "" {
			t.Errorf("the CPU's step:\n%+v", s)
		}
		left += s.Candidates
	}
	if left != first.Left {
		t.Errorf("the GPU left %d candidates, the CPU read %d", first.Left, left)
	}
	if text := got.String(); !strings.Contains(text, "which finds the candidates of the phrase for the cpu") || !strings.Contains(text, "candidates after 3 lists") {
		t.Errorf("notes:\n%s", text)
	}
	if a, got = trace(p.gpu, `"w0 missing"`, Options{K: 10, Count: true}); len(got.Steps) != 1 || a.By != sched.GPU || len(a.Hits) != 0 {
		t.Errorf("without candidates: %+v\n%s", a, got)
	}
	if a, got = trace(p.gpu, `"w0 w1"`, Options{K: 10, Policy: PolicyCPU}); a.StepsAt[sched.GPU] != 0 || len(got.Steps) != 2 {
		t.Errorf("policy cpu: %+v\n%s", a, got)
	}
	for text, reason := range map[string]string{
		`w1 "w2 w3"`: "it has a phrase that is not required", `"w2 w2"`: "it has a phrase, but only one word", `+w1 +(w2 (+"w3 w4" +w5))`: "it has a phrase that is not required",
	} {
		if a, got = trace(p.gpu, text, Options{K: 10}); a.StepsAt[sched.GPU] != 0 || !strings.Contains(got.String(), "answered by the CPU: "+reason) {
			t.Errorf("%s: want %q:\n%s", text, reason, got)
		}
	}
	two := testGPU(t, pipeline.Options{Library: twoGPUs(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}})
	if a, got = trace(newGPUPair(t, snapshot, two).gpu, `"w0 w1"`, Options{K: 10}); a.StepsAt[sched.GPU] != 0 || !strings.Contains(got.String(), cpuPhrasePath) {
		t.Errorf("two ranges: %+v\n%s", a, got)
	}
}

// Policy cost intersects on the GPU if that is predicted to take less time than the CPU's intersection, alone and in a batch; a
// placement where it says.
func TestGPUPhraseByCost(t *testing.T) {
	rng := rand.New(rand.NewPCG(104, 1))
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 2, true))
	nodes := []query.Node{&query.Phrase{Text: "w0 w1"}, &query.Phrase{Text: "w3 w2"}, plantest.Parse(t, `+"w0 w1" +w3`)}
	for _, onGPU := range []bool{true, false} {
		costs := cost.New(cost.Machine{})
		p, d := dispatched(t, snapshot, g, Config{Policy: PolicyCost, Costs: costs})
		for _, q := range nodes {
			prepared, err := p.gpu.Prepare(p.sc, q, Options{K: 10})
			if err != nil {
				t.Fatal(err)
			}
			pr := new(predictor)
			pr.begin(model{costs, &d.selectivity, false}, false)
			pr.describe(prepared, 0)
			slow := map[cost.Kind]cost.Features{cost.GPUIntersect: {Lists: len(pr.lengths) - 1, Shortest: pr.lengths[0], Second: pr.lengths[1], Longest: pr.lengths[1], Sum: pr.lengths[0] + pr.lengths[1], Batch: 1, K: 10}}
			if onGPU { // the CPU's parts are slow
				slow = map[cost.Kind]cost.Features{cost.CPUTree: pr.whole, cost.CPUBegin: {Shortest: pr.lengths[0]}, cost.CPUIntersect: {Candidates: pr.lengths[0], Longest: pr.lengths[1]}}
			}
			for range 100 {
				for kind, f := range slow {
					costs.Observe(kind, &f, 10*time.Second)
				}
			}
		}
		for _, q := range nodes {
			want := p.check(t, q, Options{K: 10, Count: true})
			if (want.StepsAt[sched.GPU] > 0) != onGPU {
				t.Errorf("%s with fast candidates by the GPU %t: %+v", q, onGPU, want)
			}
			for _, at := range []sched.Place{sched.CPU, sched.GPU} {
				placed := answer(t, p.gpu, p.sc, q, Options{K: 10, Count: true, Placement: &Placement{First: at, Or: at}})
				if (placed.StepsAt[sched.GPU] > 0) != (at == sched.GPU) || !slices.Equal(placed.Hits, want.Hits) || placed.Matches != want.Matches {
					t.Errorf("%s placed on the %s: %+v; want %+v", q, at, placed, want)
				}
			}
		}
		before := d.Stats().GPUSteps
		p.checkBatch(t, nodes, Options{K: 10})
		if steps := d.Stats().GPUSteps - before; (steps > 0) != onGPU {
			t.Errorf("a batch with fast candidates by the GPU %t: %d steps", onGPU, steps)
		}
		plans, answers := make([]*Query, len(nodes)), make([]plan.Answer, len(nodes))
		for i, q := range nodes {
			var err error
			if plans[i], err = p.gpu.Prepare(p.sc, q, Options{K: 10}); err != nil {
				t.Fatal(err)
			}
		}
		var sc BatchScratch
		if err := d.SearchPrepared(t.Context(), plans, &sc, answers); err != nil {
			t.Fatal(err)
		}
		if n := sc.parts[0].atOnce.answered.Load(); (n == 0) != onGPU || !onGPU && n != int64(len(nodes)) {
			t.Errorf("a batch with fast candidates by the GPU %t: %d phrases are answered at once", onGPU, n)
		}
	}
}

// A GPU that is lost, or whose driver fails in any call, leaves phrases to the CPU, with the same answers.
func TestGPUPhraseLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(105, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true))
	nodes := make([]query.Node, 6)
	for i := range nodes {
		nodes[i] = withPhrase(rng)
	}
	for _, pooled := range []bool{false, true} {
		faults := new(cuda.Faults)
		e, err := pipeline.Open(pipeline.Options{
			Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: testMemory}, Lanes: 1, Faults: faults,
		})
		if err != nil {
			t.Fatal(err)
		}
		g := NewGPU(e)
		t.Cleanup(func() { _ = g.Close() })
		p := newGPUPair(t, snapshot, g)
		if pooled {
			p, _ = dispatched(t, snapshot, g, Config{Policy: PolicyGPU})
		}
		if a := p.check(t, nodes[0], Options{K: 10}); a.StepsAt[sched.GPU] == 0 {
			t.Errorf("before: %+v", a)
		}
		faults.Fail("cuLaunchKernel", 1, cuda.LaunchFailed)
		for i, q := range nodes {
			p.check(t, q, Options{K: 10, Count: i%2 == 0})
		}
		if !g.Lost() {
			t.Error("the GPU is not lost")
		}
		p.checkBatch(t, nodes, Options{K: 10})
		if a := p.check(t, nodes[0], Options{K: 10}); a.StepsAt[sched.GPU] != 0 {
			t.Errorf("after: %+v", a)
		}
	}
}

// A cancelled query ends with its context's error, before the GPU's step and after it.
func TestGPUPhraseCancelled(t *testing.T) {
	rng := rand.New(rand.NewPCG(106, 1))
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true)), g)
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, `+"w0 w1" +w2`), Options{K: 10, Count: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Run(ctx, p.sc, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("before: %v", err)
	}
	var r queryRun
	r.begin(t.Context(), p.gpu.dispatcher, q, p.sc, nil, nil)
	defer r.end()
	r.decide()
	if done, err := r.advance(t.Context(), sched.GPU); done || err != nil || r.have.Len() == 0 {
		t.Fatalf("done %t, error %v", done, err)
	}
	r.decide()
	if at := r.next(sched.GPU); at != sched.CPU {
		t.Errorf("the positions are read on the %s", at)
	}
	if _, err := r.advance(ctx, sched.CPU); !errors.Is(err, context.Canceled) {
		t.Errorf("after the GPU: %v", err)
	}
	if done, err := r.advance(t.Context(), sched.CPU); !done || err != nil {
		t.Errorf("again: done %t, error %v", done, err)
	}
	want := answer(t, p.cpu, testScratch(t, "whitespace"), plantest.Parse(t, `+"w0 w1" +w2`), Options{K: 10, Count: true})
	if !slices.Equal(r.answer.Hits, want.Hits) || r.answer.Matches != want.Matches {
		t.Errorf("%v, want %v", r.answer.Hits, want.Hits)
	}
	var sc BatchScratch
	if err := p.gpu.dispatcher.SearchPrepared(ctx, []*Query{q}, &sc, make([]plan.Answer, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch: %v", err)
	}
}
