package dispatch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/score"
)

type policyOf struct {
	policy
	of traits
}

func (p policyOf) traits() traits { return p.of }

// A run begins and goes on where the predictions and the policy's traits say.
func TestFirstAndNext(t *testing.T) {
	const never = sched.Never
	for _, c := range []struct {
		cpu, gpu            time.Duration
		of                  traits
		pos                 int
		first, onCPU, onGPU sched.Place // where it begins, and goes on from each place
	}{
		{cpu: 10, gpu: 9, first: sched.GPU, onCPU: sched.GPU, onGPU: sched.GPU},
		{cpu: 10, gpu: 10, first: sched.CPU, onCPU: sched.CPU, onGPU: sched.GPU},
		{cpu: 9, gpu: 10, first: sched.CPU, onCPU: sched.CPU, onGPU: sched.CPU},
		{cpu: 10, gpu: never, first: sched.CPU, onCPU: sched.CPU, onGPU: sched.CPU},
		{cpu: never, gpu: 10, first: sched.GPU, onCPU: sched.GPU, onGPU: sched.GPU},
		{cpu: never, gpu: never, first: sched.CPU, onCPU: sched.CPU, onGPU: sched.GPU},
		{cpu: 9, gpu: 10, of: traits{prefersGPU: true}, first: sched.GPU, onCPU: sched.GPU, onGPU: sched.GPU},
		{cpu: 9, gpu: never, of: traits{prefersGPU: true}, first: sched.CPU, onCPU: sched.CPU, onGPU: sched.CPU},
		{cpu: 10, gpu: 1, of: traits{stays: true}, first: sched.GPU, onCPU: sched.CPU, onGPU: sched.GPU},
		{cpu: 1, gpu: 10, of: traits{stays: true}, first: sched.CPU, onCPU: sched.CPU, onGPU: sched.GPU},
		{cpu: never, gpu: 10, of: traits{stays: true}, first: sched.GPU, onCPU: sched.GPU, onGPU: sched.GPU},
		// In the middle, a move must save a fifth.
		{cpu: 10, gpu: 9, pos: 1, first: sched.GPU, onCPU: sched.CPU, onGPU: sched.GPU},
		{cpu: 10, gpu: 8, pos: 1, first: sched.GPU, onCPU: sched.CPU, onGPU: sched.GPU},
		{cpu: 10, gpu: 7, pos: 1, first: sched.GPU, onCPU: sched.GPU, onGPU: sched.GPU},
		{cpu: 7, gpu: 10, pos: 1, first: sched.CPU, onCPU: sched.CPU, onGPU: sched.CPU},
	} {
		r := &queryRun{d: &Dispatcher{}, policy: policyOf{of: c.of}}
		r.pos = c.pos
		r.choices[sched.CPU].total, r.choices[sched.GPU].total = c.cpu, c.gpu
		if first, onCPU, onGPU := r.first(), r.next(sched.CPU), r.next(sched.GPU); first != c.first || onCPU != c.onCPU || onGPU != c.onGPU {
			t.Errorf("%v on the CPU, %v on the GPU, %+v, at list %d: begins on the %s, goes on from the CPU on the %s, from the GPU on the %s",
				c.cpu, c.gpu, c.of, c.pos, first, onCPU, onGPU)
		}
		if r.updateRemainingCost(); r.job.Cost != [sched.NumPlaces]time.Duration{c.cpu, c.gpu} {
			t.Errorf("the job costs %v", r.job.Cost)
		}
	}
}

// The pool learns the costs of a run, except where the policy of the query does not begin.
func TestOffer(t *testing.T) {
	for _, c := range []struct {
		cpu, gpu time.Duration
		to       int
		path     pipeline.Path
		own      bool
		want     [sched.NumPlaces]time.Duration
		alone    bool
	}{
		{7, 5, 3, pipeline.PathImages, false, [sched.NumPlaces]time.Duration{7, 5}, false},
		{7, 5, 3, pipeline.PathAuto, true, [sched.NumPlaces]time.Duration{sched.Never, 5}, false},
		{5, 7, 3, pipeline.PathAuto, true, [sched.NumPlaces]time.Duration{5, sched.Never}, false},
		{5, 7, 2, pipeline.PathAuto, false, [sched.NumPlaces]time.Duration{5, 7}, true},
		{5, 7, 3, pipeline.PathPacked, false, [sched.NumPlaces]time.Duration{5, 7}, true},
	} {
		r := &queryRun{d: &Dispatcher{}, policy: policyOf{}}
		r.predictor.lengths, r.predictor.batchShare = []int64{4, 5, 6}, 3
		r.job.Within, r.trace.waited = 9, 9
		r.choices[sched.CPU].is(3, pipeline.PathAuto, c.cpu)
		r.choices[sched.GPU].is(c.to, c.path, c.gpu)
		r.offer(c.own)
		if j := &r.job; j.Cost != c.want || j.Alone != c.alone || j.Batched != 3 || j.Work != 4 || j.Within != 0 || r.trace.waited != 0 {
			t.Errorf("%+v: job %+v, waited %v", c, j, r.trace.waited)
		}
	}
}

