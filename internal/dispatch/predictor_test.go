package dispatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// someModels predict random times of every kind of work. In a quarter the GPU is far faster than
// the CPU, in a quarter slower, and in a quarter whole conjunctions take longer than their parts.
var someModels = sync.OnceValue(func() (all [12]*cost.Model) {
	rng := rand.New(rand.NewPCG(60, 1))
	for i := range all {
		all[i] = cost.New(cost.Machine{})
		timesOfAllKinds(rng, all[i], [...]float64{0.05, 1, 20, 1}[i%4], [...]float64{1, 1, 1, 30}[i%4])
	}
	return all
})

// The time depends on every feature.
func timesOfAllKinds(rng *rand.Rand, m *cost.Model, gpu, whole float64) {
	var samples []cost.Measured
	for k := range cost.NumKinds {
		usual := math.Exp(rng.NormFloat64())
		if k >= cost.GPUImagesOr {
			usual *= gpu
		}
		if k == cost.CPUAnd || k == cost.GPUImagesAnd || k == cost.GPUPackedAnd {
			usual *= whole
		}
		var part [6]float64
		for i, most := range []float64{20_000, 3, 60, 3, 1, 5} {
			part[i] = usual * most * rng.Float64()
		}
		for range 30 { // too few for a tree
			n := 1 + rng.Int64N(20_000)
			f := cost.Features{
				Lists: 1 + rng.IntN(6), K: 10, Shortest: n, Second: 2 * n, Longest: 3 * n, Sum: 5 * n, Essential: n, Tight: n, Batch: 1 + rng.IntN(3),
				Candidates: rng.Int64N(5000), Blocks: rng.Int64N(500), BytesBus: rng.Int64N(10_000), BytesFile: rng.Int64N(10_000),
			}
			ns := part[0] + part[1]*float64(n) + part[2]*float64(f.Blocks) + part[3]*float64(f.BytesBus) + part[4]*float64(f.BytesFile) + part[5]*float64(f.Candidates)
			samples = append(samples, cost.Measured{Kind: k, Features: f, Took: time.Duration(ns)})
		}
	}
	m.Calibrate(samples)
}

// segmentedIndex has two segments of numDocs documents each. Word eN is in every N-th.
func segmentedIndex(t testing.TB, numDocs int, every ...int) *index.Index {
	return indextest.Write(t, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		for i := range 2 * numDocs {
			text := []string{"x"}
			for _, n := range every {
				if i%n == 0 {
					text = append(text, fmt.Sprint("e", n))
				}
			}
			w.AddText(i, strings.Join(text, " "))
			if i+1 == numDocs {
				w.Commit()
			}
		}
	})
}

// reference predicts by plain formulas from the state of a predictor.
type reference struct {
	*predictor
	m *cost.Model
}

func (r *reference) work(k cost.Kind, f cost.Features) Prediction {
	return Prediction{k, f, r.m.Predict(k, &f)}
}

func stepOf(to int, path pipeline.Path, all ...Prediction) Step {
	s := Step{to: to, path: path}
	for i, p := range all {
		s.took += p.Took
		if i < maxPredictions {
			s.predictions[i] = p
			s.numPredictions++
		}
	}
	s.total = s.took
	return s
}

func ceil(n, by int64) int64 {
	q := n / by
	if q*by < n {
		q++
	}
	return q
}

// hits returns the documents in the first lists up to each.
func (r *reference) hits() []float64 {
	docs := float64(r.query.Snapshot().NumDocs)
	all := make([]float64, len(r.lengths))
	for i, n := range r.lengths {
		if i+1 == r.done {
			all[i] = float64(r.candidates)
		} else if i == 0 && r.done == 0 {
			all[i] = float64(n)
		} else if i+1 > r.done {
			share := float64(n) / docs * r.model.selectivity.factor(i)
			all[i] = math.Min(all[i-1]*math.Min(share, 1), all[i-1])
		}
	}
	return all
}

