package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/resultcache"
	"github.com/griffin-search/griffin/internal/sched"
)

// A query with its own policy whose place is lost decides again, for the CPU.
func TestPolicyOfOneQueryDecidesAgain(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 2, 3)), testGPU(t, pipeline.Options{}), Config{})
	d.pool.Lose(sched.GPU)
	p.check(t, plantest.Parse(t, "e2 e3"), Options{K: 10, Policy: PolicyGPU})
	r := &p.sc.run
	if r.gpu.refusal != sched.ErrNoPlace.Error() || r.choices[sched.GPU].total != sched.Never {
		t.Errorf("refused for %q, choices %+v", r.gpu.refusal, r.choices)
	}
	if r.job.Deadline != sched.Never {
		t.Errorf("without a limit, the deadline is %v", r.job.Deadline)
	}
}

// If the pool overrules the policy, the whole stage runs on the CPU.
func TestAdvanceOverruled(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2, 3)), nil, Config{Admit: true})
	r := describedQuery(t, p, d, "e1 e2 e3", plan.ModeAnd)
	defer r.end()
	r.choices[sched.CPU].is(1, pipeline.PathAuto, 1)
	r.choices[sched.GPU].never()
	if done, err := r.advance(t.Context(), sched.GPU); !done || err != nil || r.answer.By != sched.CPU || r.answer.StepsAt != [sched.NumPlaces]int{1, 0} || len(r.answer.Hits) != 10 {
		t.Errorf("done %v, %v: %+v", done, err, r.answer)
	}
}

// A step that fails teaches only if it is timed and its context has ended.
func TestAdvanceTeaches(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2)), nil, Config{Admit: true})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		timed  bool
		learns bool
	}{
		{"timed", ended, true, true},
		{"not timed", ended, false, false},
		{"another error", endedIn{t.Context(), "RunStage"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := describedQuery(t, p, d, "e1 e2", plan.ModeAnd)
			defer r.end()
			r.choices[sched.CPU].begin(2, pipeline.PathAuto)
			r.choices[sched.CPU].add(cost.CPUAnd, &r.predictor.whole, 1)
			if r.predictor.ticks = 0; c.timed {
				r.predictor.ticks = timeOneOf - 1
			}
			before := d.costs.Unsaved()
			if _, err := r.advance(c.ctx, sched.CPU); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if learnt := d.costs.Unsaved() > before; learnt != c.learns {
				t.Errorf("learnt %v", learnt)
			}
		})
	}
}

// A lower bound equal to the prediction teaches nothing.
func TestLearnsNoEqualBound(t *testing.T) {
	m := model{costs: cost.New(cost.Machine{})}
	var s Step
	s.add(cost.CPUTerm, &cost.Features{Lists: 1}, 100)
	for after, want := range map[time.Duration]uint64{99: 0, 100: 0, 101: 1} {
		before := m.costs.Unsaved()
		if m.learnLowerBound(&s, after); m.costs.Unsaved()-before != want {
			t.Errorf("after %v: %d observations, want %d", after, m.costs.Unsaved()-before, want)
		}
	}
}

// A conjunction ends at the list after which no candidate is left, with a complete answer.
func TestStepsWithoutCandidates(t *testing.T) {
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		for i := range 30 {
			w.AddText(i, []string{"a x", "b x", "b x"}[i%3])
		}
	})
	p, d := dispatched(t, indextest.Snapshot(t, ix), nil, Config{Admit: true})
	d.policy = &anyPolicy{func(pos, _ int) (sched.Place, int) { return sched.CPU, pos + 1 }}
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "a b x"), Options{Mode: plan.ModeAnd, K: 10, Count: true})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]base.Hit, 3, 10)
	a, err := q.Run(t.Context(), p.sc, dst)
	if err != nil || a.Hits == nil || len(a.Hits) != 0 || cap(a.Hits) != 10 || a.Matches != 0 {
		t.Errorf("hits %v of %d, %d matches, %v", a.Hits, cap(a.Hits), a.Matches, err)
	}
	if a.Mode != plan.ModeAnd || a.By != sched.CPU || a.Traversal != TraversalSteps || a.StepsAt[sched.CPU] != 2 {
		t.Errorf("answer %+v", a)
	}
}

