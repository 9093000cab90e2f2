package dispatch

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
)

// randomTimes sets random times of a launch and of each posting.
func randomTimes(rng *rand.Rand, d *Dispatcher) {
	var samples []cost.Measured
	for _, k := range []cost.Kind{cost.CPUAnd, cost.CPUBegin, cost.CPUIntersect, cost.CPUSelect, cost.GPUImagesAnd, cost.GPUPackedAnd, cost.GPUIntersect} {
		fixed, each := 5000*rng.Float64(), 30*rng.Float64()
		if k >= cost.GPUImagesAnd {
			fixed, each = 20000*rng.Float64(), 2*rng.Float64()
		}
		for range 60 { // too few for a tree
			n := 1 + rng.Int64N(20000)
			f := cost.Features{
				Lists: 1 + rng.IntN(6), K: 10, Shortest: n, Second: 2 * n, Longest: 3 * n, Sum: 5 * n,
				Candidates: n, Blocks: rng.Int64N(500), BytesBus: rng.Int64N(10000),
			}
			samples = append(samples, cost.Measured{Kind: k, Features: f, Took: time.Duration(fixed + each*float64(n))})
		}
	}
	d.costs.Calibrate(samples)
}

// bestSplit is the least time of any split that begins at a place, and its cut; 0 if none is
// less than a limit.
func bestSplit(r *queryRun, at sched.Place, limit time.Duration) (cut int, least time.Duration) {
	n, least := len(r.predictor.lengths), limit
	for to := 1; to < n; to++ {
		var c Step
		if at == sched.CPU {
			r.predictor.addCPULists(&c, 0, to)
			r.predictor.addGPULists(&c, to, n)
		} else if to > 1 {
			r.predictor.addGPULists(&c, 0, to)
			r.predictor.addCPULists(&c, to, n)
		} else {
			continue
		}
		if c.total < least {
			cut, least = to, c.total
		}
	}
	return cut, least
}

// For any times, the split taken is the best, or none clearly beats both processors alone.
func TestBestSplit(t *testing.T) {
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 1 << 15}})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 6000, 2, 3, 5, 7))
	p, d := dispatched(t, snapshot, g, Config{})
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3 e5 e7"), Options{Mode: plan.ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	taken := [sched.NumPlaces]int{}
	// Splits are rare: with seeds 3 and 6 some are taken.
	var seeds []int
	for seed := range 60 {
		if seed != 3 && seed != 6 {
			seeds = append(seeds, seed)
		}
	}
	for _, seed := range append(sampletest.Some(t, sampletest.UnderRace(8, 0), seeds), 3, 6) {
		randomTimes(rand.New(rand.NewPCG(51, uint64(seed))), d)
		r := &p.sc.run
		r.begin(t.Context(), d, prepared, p.sc, nil, nil)
		r.describe()
		r.predictor.wholeOn(&r.choices[sched.CPU], sched.CPU)
		r.choices[sched.GPU].never()
		if !r.locate() || !r.predictor.located.Packed {
			t.Fatalf("%+v: want lists that the GPU reads where they lie", r.predictor.located)
		}
		r.predictor.wholeByCost(&r.choices[sched.GPU])
		whole := [sched.NumPlaces]Step{r.choices[sched.CPU], r.choices[sched.GPU]}
		limit := time.Duration(splitGain * float64(min(whole[sched.CPU].total, whole[sched.GPU].total)))
		splitByCost(r)
		for at := range sched.Place(sched.NumPlaces) {
			c := &r.choices[at]
			cut, least := bestSplit(r, at, limit)
			switch launch := d.costs.Predict(cost.GPUIntersect, &cost.Features{Lists: 1, Batch: 1}); {
			case c.to == len(r.predictor.lengths):
				if cut > 0 && min(whole[0].total, whole[1].total) >= splitLaunches*launch {
					t.Errorf("seed %d, begun on the %s: not cut, %v; at %d it would take %v", seed, at, c.total, cut, least)
				}
			case c.to != cut || c.total != least:
				t.Errorf("seed %d, begun on the %s: cut at %d, %v; want %d, %v", seed, at, c.to, c.total, cut, least)
			default:
				taken[at]++
			}
		}
		r.end()
	}
	if taken[sched.CPU] == 0 {
		t.Errorf("splits %v: want some", taken)
	}
}