func TestPlacementNames(t *testing.T) {
	for want, p := range map[string]Placement{
		"cpu":                        {},
		"gpu images":                 {First: sched.GPU, Path: pipeline.PathImages, Or: sched.GPU, OrPath: pipeline.PathImages},
		"gpu":                        {First: sched.GPU, Or: sched.GPU},
		"cpu; or: gpu":               {Or: sched.GPU},
		"cpu; or: gpu packed":        {Or: sched.GPU, OrPath: pipeline.PathPacked},
		"gpu packed; or: gpu":        {First: sched.GPU, Path: pipeline.PathPacked, Or: sched.GPU},
		"gpu; or: cpu":               {First: sched.GPU},
		"cpu; or: cpu":               {OrPath: pipeline.PathImages},
		"cpu 2, gpu":                 {Lists: 2},
		"gpu 1, cpu; or: gpu":        {First: sched.GPU, Lists: 1, Path: pipeline.PathPacked, Or: sched.GPU},
		"cpu 3, gpu; or: gpu":        {Lists: 3, Or: sched.GPU},
		"gpu images; or: gpu":        {First: sched.GPU, Path: pipeline.PathImages, Or: sched.GPU},
		"gpu; or: gpu images":        {First: sched.GPU, Or: sched.GPU, OrPath: pipeline.PathImages},
		"gpu packed; or: cpu":        {First: sched.GPU, Path: pipeline.PathPacked},
		"cpu; or: gpu images":        {Or: sched.GPU, OrPath: pipeline.PathImages},
		"gpu images; or: gpu packed": {First: sched.GPU, Path: pipeline.PathImages, Or: sched.GPU, OrPath: pipeline.PathPacked},
	} {
		if got := p.String(); got != want {
			t.Errorf("%#v is %q, want %q", p, got, want)
		}
	}
	if got := WholeLists().String(); got != "gpu images" {
		t.Errorf("whole lists: %s", got)
	}
}

func TestPlacementChecks(t *testing.T) {
	active, err := NewDispatcher(nil, Config{Admit: true})
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewDispatcher(nil, Config{Admit: true, Policy: PolicyGPU})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p  Placement
		d  *Dispatcher
		ok bool
	}{
		{Placement{}, active, true},
		{Placement{First: sched.GPU, Or: sched.GPU, Lists: 1}, active, true},
		{Placement{Lists: -1}, active, false},
		{Placement{First: sched.NumPlaces}, active, false},
		{Placement{Or: sched.NumPlaces}, active, false},
		{Placement{}, other, false},
		{Placement{}, &Dispatcher{policy: costPolicy{}}, false},
		{Placement{}, nil, false},
	} {
		if err := c.p.check(c.d); (err == nil) != c.ok || err != nil && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
}

