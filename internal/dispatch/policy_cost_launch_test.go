package dispatch

import (
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

const us = time.Microsecond

// flatTimes sets constant times of kinds of work.
func flatTimes(d *Dispatcher, took map[cost.Kind]time.Duration) {
	d.costs = cost.New(cost.Machine{})
	var samples []cost.Measured
	for k, took := range took {
		for i := range int64(60) { // too few for a tree
			n := 10 + i*i
			f := cost.Features{
				Lists: 1 + int(i%5), K: 10, Shortest: n, Second: 2 * n, Longest: 3 * n, Sum: 6 * n, Candidates: n, Blocks: i * i, BytesBus: i * n, BytesFile: 1 + i*n, Batch: 1,
			}
			samples = append(samples, cost.Measured{Kind: k, Features: f, Took: took})
		}
	}
	d.costs.Calibrate(samples)
}

// splitting describes a conjunction of four lists in page-locked memory.
func splitting(t *testing.T, p *gpuPair, d *Dispatcher) *queryRun {
	t.Helper()
	r := describedQuery(t, p, d, "e1 e2 e3 e5", plan.ModeAnd)
	l := r.predictor.relocate()
	*l = pipeline.Located{Packed: true, BytesImage: 1}
	for range 8 {
		l.Forms, l.Compressed = append(l.Forms, pipeline.FormHost), append(l.Compressed, pipeline.FormHost)
	}
	r.predictor.expectCandidates()
	return r
}

// cuts returns where splitByCost cuts a query of a predicted time on each processor; 4: nowhere.
func cuts(r *queryRun, best time.Duration) (onCPU, onGPU int) {
	r.choices[sched.CPU].is(4, pipeline.PathAuto, best)
	r.choices[sched.GPU].is(4, pipeline.PathPacked, best)
	splitByCost(r)
	return r.choices[sched.CPU].to, r.choices[sched.GPU].to
}

// listTime is the time of the lists [from, to) on the GPU.
type listTime struct {
	from, to int
	took     time.Duration
}

// dearLaunch sets times of lists on the CPU, of a launch without lists, and of lists on the GPU.
func dearLaunch(r *queryRun, onCPU, launch time.Duration, lists []listTime) {
	d := r.d
	d.costs = cost.New(cost.Machine{})
	var samples []cost.Measured
	for i := range int64(200) { // enough for a tree
		samples = append(samples, cost.Measured{Kind: cost.GPUIntersect, Features: cost.Features{Lists: 1, Batch: 1}, Took: launch})
		for _, at := range lists {
			f, _ := r.predictor.packedFeatures(at.from, at.to)
			samples = append(samples, cost.Measured{Kind: cost.GPUIntersect, Features: f, Took: at.took})
		}
		if i < 60 {
			for _, k := range []cost.Kind{cost.CPUBegin, cost.CPUIntersect, cost.CPUSelect} {
				samples = append(samples, cost.Measured{Kind: k, Features: cost.Features{Lists: 1, K: 10, Shortest: 1 + i*i, Longest: 1 + i*i, Candidates: 1 + i*i}, Took: onCPU})
			}
		}
	}
	d.costs.Calibrate(samples)
	r.predictor.model.costs = d.costs
}

// bestOf returns a time of which splits must stay below a limit.
func bestOf(limit time.Duration) time.Duration {
	best := limit * 5 / 4
	for time.Duration(splitGain*float64(best)) < limit {
		best++
	}
	return best
}

type cut struct{ onCPU, onGPU int }

func checkCut(t *testing.T, what string, r *queryRun, best time.Duration, want cut) {
	t.Helper()
	var got cut
	if got.onCPU, got.onGPU = cuts(r, best); got != want {
		t.Errorf("%s, %v for the whole: cut at %+v, want %+v", what, best, got, want)
	}
}

// A query that takes less than two launches is not split, however short a split would be.
func TestSplitTakesTwoLaunches(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 2500, 1, 2, 3, 5)), nil, Config{Admit: true})
	flatTimes(d, map[cost.Kind]time.Duration{cost.GPUIntersect: 20 * us, cost.CPUBegin: us, cost.CPUIntersect: us, cost.CPUSelect: us})
	r := splitting(t, p, d)
	defer r.end()
	launch := d.costs.Predict(cost.GPUIntersect, &cost.Features{Lists: 1, Batch: 1})
	checkCut(t, "less than two launches", r, 2*launch-1, cut{4, 4})
	checkCut(t, "two launches", r, 2*launch, cut{1, 3})
}