// reads returns, for each list, the sums of the reads of a GPU from the lists before it.
func (r *reference) reads() (postings, file []int64, blocks, bus []float64) {
	hits := r.hits()
	postings, file, blocks, bus = []int64{0}, []int64{0}, []float64{0}, []float64{0}
	for i, n := range r.lengths {
		var addPostings, addFile int64
		var addBlocks, addBus float64
		if i >= r.done {
			addPostings = n
			all := float64(ceil(n, 128))
			addBlocks = all
			if i > 0 {
				addBlocks = all * (1 - math.Exp(-hits[i-1]/all))
			}
			var host int64
			for at := i; at < len(r.located.Compressed); at += len(r.lengths) {
				size := int64(r.query.gpu.stages[r.stage].Legs[at].List.Length)
				if f := r.located.Compressed[at]; f == pipeline.FormFile {
					addFile += size
					host += size
				} else if f == pipeline.FormHost {
					host += size
				}
			}
			addBus = float64(host) * addBlocks / all
		}
		postings, file = append(postings, postings[i]+addPostings), append(file, file[i]+addFile)
		blocks, bus = append(blocks, blocks[i]+addBlocks), append(bus, bus[i]+addBus)
	}
	return postings, file, blocks, bus
}

func (r *reference) packed(from, to int) (f cost.Features, copies []Prediction) {
	postings, file, blocks, bus := r.reads()
	onBus := bus[to] - bus[from]
	f = cost.Features{Lists: to - from, K: r.query.K(), Batch: 1, Sum: postings[to] - postings[from], Longest: r.lengths[to-1]}
	if from > 0 {
		f.Candidates = int64(r.hits()[from-1])
		onBus += 8 * r.hits()[from-1]
	} else {
		f.Lists, f.Shortest = to-1, r.lengths[0]
		if to >= 2 {
			f.Second = r.lengths[1]
		}
	}
	f.Blocks, f.BytesBus = int64(blocks[to]-blocks[from]), int64(onBus)
	return f, r.copies(file[to] - file[from])
}

func (r *reference) copies(bytes int64) []Prediction {
	if bytes == 0 {
		return nil
	}
	return []Prediction{r.work(cost.BringHost, cost.Features{Lists: 1, BytesFile: bytes})}
}

func (r *reference) cpuLists(from, to int) (all []Prediction) {
	for i := from; i < to; i++ {
		if i == 0 {
			all = append(all, r.work(cost.CPUBegin, cost.Features{Shortest: r.lengths[0]}))
		} else {
			all = append(all, r.work(cost.CPUIntersect, cost.Features{Candidates: int64(r.hits()[i-1]), Longest: r.lengths[i]}))
		}
	}
	if n := len(r.lengths); to == n && n > 0 {
		all = append(all, r.work(cost.CPUSelect, cost.Features{Candidates: int64(r.hits()[n-1]), K: r.query.K()}))
	}
	return all
}

func (r *reference) gpuLists(from, to int) []Prediction {
	f, all := r.packed(from, to)
	if from == 0 && to == len(r.lengths) {
		f.Lists++
		return append(all, r.work(cost.GPUPackedAnd, f))
	}
	return append(all, r.work(cost.GPUIntersect, f))
}

func (r *reference) wholePackedStep() Step {
	n := len(r.lengths)
	if r.query.splits(r.stage) {
		return stepOf(n, pipeline.PathPacked, r.gpuLists(0, n)...)
	}
	f := r.whole
	f.BytesBus, f.Blocks = r.located.BytesHost, ceil(f.Sum, 128)
	return stepOf(n, pipeline.PathPacked, append(r.copies(r.located.BytesFile), r.work(cost.GPUPackedOr, f))...)
}

func (r *reference) missing() (f cost.Features) {
	segments := len(r.query.Snapshot().Segments)
	for i, n := range r.lengths {
		for segment := range segments {
			if r.located.Forms[segment*len(r.lengths)+i] != pipeline.FormImage {
				f.Lists, f.Sum = f.Lists+1, f.Sum+n
				break
			}
		}
	}
	f.BytesFile = min(r.located.BytesFile, r.located.BytesImage)
	f.BytesBus = r.located.BytesImage - f.BytesFile
	return f
}

// share is the time that the query adds to a batch of 16 of its kind.
func (r *reference) share(alone time.Duration) time.Duration {
	f := r.whole
	f.Batch, f.Lists = 16, 16*f.Lists
	f.Shortest, f.Second, f.Longest, f.Sum, f.Essential = 16*f.Shortest, 16*f.Second, 16*f.Longest, 16*f.Sum, 16*f.Essential
	together := r.m.Predict(r.kind(sched.GPU), &f)
	return min(max((together-alone)/15, together/64, 1), alone)
}