// Every stage has each whole place; a conjunction is also split at every list, and not on the
// GPU after the first one, which nothing has cut down.
func TestPlacementsOfQueries(t *testing.T) {
	p, _ := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2, 3)), nil, Config{Admit: true})
	whole := []string{"cpu", "gpu images", "gpu packed"}
	for _, c := range []struct {
		query string
		mode  plan.Mode
		want  []string
	}{
		{"e1 e2 e3", plan.ModeOr, whole},
		{"e1", plan.ModeAnd, whole},
		{"e1 e2", plan.ModeAnd, append(whole, "cpu 1, gpu")},
		{"e1 e2 e3", plan.ModeAnd, append(whole, "cpu 1, gpu", "cpu 2, gpu", "gpu 2, cpu")},
		{"e1 e2", plan.ModeAndOr, []string{
			"cpu", "cpu; or: gpu images", "cpu; or: gpu packed",
			"gpu images; or: cpu", "gpu images", "gpu images; or: gpu packed",
			"gpu packed; or: cpu", "gpu packed; or: gpu images", "gpu packed",
			"cpu 1, gpu", "cpu 1, gpu; or: gpu images", "cpu 1, gpu; or: gpu packed",
		}},
	} {
		q, err := p.gpu.Prepare(p.sc, plantest.Parse(t, c.query), Options{Mode: c.mode, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, placement := range q.Placements() {
			got = append(got, placement.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s in mode %s: %q, want %q", c.query, c.mode, got, c.want)
		}
	}
}

// A placement chooses the step at each place; the other place is the last resort.
func TestPlacementSteps(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2, 3)), nil, Config{Admit: true})
	const auto, packed, images = pipeline.PathAuto, pipeline.PathPacked, pipeline.PathImages
	for _, c := range []struct {
		p          Placement
		mode       plan.Mode
		stage, pos int
		at         sched.Place
		to         int
		path       pipeline.Path
	}{
		{Placement{Path: images}, plan.ModeAnd, 0, 0, sched.CPU, 3, auto},
		{Placement{First: sched.GPU, Path: images}, plan.ModeAnd, 0, 0, sched.GPU, 3, images},
		{Placement{Lists: 2}, plan.ModeAnd, 0, 0, sched.CPU, 2, auto},
		{Placement{Lists: 2}, plan.ModeOr, 0, 0, sched.CPU, 3, auto},
		{Placement{Lists: 9}, plan.ModeAnd, 0, 0, sched.CPU, 3, auto},
		{Placement{Lists: 2, Path: packed}, plan.ModeAnd, 0, 2, sched.GPU, 3, packed},
		{Placement{First: sched.GPU, Lists: 2, Path: packed}, plan.ModeAnd, 0, 0, sched.GPU, 2, packed},
		{Placement{First: sched.GPU, Lists: 2, Path: packed}, plan.ModeAnd, 0, 2, sched.CPU, 3, auto},
		{Placement{Lists: 1, Or: sched.GPU, OrPath: images}, plan.ModeAndOr, 1, 0, sched.GPU, 3, images},
		{Placement{First: sched.GPU, OrPath: images}, plan.ModeAndOr, 1, 0, sched.CPU, 3, auto},
	} {
		r := describedQuery(t, p, d, "e1 e2 e3", c.mode)
		r.gpu.refusal = ""
		r.stage, r.pos = c.stage, c.pos
		c.p.choose(r)
		want, last := Step{}, Step{}
		want.is(c.to, c.path, 1)
		last.is(3, auto, lastResort)
		if !sameStep(&r.choices[c.at], &want) || !sameStep(&r.choices[c.at.Other()], &last) {
			t.Errorf("%s in mode %s at stage %d, list %d: %+v", c.p, c.mode, c.stage, c.pos, r.choices)
		}
		r.gpu.refusal, r.stage, r.pos = "lost", 0, 0
		if c.p.choose(r); r.choices[sched.GPU].total != sched.Never || r.choices[sched.CPU].to != 3 || r.choices[sched.CPU].total >= lastResort {
			t.Errorf("%s without a GPU: %+v", c.p, r.choices)
		}
		r.end()
	}
}

// The largest prediction has at least half of the time; only three are kept.
func TestStepPredictions(t *testing.T) {
	for _, c := range []struct {
		took    []time.Duration
		largest int // in took; -1: none
	}{
		{nil, -1},
		{[]time.Duration{5}, 0},
		{[]time.Duration{5, 5}, 0},
		{[]time.Duration{4, 5}, 1},
		{[]time.Duration{3, 3, 3}, -1},
		{[]time.Duration{1, 2, 3}, 2},
		{[]time.Duration{1, 1, 1, 9}, -1},
		{[]time.Duration{1, 2, 9, 6}, 2},
	} {
		s := Step{guessed: true, took: 99}
		s.begin(7, pipeline.PathPacked)
		sum := time.Duration(0)
		for i, took := range c.took {
			s.add(cost.Kind(i), &cost.Features{K: i}, took)
			sum += took
		}
		if s.to != 7 || s.path != pipeline.PathPacked || s.guessed || s.Took() != sum || s.total != sum || len(s.Predictions()) != min(len(c.took), 3) {
			t.Errorf("%v: %+v", c.took, s)
		}
		for i, p := range s.Predictions() {
			if p != (Prediction{cost.Kind(i), cost.Features{K: i}, c.took[i]}) {
				t.Errorf("%v: prediction %d is %+v", c.took, i, p)
			}
		}
		if l := s.largest(); (l == nil) != (c.largest < 0) || l != nil && l.Features.K != c.largest {
			t.Errorf("%v: the largest is %+v, want number %d", c.took, l, c.largest)
		}
		if s.never(); s.to != 0 || s.total != sched.Never || s.took != 0 || s.path != pipeline.PathAuto || len(s.Predictions()) != 0 {
			t.Errorf("never: %+v", s)
		}
	}
}