// A run that begins again drops its results, records the reason in its trace, and decides again.
func TestRestart(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2, 3)), nil, Config{Admit: true})
	for _, trace := range []*plan.Trace{nil, new(plan.Trace)} {
		r := describedQuery(t, p, d, "e1 e2 e3", plan.ModeAnd)
		r.trace.Trace = trace
		r.pos, r.stage, r.indeterminate, r.answer.Matches = 2, 1, true, 7
		r.choices[sched.CPU].is(99, pipeline.PathImages, 1)
		r.restart()
		if r.position != (position{}) || r.indeterminate || r.answer.Matches != 0 || r.choices[sched.CPU].to != 3 {
			t.Errorf("run at %+v, answer %+v, choices %+v", r.position, r.answer, r.choices)
		}
		if trace != nil && (len(trace.Notes) == 0 || !strings.HasPrefix(trace.Notes[0], "begun again: ")) {
			t.Errorf("notes %q", trace.Notes)
		}
		r.end()
	}
}

// The last step of a conjunction on the GPU leaves its hits.
func TestTraceOfLastStepOnGPU(t *testing.T) {
	p, _ := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 9000, 2, 7)), testGPU(t, pipeline.Options{}), Config{})
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e7"), Options{Mode: plan.ModeAnd, K: 10, Placement: &Placement{Lists: 1, Or: sched.GPU}})
	if err != nil {
		t.Fatal(err)
	}
	var trace plan.Trace
	if _, err := q.RunTraced(t.Context(), p.sc, nil, &trace); err != nil {
		t.Fatal(err)
	}
	steps := slices.DeleteFunc(trace.Steps, func(s plan.Step) bool { return s.Name == plan.StepWait })
	if len(steps) != 2 || steps[0].Left != 1286 || steps[1].Place != sched.GPU || steps[1].Candidates != 1286 || steps[1].Left != 10 {
		t.Errorf("want 1286 candidates of the CPU, of which the GPU leaves 10 hits:\n%s", &trace)
	}
}

// Policy cost does without a GPU that cannot be attached, and then predicts the CPU exactly.
func TestCostWithoutGPU(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 5)), g, Config{})
	slowCPU(d)
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3 e5"), Options{Mode: plan.ModeOr, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	r := &p.sc.run
	r.begin(t.Context(), d, q, p.sc, nil, nil)
	defer r.end()
	r.decide()
	var want Step
	if r.predictor.inflatedOnCPU(&want); !sameStep(&r.choices[sched.CPU], &want) || r.choices[sched.GPU].total != sched.Never || r.gpu.refusal != errGPUClosed.Error() {
		t.Errorf("refused for %q: %+v, want %+v", r.gpu.refusal, r.choices, want)
	}
}

// Policy gpu predicts the CPU exactly once the GPU is lost.
func TestGPUPolicyWithLostGPU(t *testing.T) {
	var faults cuda.Faults
	e, err := pipeline.Open(pipeline.Options{Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: testMemory}, Lanes: 1, Faults: &faults})
	if err != nil {
		t.Fatal(err)
	}
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 5)), NewGPU(e), Config{Policy: PolicyGPU})
	defer func() { _ = d.Close() }() // it is lost
	for _, lost := range []bool{false, true} {
		r := describedQuery(t, p, d, "e2 e3 e5", plan.ModeOr)
		r.policy = gpuPolicy{}
		if r.decide(); r.predictor.hasEssential != lost || d.gpu.Lost() != lost {
			t.Errorf("lost %v: essential postings are counted: %v", d.gpu.Lost(), r.predictor.hasEssential)
		}
		r.end()
		faults.Fail("cuLaunchKernel", 1, cuda.IllegalAddress)
		p.check(t, plantest.Parse(t, "e2 e3"), Options{K: 10})
	}
}