// byCost is the step that wholeByCost chooses, and its share of a batch.
func (r *reference) byCost() (Step, time.Duration) {
	n := len(r.lengths)
	if r.done > 0 {
		return stepOf(n, pipeline.PathPacked, r.gpuLists(r.done, n)...), r.batchShare
	}
	var all []Prediction
	share := r.batchShare
	whole := r.work(r.kind(sched.GPU), r.whole)
	whole.Took = max(whole.Took, 1)
	if b := r.missing(); b.Lists > 0 {
		all = append(all, r.work(cost.BringImages, b))
	} else {
		share = r.share(whole.Took)
	}
	images := stepOf(n, pipeline.PathImages, append(all, whole)...)
	switch {
	case !r.located.Packed || r.located.BytesImage == 0:
		return images, share
	case !r.located.ImageRoom:
		return r.wholePackedStep(), r.batchShare
	}
	if packed := r.wholePackedStep(); packed.total < images.total {
		return packed, 0
	}
	return images, share
}

func sameStep(a, b *Step) bool {
	return a.to == b.to && a.path == b.path && a.took == b.took && a.total == b.total && a.guessed == b.guessed && slices.Equal(a.Predictions(), b.Predictions())
}

// locateAtRandom gives every list of the stage random forms.
func locateAtRandom(rng *rand.Rand, p *predictor) {
	l := p.relocate()
	*l = pipeline.Located{Packed: rng.IntN(4) > 0, ImageRoom: rng.IntN(2) == 0}
	allImages := rng.IntN(3) == 0
	for range len(p.lengths) * len(p.query.Snapshot().Segments) {
		form := pipeline.FormImage
		if !allImages {
			form = pipeline.Form(rng.IntN(int(pipeline.FormImage) + 1))
		}
		l.Forms, l.Compressed = append(l.Forms, form), append(l.Compressed, pipeline.Form(rng.IntN(int(pipeline.FormImage))))
		if form < pipeline.FormImage {
			l.BytesImage += 1 + rng.Int64N(5000)
		}
	}
	l.BytesHost, l.BytesFile = rng.Int64N(5000), rng.Int64N(3)*rng.Int64N(5000)
}

// describedQuery prepares a query and describes its first stage, without a GPU but with its
// queries.
func describedQuery(t *testing.T, p *gpuPair, d *Dispatcher, text string, mode plan.Mode) *queryRun {
	t.Helper()
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, text), Options{Mode: mode, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	if prepared.Impacts() == nil {
		prepared.gpuStage(0)
	}
	r := &p.sc.run
	r.begin(t.Context(), d, prepared, p.sc, nil, nil)
	r.describe()
	r.predictor.batches = true
	return r
}