// Long steps are timed, and one in four of the others.
func TestIsTimed(t *testing.T) {
	var p predictor
	var timed []bool
	for range 9 {
		timed = append(timed, p.isTimed(alwaysTimed-1))
	}
	if want := []bool{false, false, false, true, false, false, false, true, false}; !slices.Equal(timed, want) {
		t.Errorf("timed %v, want %v", timed, want)
	}
	for range 5 {
		if !p.isTimed(alwaysTimed) {
			t.Error("a long step is not timed")
		}
	}
	for i, want := range []bool{false, false, true} {
		if got := p.isTimed(0); got != want {
			t.Errorf("short step %d after long ones: timed %t, want %t", i, got, want)
		}
	}
}

// observed returns the ratio of a model's prediction after learning to its prediction before.
func observed(learn func(m *model, s *Step), guessed bool, took ...time.Duration) float64 {
	m := &model{costs: cost.New(cost.Machine{})}
	f := cost.Features{Lists: 1, K: 10, Shortest: 1000, Longest: 1000, Sum: 1000}
	before := m.costs.Predict(cost.CPUTerm, &f)
	s := stepOf(1, pipeline.PathAuto)
	for i, part := range took {
		s.add(cost.CPUTerm+cost.Kind(i), &f, part)
	}
	s.guessed = guessed
	for range 400 {
		learn(m, &s)
	}
	return float64(m.costs.Predict(cost.CPUTerm, &f)) / float64(before)
}

// The largest prediction is corrected by what its step took longer, down to a quarter.
func TestLearn(t *testing.T) {
	m := cost.New(cost.Machine{})
	f := cost.Features{Lists: 1, K: 10, Shortest: 1000, Longest: 1000, Sum: 1000}
	usual := m.Predict(cost.CPUTerm, &f)
	is := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.1*want {
			t.Errorf("%s: predictions change by the factor %.3g, want %.3g", what, got, want)
		}
	}
	after := func(times float64) func(*model, *Step) {
		return func(m *model, s *Step) { m.learn(s, time.Duration(times*float64(usual))) }
	}
	is("twice as long", observed(after(2), false, usual), 2)
	is("a guessed path", observed(after(2), true, usual), 1)
	is("three times with a rest of one", observed(after(3), false, usual, usual), 2)
	is("less than the rest", observed(after(0.8), false, usual, usual), 0.2)
	is("no large part", observed(after(2), false, usual/9, usual/9, usual/9), 1)
	bound := func(times float64) func(*model, *Step) {
		return func(m *model, s *Step) { m.learnLowerBound(s, time.Duration(times*float64(usual))) }
	}
	is("ended after twice the time", observed(bound(2), false, usual), 2)
	is("ended after half the time", observed(bound(0.5), false, usual), 1)
}

// manyWords are n words that no document has.
func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "missing%d ", i)
	}
	return b.String()
}

