package dispatch

import (
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// model predicts and learns times of work with a Dispatcher's cost model.
type model struct {
	costs       *cost.Model
	selectivity *selectivity
	trees       bool // whole stages are predicted by model trees (traits.trees)
}

func (m *model) predict(k cost.Kind, f *cost.Features) time.Duration {
	if m.trees {
		return m.costs.PredictTree(k, f)
	}
	return m.costs.Predict(k, f)
}

// predictor predicts the time of the rest of a stage, on each processor, from the model
// (begin), a stage (describe), a run's progress (advanceTo), and the locations of the lists
// (relocate, haveImages).
type predictor struct {
	model   model
	batches bool // queries may be answered in batches

	query      *Query
	stage      int
	done       int   // lists of the stage that have run
	candidates int64 // left after them

	// lengths of the lists, over all segments, in the order of the stage: rising.
	lengths []int64
	// expected is the number of documents in the first lists up to each: counted for finished
	// lists, estimated for others.
	expected []float64
	// whole has the features of the whole stage. Postings of excluded words count in Lists only. Essential and
	// Tight of a pruned OR are known only if hasEssential is set. ModeSaat has neither.
	whole        cost.Features
	hasEssential bool
	// cumulative sums the reads of a GPU from the lists up to each, if hasCumulative is set.
	cumulative    []reading
	hasCumulative bool
	// located has the locations of the lists, if isLocated is set, or only the fact that all
	// have images.
	located   pipeline.Located
	isLocated bool
	// 0: not predicted yet.
	imagesTime time.Duration
	// batchShare is the predicted time that the query adds to a batch; 0: it cannot be in one.
	batchShare time.Duration
	// leavesCPU: the query waits for the GPU, because the CPUs are busy. Its prediction for the CPU is a lower bound.
	leavesCPU bool
	other     Step // scratch: an alternative to one of the run's choices
	ticks     uint // counts steps, because not all short ones are timed
}

// begin keeps the memory of earlier queries. batches: queries may be answered in batches.
func (p *predictor) begin(m model, batches bool) { p.model, p.batches = m, batches }

func (p *predictor) end() { p.model, p.query = model{}, nil }

func (p *predictor) describe(q *Query, stage int) {
	p.query, p.stage, p.done, p.candidates = q, stage, 0, 0
	st := q.Stage(stage)
	words, _ := st.Words()
	p.lengths, p.expected, p.hasCumulative, p.imagesTime = p.lengths[:0], p.expected[:0], false, 0
	p.located, p.isLocated = pipeline.Located{Forms: p.located.Forms[:0], Compressed: p.located.Compressed[:0]}, false
	switch {
	case q.Mode() == plan.ModeSaat:
		for i := range q.Impacts().Terms {
			p.lengths = append(p.lengths, int64(q.Impacts().Terms[i].List.DocFreq))
		}
	case len(words) > 0:
		for i := range words {
			p.lengths = append(p.lengths, int64(words[i].DocFreq))
		}
	case st.IsFlat():
		for _, j := range st.Order() {
			p.lengths = append(p.lengths, int64(q.LegDocFreq(st, j)))
		}
	default: // of a stage with common words these are not the lengths of its lists, but describe it as a tree
		for _, n := range q.DocFreqs() {
			p.lengths = append(p.lengths, int64(n))
		}
	}
	p.whole = cost.Features{Lists: len(p.lengths), K: q.K(), Batch: 1}
	f, lists := &p.whole, 0
	for i, n := range p.lengths {
		if q.Mode() != plan.ModeSaat && i < len(words) && words[i].Excluded {
			continue
		}
		f.Sum += n
		f.Longest = max(f.Longest, n)
		switch {
		case lists == 0 || n < f.Shortest:
			f.Shortest, f.Second = n, f.Shortest
		case lists == 1 || n < f.Second:
			f.Second = n
		}
		lists++
	}
	if p.isCommon() {
		p.lengths = p.lengths[:0]
		for i := range st.NumCommon() {
			p.lengths = append(p.lengths, int64(plan.CommonLength(&q.Plan, stage, i)))
		}
	}
	p.hasEssential = q.Mode() == plan.ModeSaat || !st.IsFlat() || st.Kind() != traverse.Or || len(p.lengths) < 2 || f.Sum <= manyPostings
}

// isCommon reports whether a GPU may find candidates of the stage, which the CPU completes.
func (p *predictor) isCommon() bool { return p.query.gpu.common[p.stage] }

// numSteps is the number of the stage's steps: its lists and, with candidates from a GPU, the positions.
func (p *predictor) numSteps() int {
	if p.isCommon() {
		return len(p.lengths) + 1
	}
	return len(p.lengths)
}

// manyPostings is the number of postings from which essential ones are counted.
const manyPostings = 4096

// countEssential counts the essential postings of a pruned OR, which is slow.
func (p *predictor) countEssential() {
	if p.hasEssential {
		return
	}
	p.hasEssential = true
	q, st, f := p.query, p.query.Stage(p.stage), &p.whole
	for i := range q.Snapshot().Segments {
		legs, live := st.Legs(i), q.Snapshot().Segments[i].Live.Words()
		f.Essential += traverse.Essential(legs, q.K(), live)
		f.Tight += traverse.EssentialAt(legs, q.K(), live, cost.TightFactor)
	}
}

// bounded returns features for a lower bound on the CPU: as if only the shortest list were
// essential.
func (p *predictor) bounded() cost.Features {
	f := p.whole
	if !p.hasEssential {
		f.Essential, f.Tight = max(f.Shortest, 1), max(f.Shortest, 1)
	}
	return f
}

// advanceTo sets the finished lists and the candidates that they left.
func (p *predictor) advanceTo(done, candidates int) { p.done, p.candidates = done, int64(candidates) }

func (p *predictor) relocate() *pipeline.Located {
	p.isLocated, p.hasCumulative = true, false
	return &p.located
}

func (p *predictor) haveImages() {
	p.located = pipeline.Located{Forms: p.located.Forms[:0], Compressed: p.located.Compressed[:0], ImageRoom: true, Path: pipeline.PathImages}
	p.isLocated, p.hasCumulative = true, false
}

func (p *predictor) hasImages(list int) bool {
	for i := list; i < len(p.located.Forms); i += len(p.lengths) {
		if p.located.Forms[i] < pipeline.FormImage {
			return false
		}
	}
	return true
}

func (p *predictor) missingImages() (f cost.Features) {
	for i, n := range p.lengths {
		if !p.hasImages(i) {
			f.Lists++
			f.Sum += n
		}
	}
	f.BytesFile = min(p.located.BytesFile, p.located.BytesImage)
	f.BytesBus = p.located.BytesImage - f.BytesFile
	return f
}

// kind returns the kind of the whole stage, on the GPU by images.
func (p *predictor) kind(at sched.Place) cost.Kind {
	st := p.query.Stage(p.stage)
	conjunctive := st.Kind() == traverse.And
	switch {
	case p.query.Mode() == plan.ModeSaat && at == sched.CPU:
		return cost.CPUImpacts
	case p.query.Mode() == plan.ModeSaat:
		return cost.GPUImpacts
	case at == sched.GPU && conjunctive:
		return cost.GPUImagesAnd
	case at == sched.GPU:
		return cost.GPUImagesOr
	case !st.IsFlat() || st.Excludes():
		return cost.CPUTree
	case conjunctive:
		return cost.CPUAnd
	case len(p.lengths) == 1:
		return cost.CPUTerm
	}
	return cost.CPUOr
}

// wholeOn predicts the rest of the stage at a place, on the GPU by the path that it chooses
// itself.
func (p *predictor) wholeOn(s *Step, at sched.Place) {
	s.begin(p.numSteps(), pipeline.PathAuto)
	if p.done > 0 && p.isCommon() {
		s.is(p.numSteps(), pipeline.PathAuto, p.positionsTime(float64(p.candidates)))
		s.guessed = true
		return
	}
	if p.done > 0 {
		p.expectCandidates()
		if at == sched.CPU {
			p.addCPULists(s, p.done, len(p.lengths))
		} else {
			f, _ := p.packedFeatures(p.done, len(p.lengths))
			s.add(cost.GPUIntersect, &f, p.model.costs.Predict(cost.GPUIntersect, &f))
		}
		return
	}
	if at == sched.CPU {
		p.countEssential()
	} else {
		s.guessed = !p.isLocated || p.located.BytesImage > 0
	}
	k := p.kind(at)
	s.add(k, &p.whole, p.model.predict(k, &p.whole))
	if at == sched.GPU {
		p.addMasks(s)
	} else {
		p.addCount(s)
	}
}

// addCount adds the time of counting to a whole stage on the CPU. If no hits are requested, it is the whole time of
// the stage. The model does not learn from the measured time then. The GPU counts in about the time of a launch.
func (p *predictor) addCount(s *Step) {
	if !p.query.Counts() || p.query.Mode() == plan.ModeSaat {
		return
	}
	n := p.whole.Sum
	if p.query.Stage(p.stage).Kind() == traverse.And {
		n = p.whole.Shortest * int64(p.whole.Lists)
	}
	took := time.Duration(float64(cpuPostingTime * float64(n)))
	if p.query.K() == 0 {
		s.is(p.numSteps(), pipeline.PathAuto, max(took, 1))
	} else {
		s.took += took
		s.total += took
	}
	s.guessed = true
}

// isMasked reports whether documents are left out, by masks or by parts of words.
func (p *predictor) isMasked() bool {
	st := p.query.Stage(p.stage)
	return p.query.Mode() != plan.ModeSaat && (!st.IsFlat() || st.Excludes())
}

// addMasks adds the time of the bitmaps of filters to a stage on the GPU. Nothing is learnt from the time of
// the stage: how much a filter saves or costs there depends on the documents that it leaves.
func (p *predictor) addMasks(s *Step) {
	if !p.isMasked() || s.total == sched.Never {
		return
	}
	took := p.query.gpu.masks.time()
	s.took += took
	s.total += took
	s.guessed = true
}

// lowerBoundOnCPU is wholeOn of the CPU, or a lower bound of it that is cheap to compute; then
// nothing is learnt from its time.
func (p *predictor) lowerBoundOnCPU(s *Step) {
	if p.done > 0 || p.hasEssential {
		p.wholeOn(s, sched.CPU)
		return
	}
	f := p.bounded()
	s.is(len(p.lengths), pipeline.PathAuto, p.model.costs.Predict(p.kind(sched.CPU), &f))
	p.addCount(s)
}

// inflateByUncertainty raises the total of a whole stage on the CPU to its expected mean: times
// scatter about predictions by 40 % and more on the CPU, by 10 % on the GPU. Parts of a stage
// are compared without it.
func (p *predictor) inflateByUncertainty(s *Step) {
	if p.done == 0 {
		s.total = time.Duration(p.model.costs.Doubt(p.kind(sched.CPU)) * float64(s.total))
	}
}

func (p *predictor) inflatedOnCPU(s *Step) {
	p.wholeOn(s, sched.CPU)
	p.inflateByUncertainty(s)
}

// wholeByImages assumes images of all lists.
func (p *predictor) wholeByImages() time.Duration {
	if p.imagesTime == 0 {
		p.imagesTime = max(p.model.costs.Predict(p.kind(sched.GPU), &p.whole), 1)
	}
	return p.imagesTime
}

// wholeByCost predicts the rest on the GPU, after locate.
func (p *predictor) wholeByCost(gpu *Step) {
	n := len(p.lengths)
	if p.done > 0 {
		if p.located.Packed {
			p.expectCandidates()
			gpu.begin(n, pipeline.PathPacked)
			p.addGPULists(gpu, p.done, n)
		}
		return
	}
	images := p.located.BytesImage == 0 || p.located.ImageRoom || !p.located.Packed
	defer p.addMasks(gpu)
	if images {
		gpu.begin(n, pipeline.PathImages)
		if b := p.missingImages(); b.Lists > 0 {
			gpu.add(cost.BringImages, &b, p.model.costs.Predict(cost.BringImages, &b))
		}
		took := p.wholeByImages()
		if gpu.took == 0 {
			p.predictBatchShare(took)
		}
		gpu.add(p.kind(sched.GPU), &p.whole, took)
	}
	if !p.located.Packed || p.located.BytesImage == 0 {
		return
	}
	if !images {
		p.wholePacked(gpu)
		return
	}
	if p.wholePacked(&p.other); p.other.total < gpu.total {
		*gpu = p.other
		p.batchShare = 0
	}
}

// wholePacked predicts the whole stage by lists where they are.
func (p *predictor) wholePacked(s *Step) {
	s.begin(len(p.lengths), pipeline.PathPacked)
	if p.query.splits(p.stage) || p.isMasked() && p.query.Stage(p.stage).Kind() == traverse.And && len(p.lengths) > 1 {
		p.expectCandidates()
		p.addGPULists(s, 0, len(p.lengths))
		return
	}
	f := p.whole
	f.BytesBus = p.located.BytesHost
	f.Blocks = (f.Sum + codec.BlockLen - 1) / codec.BlockLen
	p.addFileCopies(s, p.located.BytesFile)
	s.add(cost.GPUPackedOr, &f, p.model.costs.Predict(cost.GPUPackedOr, &f))
}

func (p *predictor) addFileCopies(s *Step, sizeBytes int64) {
	if sizeBytes == 0 {
		return
	}
	f := cost.Features{Lists: 1, BytesFile: sizeBytes}
	s.add(cost.BringHost, &f, p.model.costs.Predict(cost.BringHost, &f))
}

// BatchMeasured is the size of the batches that package calibrate measures and that predict one
// query's share.
const BatchMeasured = 16

// predictBatchShare derives the share from the query's time alone.
func (p *predictor) predictBatchShare(alone time.Duration) {
	if !p.batches || p.done > 0 {
		return
	}
	f := p.whole
	f.Batch = BatchMeasured
	f.Lists *= BatchMeasured
	for _, n := range []*int64{&f.Shortest, &f.Second, &f.Longest, &f.Sum, &f.Essential} {
		*n *= BatchMeasured
	}
	together := p.model.costs.Predict(p.kind(sched.GPU), &f)
	// A different model may predict one alone: its part of the batch without the launch is then
	// taken to be at least a quarter.
	p.batchShare = min(max((together-alone)/(BatchMeasured-1), together/(4*BatchMeasured), 1), alone)
}

func (p *predictor) work() int64 {
	if len(p.lengths) == 0 {
		return 0
	}
	return p.lengths[0]
}