// Every prediction has the work and the time of plain formulas, for random times, lists,
// locations and progress.
func TestPredictions(t *testing.T) {
	sampletest.SkipRace(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(61, 1))
	snapshot := indextest.Snapshot(t, segmentedIndex(t, 2560, 1, 2, 3, 5, 70)) // whole blocks
	if len(snapshot.Segments) != 2 {
		t.Fatalf("%d segments", len(snapshot.Segments))
	}
	p, d := dispatched(t, snapshot, nil, Config{Admit: true})
	models := someModels()
	for i := range 600 {
		d.costs = models[i%len(models)]
		words := strings.Fields("e1 e2 e3 e5 e70")
		rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		mode := []plan.Mode{plan.ModeOr, plan.ModeAnd}[i%2]
		run := describedQuery(t, p, d, strings.Join(words[:1+rng.IntN(4)], " "), mode)
		q := &run.predictor
		r := &reference{q, d.costs}
		n := len(q.lengths)
		splits := mode == plan.ModeAnd && n > 1
		if got := run.splits(); got != splits {
			t.Fatalf("%d lists in mode %s: splits is %v", n, mode, got)
		}
		locateAtRandom(rng, q)
		if splits && rng.IntN(2) == 0 {
			q.advanceTo(1+rng.IntN(n-1), rng.IntN(2000))
		}
		fail := func(what string, got, want any) {
			t.Helper()
			t.Fatalf("round %d, %d lists, %d done, %+v: %s is\n%+v, want\n%+v", i, n, q.done, q.located, what, got, want)
		}
		if got, want := q.missingImages(), r.missing(); got != want {
			fail("missing", got, want)
		}
		for from := q.done; from < n && splits; from++ {
			q.expectCandidates()
			for to := from + 1; to <= n; to++ {
				f, file := q.packedFeatures(from, to)
				want, copies := r.packed(from, to)
				if f != want || (file > 0) != (len(copies) > 0) || file > 0 && copies[0].Features.BytesFile != file {
					fail(fmt.Sprintf("lists [%d,%d) on the GPU after %d bytes", from, to, file), f, want)
				}
			}
		}
		got := Step{to: 99}
		q.imagesTime, q.batchShare, q.expected, q.hasCumulative = 0, 7, nil, false
		q.wholeByCost(&got)
		if q.done > 0 && !q.located.Packed && got.to != 99 {
			fail("a step without packed lists", got, "none")
		}
		if want, share := r.byCost(); (q.done == 0 || q.located.Packed) && (!sameStep(&got, &want) || q.batchShare != share) {
			fail(fmt.Sprintf("the choice by cost with the share %v, want %v", q.batchShare, share), got, want)
		}
		whole := r.work(q.kind(sched.CPU), q.whole)
		if q.done > 0 {
			want := stepOf(n, pipeline.PathAuto, r.cpuLists(q.done, n)...)
			if q.wholeOn(&got, sched.CPU); !sameStep(&got, &want) {
				fail("the rest on the CPU", got, want)
			}
			f, _ := r.packed(q.done, n)
			want = stepOf(n, pipeline.PathAuto, r.work(cost.GPUIntersect, f))
			if q.wholeOn(&got, sched.GPU); !sameStep(&got, &want) {
				fail("the rest on the GPU", got, want)
			}
			if q.leastOnGPU(time.Hour) != minGPUTime {
				fail("the least time of the rest", q.leastOnGPU(time.Hour), minGPUTime)
			}
			before := got.total
			if q.inflateByUncertainty(&got); got.total != before {
				fail("the uncertain rest", got.total, before)
			}
			run.end()
			continue
		}
		bound := q.bounded()
		if want := q.whole; !q.hasEssential {
			want.Essential, want.Tight = want.Shortest, want.Shortest
			if bound != want {
				fail("the lower bound's work", bound, want)
			}
			lowest := Step{to: n, took: r.m.Predict(q.kind(sched.CPU), &want)}
			lowest.total = lowest.took
			if q.lowerBoundOnCPU(&got); !sameStep(&got, &lowest) || q.hasEssential {
				fail("the lower bound", got, lowest)
			}
			q.countEssential()
			whole = r.work(q.kind(sched.CPU), q.whole)
			var essential, tight int64
			for s := range snapshot.Segments {
				legs := run.plan.Stage(0).Legs(s)
				essential += traverse.Essential(legs, 10, nil)
				tight += traverse.EssentialAt(legs, 10, nil, cost.TightFactor)
			}
			if q.whole.Essential != essential || q.whole.Tight != tight || essential == 0 {
				fail("essential", q.whole, [2]int64{essential, tight})
			}
		} else if bound != q.whole {
			fail("the lower bound's work", bound, q.whole)
		}
		want := stepOf(n, pipeline.PathAuto, whole)
		if q.wholeOn(&got, sched.CPU); !sameStep(&got, &want) {
			fail("all on the CPU", got, want)
		}
		if q.lowerBoundOnCPU(&got); !sameStep(&got, &want) {
			fail("the lower bound of what is counted", got, want)
		}
		want.total = time.Duration(d.costs.Doubt(q.kind(sched.CPU)) * float64(want.took))
		got = Step{}
		if q.inflatedOnCPU(&got); !sameStep(&got, &want) {
			fail("the uncertain time on the CPU", got, want)
		}
		images := r.work(q.kind(sched.GPU), q.whole)
		want = stepOf(n, pipeline.PathAuto, images)
		want.guessed = q.located.BytesImage > 0
		if q.wholeOn(&got, sched.GPU); !sameStep(&got, &want) {
			fail("all on the GPU", got, want)
		}
		q.isLocated, want.guessed = false, true
		if q.wholeOn(&got, sched.GPU); !sameStep(&got, &want) {
			fail("all on the GPU, not located", got, want)
		}
		packed := q.whole
		packed.Blocks = ceil(q.whole.Sum, 128)
		kind := cost.GPUPackedOr
		if q.kind(sched.GPU) == cost.GPUImagesAnd {
			kind, packed.Blocks = cost.GPUPackedAnd, ceil(q.whole.Shortest, 128)
		}
		byImages := max(images.Took, minGPUTime)
		least := max(min(byImages, r.work(kind, packed).Took), minGPUTime)
		if got := q.leastOnGPU(0); got != least {
			fail("the least time on a GPU", got, least)
		}
		if got := q.leastOnGPU(byImages*2 + 2); got != byImages {
			fail("the time by images on a GPU that is far ahead", got, byImages)
		}
		if splits {
			q.expectCandidates()
			if !slices.Equal(q.expected, r.hits()) {
				fail("the expected candidates", q.expected, r.hits())
			}
			for to := 1; to <= n; to++ {
				want := stepOf(to, pipeline.PathPacked, r.gpuLists(0, to)...)
				if got := q.listsOnGPU(0, to); !sameStep(got, &want) {
					fail("the first lists on the GPU", *got, want)
				}
				all := stepOf(0, pipeline.PathAuto, r.cpuLists(to-1, n)...)
				var lists Step
				if q.addCPULists(&lists, to-1, n); !sameStep(&lists, &all) {
					fail("the last lists on the CPU", lists, all)
				}
			}
			if last := r.cpuLists(n-1, n); q.selection() != last[1].Took || q.cpuListTime(n-1) != last[0].Took {
				fail("selection", q.selection(), last)
			}
		}
		run.end()
	}
}