// A query runs on the CPU for exactly these reasons.
func TestRefusals(t *testing.T) {
	ix := segmentedIndex(t, 300, 1, 2)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	snapshot := indextest.Snapshot(t, ix)
	d, err := NewDispatcher(nil, Config{Admit: true})
	if err != nil {
		t.Fatal(err)
	}
	withGPU := &Dispatcher{gpu: &GPU{}, policy: costPolicy{}}
	for _, c := range []struct {
		query string
		o     Options
		bm25  *score.BM25
		want  string
		noGPU bool
	}{
		{query: "e1 e2", o: Options{K: 10}},
		{query: "e1 e2", o: Options{K: 10}, noGPU: true, want: "there is no GPU"},
		{query: "e1 e2", o: Options{K: pipeline.MaxK}},
		{query: "e1 e2", o: Options{K: pipeline.MaxK + 1}, want: "k exceeds the GPU limit"},
		{query: "e1 e2", o: Options{}, want: "there is nothing to look for"},
		{query: "e1 e2", o: Options{Count: true}},
		{query: "", o: Options{K: 10}, want: "there is nothing to look for"},
		{query: "-e1", o: Options{K: 10}, want: "there is nothing to look for"},
		{query: "e1", o: Options{K: 10, CPU: true}, want: "the CPU was asked for"},
		{query: "e1", o: Options{K: 10, Traversal: "wand"}, want: "a traversal was asked for by name"},
		{query: "e1", o: Options{K: 10}, bm25: &score.BM25{K1: 2, B: 0.1}, want: "k1 and b are not the index's"},
		{query: "e1", o: Options{K: 10, Mode: plan.ModeSaat}, bm25: &score.BM25{K1: 2, B: 0.1}},
		{query: "+e1 e2", o: Options{K: 10}},
		{query: "+(e1 e2) +(missing e3) e4 -e5", o: Options{K: 10, Count: true}},
		{query: "e1 (+e2 +e3)", o: Options{K: 10}, want: "its groups are nested: required groups may only have alternatives, optional and excluded ones only words"},
		{query: "+e1 +(e2 (+e3 e4))", o: Options{K: 10}, want: "its groups are nested: required groups may only have alternatives, optional and excluded ones only words"},
		{query: "e1 e*", o: Options{K: 10}, want: "it has a part that is scored other than as a word: a pattern, a set, a function or a best one of several"},
		{query: "+e1 " + manyWords(32), o: Options{K: 10}, want: "more words, or required ones, than the GPU limit beside optional ones"},
		{query: "+e1 " + manyWords(31), o: Options{K: 10}},
		{query: manyWords(40) + " -e1", o: Options{K: 10}},
		{query: "e1 -e2", o: Options{K: 10}},
		{query: "+e1 +e2", o: Options{K: 10, Mode: plan.ModeAndOr}},
		{query: "e1 e2", o: Options{K: 10, Mode: plan.ModeAndOr}},
		{query: "+e1 e2", o: Options{K: 10, Mode: plan.ModeAndOr}},
		{query: "e1 missing", o: Options{K: 10, Mode: plan.ModeSaat}},
		{query: "missing", o: Options{K: 10, Mode: plan.ModeSaat}, want: "there is nothing to look for"},
		{query: "e1", o: Options{K: 10, Mode: plan.ModeSaat, Accumulators: "array"}, want: "it has a budget, or accumulators by name"},
		{query: "e1", o: Options{K: 10, Mode: plan.ModeSaat, Budget: saat.Budget{Postings: 5}}, want: "it has a budget, or accumulators by name"},
		{query: "e1", o: Options{K: 10, Mode: plan.ModeSaat, Budget: saat.Budget{Time: 5}}, want: "it has a budget, or accumulators by name"},
	} {
		s := NewSearcher(snapshot, c.bm25)
		if s.Use(withGPU); c.noGPU {
			s.Use(d)
		}
		q, err := s.Prepare(testScratch(t, "whitespace"), plantest.Parse(t, c.query), c.o)
		if err != nil {
			t.Fatalf("%s: %v", c.query, err)
		}
		if q.gpu.refusal != c.want {
			t.Errorf("%s, %+v: %q, want %q", c.query, c.o, q.gpu.refusal, c.want)
		}
		if c.want != "" {
			continue
		}
		for i := range q.NumStages() {
			st, got := q.Stage(i), &q.gpu.stages[i]
			words, _ := st.Words()
			terms := max(len(words), len(st.Order()))
			segments := len(snapshot.Segments)
			if q.Impacts() != nil {
				terms, segments = len(q.Impacts().Terms), 1
			}
			if got.K != q.K() || got.NumTerms != terms || len(got.Legs) != terms*segments || got.Wide || got.Conjunctive != (q.Impacts() == nil && st.Kind() == 1) || got.Path != pipeline.PathAuto {
				t.Errorf("%s, %+v: stage %d is %+v", c.query, c.o, i, got)
			}
		}
	}
}