// If the GPU is far ahead of the CPU's lower bound, essential postings are not counted, except
// for a trace; the place is the same.
func TestLowerBoundsSuffice(t *testing.T) {
	sampletest.SkipRace(t)
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 5))
	if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
		t.Fatal(err)
	}
	p, d := dispatched(t, snapshot, g, Config{})
	slowCPU(d)
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3 e5"), Options{Mode: plan.ModeOr, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, trace := range []*plan.Trace{nil, new(plan.Trace)} {
		r := &p.sc.run
		r.begin(t.Context(), d, prepared, p.sc, nil, trace)
		r.decide()
		if traced := trace != nil; r.first() != sched.GPU || r.predictor.hasEssential != traced || (r.predictor.whole.Essential > 0) != traced {
			t.Errorf("traced %v: begun on the %s, weighed %v, %d essential", traced, r.first(), r.predictor.hasEssential, r.predictor.whole.Essential)
		}
		r.end()
	}
}

// Only policy cost learns, because it locates lists and chooses the path; a path that nobody
// chose teaches nothing about the predicted one.
func TestLearnsFromPathThatRan(t *testing.T) {
	sampletest.SkipRace(t)
	for _, c := range []struct {
		policy Policy
		learns bool
	}{{PolicyGPU, false}, {PolicyRatio, false}, {PolicyCost, true}} {
		g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 1 << 15}})
		p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3)), g, Config{Policy: c.policy})
		slowCPU(d)
		for range 2 * timeOneOf {
			p.check(t, plantest.Parse(t, "e2 e3"), Options{Mode: plan.ModeAnd, K: 10})
		}
		learnt := false
		for _, e := range d.Costs().Errors() {
			learnt = learnt || e.Kind >= cost.GPUImagesOr && e.Kind <= cost.GPUIntersect
		}
		if s := d.Stats(); learnt != c.learns || s.GPUSteps == 0 {
			t.Errorf("policy %s: learnt of the GPU %v, want %v; %d steps there", c.policy, learnt, c.learns, s.GPUSteps)
		}
	}
}

// If the CPU takes many times the GPU's time, splits are not considered.
func TestMaySplit(t *testing.T) {
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 1 << 15}})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 6000, 2, 3, 5))
	p, d := dispatched(t, snapshot, g, Config{})
	for _, c := range []struct {
		mode     plan.Mode
		cpu, gpu int // µs
		want     bool
	}{
		{plan.ModeAnd, 100, 100, true},
		{plan.ModeAnd, 100, 1000, true},
		{plan.ModeAnd, 1000, 100, false},
		{plan.ModeAnd, 490, 100, true},
		{plan.ModeOr, 100, 100, false},
	} {
		prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3 e5"), Options{Mode: c.mode, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		r := &p.sc.run
		r.begin(t.Context(), d, prepared, p.sc, nil, nil)
		r.describe()
		if !r.locate() || !r.predictor.located.Packed || r.predictor.located.BytesImage == 0 {
			t.Fatalf("%+v: want lists that the GPU reads where they lie", r.predictor.located)
		}
		r.choices[sched.CPU].is(3, pipeline.PathAuto, time.Duration(c.cpu)*time.Microsecond)
		r.choices[sched.GPU].is(3, pipeline.PathPacked, time.Duration(c.gpu)*time.Microsecond)
		if got := maySplit(r); got != c.want {
			t.Errorf("%s, %v µs on the CPU, %v on the GPU: %v, want %v", c.mode, c.cpu, c.gpu, got, c.want)
		}
		r.end()
	}
}