// A predictor describes the lists of every kind of query.
func TestDescribe(t *testing.T) {
	ix := segmentedIndex(t, 2500, 1, 2, 5, 70)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	p, d := dispatched(t, indextest.Snapshot(t, ix), nil, Config{Admit: true})
	const all, half, fifth, rare = 5000, 2500, 1000, 72
	for _, c := range []struct {
		query   string
		mode    plan.Mode
		lengths []int64
		whole   cost.Features
		counted bool // or has no essential postings
		cpu     cost.Kind
		gpu     cost.Kind
	}{
		{"e1", plan.ModeOr, []int64{all}, cost.Features{Lists: 1, Shortest: all, Longest: all, Sum: all}, true, cost.CPUTerm, cost.GPUImagesOr},
		{"e1 e5", plan.ModeOr, []int64{fifth, all}, cost.Features{Lists: 2, Shortest: fifth, Second: all, Longest: all, Sum: all + fifth}, false, cost.CPUOr, cost.GPUImagesOr},
		{"e2 e5", plan.ModeOr, []int64{fifth, half}, cost.Features{Lists: 2, Shortest: fifth, Second: half, Longest: half, Sum: half + fifth}, true, cost.CPUOr, cost.GPUImagesOr},
		{"e1 e70 e5", plan.ModeAnd, []int64{rare, fifth, all}, cost.Features{Lists: 3, Shortest: rare, Second: fifth, Longest: all, Sum: all + fifth + rare}, true, cost.CPUAnd, cost.GPUImagesAnd},
		{"e1 e70 -e5", plan.ModeOr, []int64{rare, fifth, all}, cost.Features{Lists: 3, Shortest: rare, Second: all, Longest: all, Sum: all + rare}, false, cost.CPUTree, cost.GPUImagesOr},
		{"+e1 +e5 -e70", plan.ModeOr, []int64{rare, fifth, all}, cost.Features{Lists: 3, Shortest: fifth, Second: all, Longest: all, Sum: all + fifth}, true, cost.CPUTree, cost.GPUImagesAnd},
		{"+e1 e70 e5", plan.ModeOr, []int64{rare, fifth, all}, cost.Features{Lists: 3, Shortest: rare, Second: fifth, Longest: all, Sum: all + fifth + rare}, true, cost.CPUTree, cost.GPUImagesOr},
		{"+e70 e1 e5", plan.ModeOr, []int64{rare, fifth, all}, cost.Features{Lists: 3, Shortest: rare, Second: fifth, Longest: all, Sum: all + fifth + rare}, true, cost.CPUTree, cost.GPUImagesOr},
		{"e1 e70", plan.ModeSaat, []int64{all, rare}, cost.Features{Lists: 2, Shortest: rare, Second: all, Longest: all, Sum: all + rare}, true, cost.CPUImpacts, cost.GPUImpacts},
		{"missing", plan.ModeSaat, nil, cost.Features{}, true, cost.CPUImpacts, cost.GPUImpacts},
	} {
		r := describedQuery(t, p, d, c.query, c.mode)
		q := &r.predictor
		c.whole.K, c.whole.Batch = 10, 1
		if !slices.Equal(q.lengths, c.lengths) || q.whole != c.whole || q.hasEssential != c.counted || q.kind(sched.CPU) != c.cpu || q.kind(sched.GPU) != c.gpu {
			t.Errorf("%s in mode %s: lengths %v, %+v, counted %v, kinds %s and %s, want %+v", c.query, c.mode, q.lengths, q.whole, q.hasEssential, q.kind(sched.CPU), q.kind(sched.GPU), c)
		}
		work := int64(0)
		if len(c.lengths) > 0 {
			work = c.lengths[0]
		}
		if q.work() != work {
			t.Errorf("%s: work %d", c.query, q.work())
		}
		r.end()
	}
}

