package dispatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
)

// choices are the steps at the places and the share of a batch.
type choices struct {
	steps [sched.NumPlaces]Step
	share time.Duration
}

func neverStep() (s Step) {
	s.never()
	return s
}

// chooser predicts with the essential postings not counted, and counted.
type chooser struct {
	plain, counted reference
	run            *queryRun
}

// newChooser copies the state of a run before it decides.
func newChooser(t *testing.T, r *queryRun) *chooser {
	t.Helper()
	r.predictor.batchShare = 0
	plain, counted := r.predictor, r.predictor
	counted.countEssential()
	c := &chooser{reference{&plain, r.d.costs}, reference{&counted, r.d.costs}, r}
	if !r.attachOrRefuse() {
		t.Fatal(r.gpu.refusal)
	}
	for _, p := range []*predictor{&plain, &counted} {
		p.located, p.isLocated = pipeline.Located{}, true
		r.gpu.view.Locate(r.gpuQuery(), &p.located)
	}
	return c
}

func (c *chooser) onCPU() Step {
	r := &c.counted
	n := len(r.lengths)
	if r.done > 0 {
		return stepOf(n, pipeline.PathAuto, r.cpuLists(r.done, n)...)
	}
	return stepOf(n, pipeline.PathAuto, r.work(r.kind(sched.CPU), r.whole))
}

// boundOnCPU is onCPU if the postings need no counting.
func (c *chooser) boundOnCPU() (s Step, isBound bool) {
	r := &c.plain
	if r.done > 0 || r.hasEssential {
		return c.onCPU(), false
	}
	f := r.whole
	f.Essential, f.Tight = f.Shortest, f.Shortest
	s = Step{to: len(r.lengths), took: r.m.Predict(r.kind(sched.CPU), &f)}
	s.total = s.took
	return s, true
}

func (c *chooser) onGPU(r *reference, located bool) Step {
	n := len(r.lengths)
	if r.done > 0 {
		here := *r.predictor
		if !located {
			here.located = pipeline.Located{}
		}
		f, _ := (&reference{&here, r.m}).packed(r.done, n)
		return stepOf(n, pipeline.PathAuto, r.work(cost.GPUIntersect, f))
	}
	s := stepOf(n, pipeline.PathAuto, r.work(r.kind(sched.GPU), r.whole))
	s.guessed = !located || r.located.BytesImage > 0
	return s
}

func (c *chooser) shareOf(r *reference, alone time.Duration) time.Duration {
	if r.done > 0 {
		return 0
	}
	return r.share(alone)
}

func (c *chooser) gpu() choices {
	cpu, _ := c.boundOnCPU()
	gpu := c.onGPU(&c.plain, false)
	return choices{[...]Step{cpu, gpu}, c.shareOf(&c.plain, gpu.took)}
}

func (c *chooser) cpu() choices { return choices{steps: [...]Step{c.onCPU(), neverStep()}} }

func (c *chooser) query() choices {
	gpu := c.onGPU(&c.counted, false)
	return choices{[...]Step{c.onCPU(), gpu}, c.shareOf(&c.counted, gpu.took)}
}

func (c *chooser) ratio(ratio float64) choices {
	r := &c.counted
	n := len(r.lengths)
	if !c.run.splits() {
		return c.gpu()
	}
	left, next := float64(r.lengths[0]), 1
	if r.done > 0 {
		left, next = float64(r.candidates), r.done
	}
	if r.done > 0 && c.run.last == sched.CPU || float64(r.lengths[next]) >= ratio*left {
		return c.cpu()
	}
	gpu := c.onGPU(r, true)
	if n > 2 && (r.located.Packed || r.done > 0) {
		f, _ := r.packed(r.done, next+1)
		gpu = stepOf(next+1, pipeline.PathAuto, r.work(cost.GPUIntersect, f))
	}
	return choices{steps: [...]Step{c.onCPU(), gpu}}
}

func (c *chooser) byCost() choices {
	r := &c.plain
	uncertain := func(s Step) Step {
		if r.done == 0 {
			s.total = time.Duration(r.m.Doubt(r.kind(sched.CPU)) * float64(s.total))
		}
		return s
	}
	exact := uncertain(c.onCPU())
	cpu, isBound := c.boundOnCPU()
	cpu = uncertain(cpu)
	if float64(cpu.total) < 1.5*float64(c.least(cpu.total)) {
		cpu, isBound = exact, false
	}
	if cpu.total < c.least(cpu.total) {
		return choices{steps: [...]Step{exact, neverStep()}}
	}
	now := &c.counted
	if isBound {
		now = &c.plain
	}
	gpu, share := now.byCost()
	if isBound && float64(cpu.total) < 1.5*float64(gpu.total) {
		cpu = exact
	}
	// Splits have a test of their own.
	c.run.choices, c.run.predictor = [...]Step{cpu, gpu}, *now.predictor
	c.run.predictor.batchShare = share
	c.run.predictor.expectCandidates()
	if maySplit(c.run) {
		splitByCost(c.run)
	}
	return choices{c.run.choices, c.run.predictor.batchShare}
}

// least is the time on a GPU with all lists, by images or compressed; images are enough if they
// are far ahead of the CPU.
func (c *chooser) least(onCPU time.Duration) time.Duration {
	r := &c.plain
	if r.done > 0 {
		return minGPUTime
	}
	images := max(r.work(r.kind(sched.GPU), r.whole).Took, minGPUTime)
	if 1.5*float64(images) <= float64(onCPU) {
		return images
	}
	f := r.whole
	f.Blocks = ceil(f.Sum, 128)
	kind := cost.GPUPackedOr
	if r.kind(sched.GPU) == cost.GPUImagesAnd {
		kind, f.Blocks = cost.GPUPackedAnd, ceil(f.Shortest, 128)
	}
	return max(min(images, r.work(kind, f).Took), minGPUTime)
}