func TestCacheable(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want bool
	}{
		{Options{Cached: true, K: 10, Mode: plan.ModeAnd, Count: true}, true},
		{Options{}, false},
		{Options{Cached: true, Budget: saat.Budget{Postings: 1}}, false},
		{Options{Cached: true, Traversal: "wand"}, false},
		{Options{Cached: true, Accumulators: "array"}, false},
		{Options{Cached: true, CPU: true}, false},
		{Options{Cached: true, Policy: PolicyCost}, false},
		{Options{Cached: true, Placement: &Placement{}}, false},
	} {
		if got := c.o.cacheable(); got != c.want {
			t.Errorf("%+v: %v", c.o, got)
		}
	}
}

// A traced run explains the choice between the places.
func TestNotes(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2, 3)), nil, Config{Admit: true})
	const us = time.Microsecond
	step := func(to int, path pipeline.Path, total time.Duration) (s Step) {
		s.is(to, path, total)
		return s
	}
	for _, c := range []struct {
		cpu, gpu Step
		pos      int
		overran  bool
		want     string
	}{
		{step(3, 0, 12345), step(3, pipeline.PathImages, 20*us), 0, false, "cost, and: 12.3µs on the cpu; 20µs on the gpu (images)"},
		{step(3, 0, 12*us), step(3, pipeline.PathAuto, 20*us), 0, false, "cost, and: 12µs on the cpu; 20µs on the gpu"},
		{step(2, 0, 12*us), step(1, pipeline.PathPacked, 12345), 0, false, "cost, and: 12µs if begun on the cpu with 2 of 3 lists; 12.3µs if begun on the gpu with 1 of 3 lists"},
		{step(3, 0, 12*us), step(0, 0, sched.Never), 0, false, "cost, and: 12µs on the cpu; not on the gpu"},
		{step(3, 0, lastResort), step(3, 0, lastResort-us), 0, false, "cost, and: not on the cpu; 59m59.999999s on the gpu"},
		{step(3, 0, 12*us), step(2, 0, us), 1, false, "cost, and, 5 candidates after 1 lists: 12µs on the cpu; 1µs if begun on the gpu with 1 of 2 lists"},
		{step(3, 0, 12*us), step(3, 0, us), 0, true, "cost, and: overran on the cpu; 1µs on the gpu"},
		{step(3, 0, 12*us), step(3, 0, sched.Never), 0, true, "cost, and: 12µs on the cpu; not on the gpu"},
	} {
		r := describedQuery(t, p, d, "e1 e2 e3", plan.ModeAnd)
		r.gpu.refusal, r.overrun.noted = "", c.overran
		r.choices = [sched.NumPlaces]Step{c.cpu, c.gpu}
		if r.pos = c.pos; c.pos > 0 {
			r.have = &r.gpu.steps[0].Out
			r.have.Reset(2)
			r.have.Segments[0].DocIDs = append(r.have.Segments[0].DocIDs, 1, 2, 3)
			r.have.Segments[1].DocIDs = append(r.have.Segments[1].DocIDs, 1, 2)
		}
		trace := tracer{Trace: new(plan.Trace)}
		trace.noteChoice(r)
		if !slices.Equal(trace.Notes, []string{c.want}) {
			t.Errorf("notes %q, want %q", trace.Notes, c.want)
		}
		trace.Notes, r.gpu.refusal = nil, cpuTree
		for _, here := range []struct {
			stage, pos int
			d          *Dispatcher
			plan       string
			want       []string
		}{
			{0, 0, d, cpuTree, nil},
			{0, 0, &Dispatcher{gpu: &GPU{}}, cpuTree, []string{"answered by the CPU: " + cpuTree}},
			{0, 0, &Dispatcher{gpu: &GPU{}}, "", nil},
			{1, 0, &Dispatcher{gpu: &GPU{}}, cpuTree, nil},
			{0, 1, &Dispatcher{gpu: &GPU{}}, cpuTree, nil},
		} {
			trace.Notes = nil
			r.stage, r.pos, r.d, r.plan.gpu.refusal = here.stage, here.pos, here.d, here.plan
			if trace.noteChoice(r); !slices.Equal(trace.Notes, here.want) {
				t.Errorf("stage %d, list %d, refused for %q: notes %q, want %q", here.stage, here.pos, here.plan, trace.Notes, here.want)
			}
		}
		r.end()
	}
}