// For random times, each direction takes the least split that is clearly better than the whole,
// also in the middle of a query.
func TestSplitsByReference(t *testing.T) {
	sampletest.SkipRace(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(62, 1))
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 2500, 1, 2, 3, 5, 70)), nil, Config{Admit: true})
	taken := [2][2]int{} // by place and whether lists had run
	models := someModels()
	for i := range 3000 {
		d.costs = models[i%len(models)]
		run := describedQuery(t, p, d, []string{"e1 e70", "e1 e2 e3 e5 e70", "e2 e3 e5"}[rng.IntN(3)], plan.ModeAnd)
		q := &run.predictor
		n := len(q.lengths)
		locateAtRandom(rng, q)
		if rng.IntN(2) == 0 {
			run.pos = rng.IntN(n)
		}
		q.advanceTo(run.pos, rng.IntN(1500))
		q.expectCandidates()
		q.batchShare = 7
		cpu := Step{to: n, took: time.Duration(rng.Int64N(200_000)), total: time.Hour}
		gpu := Step{to: n, path: pipeline.PathImages, took: 1, total: time.Duration(rng.Int64N(200_000))}
		run.choices = [sched.NumPlaces]Step{cpu, gpu}
		splitByCost(run)
		share := q.batchShare

		r := &reference{q, d.costs}
		best := min(cpu.took, gpu.total)
		launch := d.costs.Predict(cost.GPUIntersect, &cost.Features{Lists: 1, Batch: 1})
		wantCPU, wantGPU, wantShare := cpu, gpu, time.Duration(7)
		if best >= 2*launch && n-run.pos >= 2 {
			limit := time.Duration(splitGain * float64(best))
			least := limit
			for to := run.pos + 1; to < n; to++ {
				on := stepOf(to, pipeline.PathAuto, r.cpuLists(run.pos, to)...)
				if total := on.took + stepOf(0, 0, r.gpuLists(to, n)...).total; on.took+launch < least && total < least {
					least, wantCPU = total, on
					wantCPU.total = total
				} else if on.took+launch >= least {
					break
				}
			}
			least = limit
			for to := n - 1; to > run.pos; to-- {
				if run.pos == 0 && to == 1 {
					break // the GPU would only copy the first list
				}
				rest := stepOf(0, 0, r.cpuLists(to, n)...).took
				if rest+launch >= least {
					break
				}
				on := stepOf(to, pipeline.PathPacked, r.gpuLists(run.pos, to)...)
				if total := on.took + rest; total < least {
					least, wantGPU, wantShare = total, on, 0
					wantGPU.total = total
				}
			}
		}
		if !sameStep(&run.choices[sched.CPU], &wantCPU) || !sameStep(&run.choices[sched.GPU], &wantGPU) || share != wantShare {
			t.Fatalf("round %d, %d of %d lists: begun on the CPU %+v, want %+v; on the GPU %+v, want %+v; share %v, want %v", i, run.pos, n,
				run.choices[sched.CPU], wantCPU, run.choices[sched.GPU], wantGPU, share, wantShare)
		}
		for at := range taken {
			if run.choices[at].to < n {
				taken[at][min(run.pos, 1)]++
			}
		}
		run.end()
	}
	for at := range taken {
		for began, times := range taken[at] {
			if times < 10 {
				t.Errorf("begun on the %s, in the middle %v: %d splits", sched.Place(at), began == 1, times)
			}
		}
	}
}