// Each policy chooses what plain rules choose, for random times, with lists on the GPU or not,
// at the beginning and in the middle of a query, and after an overrun.
func TestChoices(t *testing.T) {
	sampletest.SkipRace(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(63, 1))
	snapshot := indextest.Snapshot(t, segmentedIndex(t, 2500, 1, 2, 3, 5, 70))
	models := someModels()
	seen := map[string]int{}
	for _, there := range []bool{true, false} {
		o := pipeline.Options{}
		if !there {
			o.Memory.Bytes = 1 << 15
		}
		g := testGPU(t, o)
		if there {
			if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		p, d := dispatched(t, snapshot, g, Config{})
		d.preloader.next.Store(1 << 62) // nothing changes the places of lists
		for i := range 900 {
			d.costs, d.ratio = models[i%len(models)], math.Exp(4*rng.Float64())
			checkChoices(t, rng, p, d, fmt.Sprintf("round %d, images %v", i, there), seen)
		}
	}
	for _, name := range []string{"cost cpu auto", "cost whole images", "cost whole packed", "ratio split auto", "ratio cpu auto", "ratio whole auto"} {
		if seen[name] < 5 {
			t.Errorf("only %d of %q among %v", seen[name], name, seen)
		}
	}
}

func checkChoices(t *testing.T, rng *rand.Rand, p *gpuPair, d *Dispatcher, round string, seen map[string]int) {
	t.Helper()
	text := []string{"e1", "e1 e2", "e1 e2 e3 e5 e70", "e70 e5 e3", "e3 e5"}[rng.IntN(5)]
	mode := []plan.Mode{plan.ModeOr, plan.ModeAnd}[rng.IntN(2)]
	r := describedQuery(t, p, d, text, mode)
	defer r.end()
	if r.splits() && rng.IntN(2) == 0 {
		r.pos, r.last = 1+rng.IntN(len(r.predictor.lengths)-1), sched.Place(rng.IntN(2))
		r.have = &r.gpu.steps[0].Out
		r.have.Reset(2)
		r.have.Segments[1].DocIDs = append(r.have.Segments[1].DocIDs, make([]uint32, rng.IntN(900))...)
	}
	r.syncPredictor()
	c := newChooser(t, r)
	policies := map[Policy]choices{
		PolicyCPU: c.cpu(), PolicyGPU: c.gpu(), PolicyBatch: c.gpu(), PolicyQuery: c.query(), PolicyRatio: c.ratio(d.ratio), PolicyCost: c.byCost(),
	}
	for name, want := range policies {
		r.policy, _ = findPolicy(name)
		if r.pos == 0 {
			r.describe()
		} else {
			r.predictor = *c.plain.predictor
			r.predictor.located, r.predictor.isLocated, r.predictor.hasCumulative = pipeline.Located{}, false, false
		}
		r.decide()
		for at := range r.choices {
			if got := r.choices[at]; !sameStep(&got, &want.steps[at]) || r.predictor.batchShare != want.share {
				t.Fatalf("%s, %s in mode %s, %d done: policy %s has on the %s\n%+v with the share %v, want\n%+v with %v",
					round, text, mode, r.pos, name, sched.Place(at), got, r.predictor.batchShare, want.steps[at], want.share)
			}
		}
		kind := "whole"
		if r.choices[sched.GPU].total == sched.Never {
			kind = "cpu"
		} else if n := len(r.predictor.lengths); r.choices[sched.GPU].to < n || r.choices[sched.CPU].to < n {
			kind = "split"
		}
		seen[fmt.Sprintf("%s %s %v", name, kind, r.choices[sched.GPU].path)]++
	}
	if r.pos == 0 {
		checkAfterOverrun(t, r, c)
	}
	checkRefused(t, r, c)
}

// After an overrun, the predicted time of the CPU is four times the predicted time of the GPU or
// the time already spent, whichever is longer.
func checkAfterOverrun(t *testing.T, r *queryRun, c *chooser) {
	t.Helper()
	r.policy = costPolicy{}
	r.describe()
	r.overrun.noted = true
	for took, least := range map[time.Duration]bool{-time.Hour: false, time.Hour: true} {
		r.overrun.began = time.Now().Add(-took)
		r.decide()
		cpu, gpu := r.choices[sched.CPU].total, r.choices[sched.GPU]
		want, _ := c.plain.byCost()
		if r.choices[sched.CPU].to != len(r.predictor.lengths) || !sameStep(&gpu, &want) || !least && cpu != 4*want.total || least && (cpu < 4*took || cpu > 5*took) {
			t.Fatalf("after %v: %v on the CPU, on the GPU %+v, want %+v", took, cpu, gpu, want)
		}
	}
	r.overrun.noted = false
}

// Without a GPU, the rest runs on the CPU in every policy.
func checkRefused(t *testing.T, r *queryRun, c *chooser) {
	t.Helper()
	r.gpu.refusal = "out of order"
	for _, info := range Policies() {
		r.policy, _ = findPolicy(info.Name)
		for i := range r.choices {
			r.choices[i].is(99, pipeline.PathImages, 1)
		}
		want := c.cpu()
		if r.pos == 0 {
			r.describe()
		}
		r.policy.choose(r)
		if !sameStep(&r.choices[sched.CPU], &want.steps[sched.CPU]) || !sameStep(&r.choices[sched.GPU], &want.steps[sched.GPU]) {
			t.Fatalf("policy %s without a GPU: %+v, want %+v", info.Name, r.choices, want.steps)
		}
	}
}