// The search for a cut ends at the limit, and where the lists on the CPU and a launch take the
// time of the best known cut.
func TestSplitSearchEnds(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 2500, 1, 2, 3, 5)), nil, Config{Admit: true})
	r := splitting(t, p, d)
	defer r.end()
	q := &r.predictor
	onGPU := func(from, to int) time.Duration { return q.listsOnGPU(from, to).total }
	lists := []listTime{{1, 4, 50 * us}, {2, 4, 20 * us}, {3, 4, 20 * us}, {0, 3, 50 * us}, {0, 2, 20 * us}}
	dearLaunch(r, us, 100*us, lists)
	if onGPU(2, 4)+us > onGPU(1, 4) || onGPU(0, 2)+us > onGPU(0, 3) {
		t.Fatal("later cuts are to be better")
	}
	checkCut(t, "later cuts are better", r, 250*us, cut{1, 3})

	dearLaunch(r, 70*us, 100*us, lists)
	launch := d.costs.Predict(cost.GPUIntersect, &cost.Features{Lists: 1, Batch: 1})
	first, last := q.cpuListTime(0)+launch, q.selection()+q.cpuListTime(3)+launch
	checkCut(t, "the first list and a launch", r, bestOf(first), cut{4, 4})
	checkCut(t, "a little more", r, bestOf(first+1), cut{1, 4})
	checkCut(t, "the last list and a launch", r, bestOf(last), cut{1, 4})
	checkCut(t, "a little more", r, bestOf(last+1), cut{1, 3})

	for at := range lists {
		lists[at].took = 100 * us
	}
	dearLaunch(r, us, 20*us, lists)
	begun, ended := q.cpuListTime(0)+onGPU(1, 4), q.selection()+q.cpuListTime(3)+onGPU(0, 3)
	checkCut(t, "as long as begun on the CPU", r, bestOf(begun), cut{4, 4})
	checkCut(t, "a little more", r, bestOf(begun+1), cut{1, 4})
	checkCut(t, "as long as ended on the CPU", r, bestOf(ended), cut{1, 4})
	checkCut(t, "a little more", r, bestOf(ended+1), cut{1, 3})
}

// Policy cost takes a split that is clearly better.
func TestCostSplits(t *testing.T) {
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 1 << 15}})
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 6000, 2, 3, 5)), g, Config{})
	d.preloader.next.Store(1 << 62)
	flatTimes(d, map[cost.Kind]time.Duration{
		cost.CPUAnd: 100 * us, cost.CPUBegin: us, cost.CPUIntersect: us, cost.CPUSelect: us,
		cost.GPUImagesAnd: 500 * us, cost.GPUPackedAnd: 60 * us, cost.GPUIntersect: 20 * us, cost.BringHost: us, cost.BringImages: 500 * us,
	})
	r := describedQuery(t, p, d, "e2 e3 e5", plan.ModeAnd)
	defer r.end()
	if r.decide(); r.choices[sched.CPU].to != 1 || r.choices[sched.GPU].to != 2 {
		t.Errorf("choices %+v", r.choices)
	}
}

// The CPU is predicted exactly if its lower bound is less than one and a half times the time on
// the GPU.
func TestCostOfBound(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 5))
	if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
		t.Fatal(err)
	}
	p, d := dispatched(t, snapshot, g, Config{})
	r := describedQuery(t, p, d, "e2 e3 e5", plan.ModeOr)
	defer r.end()
	var bound Step
	for took := 90 * us; bound.total == 0 || bound.total%3 != 0; took += 101 {
		flatTimes(d, map[cost.Kind]time.Duration{cost.CPUOr: took, cost.GPUPackedOr: time.Second})
		r.predictor.model.costs = d.costs
		r.predictor.lowerBoundOnCPU(&bound)
		r.predictor.inflateByUncertainty(&bound)
	}
	for more, exact := range map[time.Duration]bool{-1: false, 0: false, 1: true} {
		r.describe()
		r.predictor.imagesTime = bound.total/3*2 + more
		if chooseByCost(r); r.predictor.hasEssential != exact || r.choices[sched.GPU].total != r.predictor.imagesTime {
			t.Errorf("bound %v, %v on the GPU: exact %v, want %v; %+v", bound.total, r.predictor.imagesTime, r.predictor.hasEssential, exact, r.choices)
		}
	}
}