// A GPU multiplies in float32 and sums in 32 bits.
func TestImpactLimits(t *testing.T) {
	terms := func(n int, weight uint32, most uint8, more ...saat.Term) *plan.ImpactQuery {
		x := &plan.ImpactQuery{Query: saat.Query{Index: new(impact.Index)}}
		for range n {
			x.Terms = append(x.Terms, saat.Term{Weight: weight, List: impact.List{Max: most}})
		}
		x.Terms = append(x.Terms, more...)
		return x
	}
	term := func(weight uint32) saat.Term { return saat.Term{Weight: weight, List: impact.List{Max: 1}} }
	for i, c := range []struct {
		x    *plan.ImpactQuery
		want string
	}{
		{terms(0, 0, 0), cpuNothing},
		{terms(1, 65535, 128), ""},
		{terms(1, 65536, 128), cpuWide},
		{terms(256, 1<<23-1, 1, term(255)), ""},
		{terms(256, 1<<23-1, 1, term(256)), cpuWide},
		{terms(257, 1<<23-1, 1), cpuWide},
	} {
		q := new(Query)
		if got := q.gpuImpacts(c.x); got != c.want {
			t.Errorf("case %d: %q, want %q", i, got, c.want)
		}
		if c.want == "" && (q.gpu.stages[0].NumTerms != len(c.x.Terms) || q.gpu.stages[0].Legs[0].Term.Weight != float32(c.x.Terms[0].Weight)) {
			t.Errorf("case %d: %+v", i, q.gpu.stages[0])
		}
	}
}

// Splits need lists that a GPU reads where they lie, a conjunction, something that images do
// not do better, and a CPU that is not five times as slow.
func TestMaySplitLimits(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2, 3)), nil, Config{Admit: true})
	for _, c := range []struct {
		mode     plan.Mode
		packed   bool
		pos      int
		missing  int64
		cpu, gpu time.Duration
		want     bool
	}{
		{plan.ModeAnd, true, 0, 1, 100, 100, true},
		{plan.ModeAnd, true, 0, 0, 100, 100, false},
		{plan.ModeAnd, true, 1, 0, 100, 100, true},
		{plan.ModeAnd, false, 1, 1, 100, 100, false},
		{plan.ModeOr, true, 0, 1, 100, 100, false},
		{plan.ModeAnd, true, 0, 1, 499, 100, true},
		{plan.ModeAnd, true, 0, 1, 500, 100, false},
		{plan.ModeAnd, true, 0, 1, 501, 100, false},
	} {
		r := describedQuery(t, p, d, "e1 e2 e3", c.mode)
		r.predictor.located = pipeline.Located{Packed: c.packed, BytesImage: c.missing}
		r.pos, r.choices[sched.CPU].took, r.choices[sched.GPU].total = c.pos, c.cpu, c.gpu
		if got := maySplit(r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		r.end()
	}
}

// The documents left after some lists of a conjunction correct the selectivity of these lists.
func TestObserveSelectivity(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2, 3, 5)), nil, Config{Admit: true})
	for _, c := range []struct {
		from, to, pos int
		have, known   bool
		lists         []int
	}{
		{0, 2, 2, true, true, []int{1}},
		{1, 3, 3, true, true, []int{1, 2}},
		{2, 3, 3, true, true, []int{2}},
		{1, 2, 2, false, true, nil},
		{1, 2, 2, true, false, nil},
		{1, 2, 1, true, true, nil},
		{1, 4, 4, true, true, nil},
	} {
		d.selectivity = selectivity{}
		r := describedQuery(t, p, d, "e1 e2 e3 e5", plan.ModeAnd)
		if c.known {
			r.predictor.expectCandidates()
		}
		if r.pos = c.pos; c.have {
			r.have = &r.gpu.steps[0].Out
			r.have.Reset(2)
		}
		s := Step{to: c.to}
		r.observe(&s, c.from, time.Microsecond)
		r.end()
		for i := 1; i < 4; i++ {
			if changed := d.selectivity.factor(i) != firstFactors[i-1]; changed != slices.Contains(c.lists, i) {
				t.Errorf("%+v: list %d changes: %v", c, i, changed)
			}
		}
	}
}