// A query whose answer is cached is not prepared for a run, and reads no lists.
func TestCachedQueryReadsNoLists(t *testing.T) {
	ix := plantest.FrequentIndex(t, "simdbp", 300)
	p, _ := dispatched(t, indextest.Snapshot(t, ix), nil, Config{Admit: true})
	p.gpu.UseResults(resultcache.New(1 << 20))
	o := Options{K: 10, Cached: true}
	want := answer(t, p.gpu, p.sc, plantest.Parse(t, "w0 w1"), o)
	truncateAll(t, ix.Dir(), "*")
	q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w0 w1"), o)
	if err != nil || q.gpu.refusal != "" {
		t.Fatalf("%v, refused for %q", err, q.gpu.refusal)
	}
	if got, err := q.Run(t.Context(), p.sc, nil); err != nil || !got.Cached || !slices.Equal(got.Hits, want.Hits) {
		t.Errorf("%v, cached %v, hits %v, want %v", err, got.Cached, got.Hits, want.Hits)
	}
}

// A conjunction whose scores are too high for a GPU is not split either.
func TestWideQueries(t *testing.T) {
	const numDocs = 100
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, numDocs, 1, 2)), nil, Config{Admit: true})
	most := pipeline.MaxScore(numDocs)
	for _, c := range []struct {
		first, second base.Score
		want          string
		wide          bool
	}{
		{maxNarrowScore - 1, 1, "", false},
		{maxNarrowScore, 1, "", true},
		{most - 1, 1, "", true},
		{most, 1, cpuWide, true},
	} {
		r := describedQuery(t, p, d, "e1 e2", plan.ModeAnd)
		q := r.plan
		legs := q.Stage(0).Legs(0)
		legs[0].MaxScore, legs[1].MaxScore = c.first, c.second
		q.gpu.stages[0].Wide = false
		if got := q.gpuStage(0); got != c.want || q.gpu.stages[0].Wide != c.wide || q.splits(0) == c.wide {
			t.Errorf("scores up to %d and %d: %q, wide %v, splits %v", c.first, c.second, got, q.gpu.stages[0].Wide, q.splits(0))
		}
		r.end()
	}
}

// A stage without lists takes no time on the CPU.
func TestNoListsOnCPU(t *testing.T) {
	var s Step
	if new(predictor).addCPULists(&s, 0, 0); s.Took() != 0 || len(s.Predictions()) != 0 {
		t.Errorf("%+v", s)
	}
}

// The first step of a stage on the CPU has the prediction, if there is a step.
func TestTracePredictsFirstStep(t *testing.T) {
	for _, numDocs := range []int{100, 0} {
		p, _ := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, numDocs, 1, 2)), nil, Config{Admit: true})
		q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e1 e2"), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		var trace plan.Trace
		trace.AddStep("parse", 0)
		if _, err := q.RunTraced(t.Context(), p.sc, nil, &trace); err != nil {
			t.Fatal(err)
		}
		steps := slices.DeleteFunc(trace.Steps, func(s plan.Step) bool { return s.Name == plan.StepWait })
		if numDocs == 0 {
			if len(steps) != 1 {
				t.Errorf("%d steps without documents", len(steps)-1)
			}
			continue
		}
		want := p.sc.run.choices[sched.CPU].took
		for i, s := range steps {
			if s.Predicted != 0 && i != 1 || i == 1 && s.Predicted != want || want == 0 {
				t.Errorf("step %d is predicted to take %v, and the stage %v", i, s.Predicted, want)
			}
		}
		if len(steps) < 2 {
			t.Errorf("steps %+v", steps)
		}
	}
}

// Lists that all have images need no look at their compressed forms.
func TestLocateWhole(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2))
	p, d := dispatched(t, snapshot, g, Config{})
	for _, warm := range []bool{false, true} {
		if warm {
			if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, pos := range []int{0, 1} {
			r := describedQuery(t, p, d, "e1 e2", plan.ModeAnd)
			q := &r.predictor
			q.located = pipeline.Located{Forms: make([]pipeline.Form, 9), BytesImage: 7, BytesFile: 7, Path: pipeline.PathPacked}
			q.isLocated, q.hasCumulative = false, true
			r.pos = pos
			forms := 4
			if warm && pos == 0 {
				forms = 0
			}
			if l := &q.located; !r.locateWhole() || !q.isLocated || q.hasCumulative || len(l.Forms) != forms || len(l.Compressed) != forms || !l.ImageRoom || l.Path != pipeline.PathImages || (l.BytesImage == 0) != warm {
				t.Errorf("warm %v, at list %d: located %v, %+v", warm, pos, q.isLocated, *l)
			}
			r.end()
		}
	}
}
