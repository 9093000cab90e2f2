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

// predictor predicts the time of the rest of a stage, on each processor. It belongs to a run and
// reads the run's position.
type predictor struct {
	run *queryRun
	// lengths of the lists, over all segments, in the order of the stage: rising.
	lengths []int64
	// expected is the number of documents in the first lists up to each: counted for lists that have
	// run, estimated for the others.
	expected []float64
	// whole has the features of the whole stage. Essential and Tight of a pruned OR are known only if
	// hasEssential is set. ModeSaat has neither.
	whole        cost.Features
	hasEssential bool
	// cumulative sums the reads of a GPU from the lists up to each, without loading them, if
	// hasCumulative is set.
	cumulative    []reading
	hasCumulative bool
	// located has the locations of the lists, if isLocated is set. If all have images, it may have no more than this fact.
	located   pipeline.Located
	isLocated bool
	// imagesTime is the result of wholeByImages; 0: not predicted yet.
	imagesTime time.Duration
	// batchShare is the predicted time that the query adds to a batch; 0: it cannot be in one.
	batchShare time.Duration
	other      Step // scratch: an alternative to one of the run's choices
	ticks      uint // counts steps, because not all short ones are timed
}

// describe fills the predictor for the run's stage.
func (p *predictor) describe() {
	q, st := p.run.plan, p.run.plan.Stage(p.run.stage)
	p.lengths, p.expected, p.hasCumulative, p.imagesTime = p.lengths[:0], p.expected[:0], false, 0
	p.located, p.isLocated = pipeline.Located{Forms: p.located.Forms[:0], Compressed: p.located.Compressed[:0]}, false
	switch {
	case q.Mode() == plan.ModeSaat:
		for i := range q.Impacts().Terms {
			p.lengths = append(p.lengths, int64(q.Impacts().Terms[i].List.DocFreq))
		}
	case st.IsFlat():
		for _, j := range st.Order() {
			p.lengths = append(p.lengths, int64(q.LegDocFreq(st, j)))
		}
	default:
		for _, n := range q.DocFreqs() {
			p.lengths = append(p.lengths, int64(n))
		}
	}
	p.whole = cost.Features{Lists: len(p.lengths), K: q.K(), Batch: 1}
	f := &p.whole
	for i, n := range p.lengths {
		f.Sum += n
		f.Longest = max(f.Longest, n)
		switch {
		case i == 0 || n < f.Shortest:
			f.Shortest, f.Second = n, f.Shortest
		case i == 1 || n < f.Second:
			f.Second = n
		}
	}
	p.hasEssential = q.Mode() == plan.ModeSaat || !st.IsFlat() || st.Kind() != traverse.Or || len(p.lengths) < 2 || f.Sum <= manyPostings
}

// manyPostings is the number of postings from which essential ones are counted.
const manyPostings = 4096

// countEssential counts the essential postings of a pruned OR, which takes a while.
func (p *predictor) countEssential() {
	if p.hasEssential {
		return
	}
	p.hasEssential = true
	q, st, f := p.run.plan, p.run.plan.Stage(p.run.stage), &p.whole
	for i := range q.Snapshot().Segments {
		legs, live := st.Legs(i), q.Snapshot().Segments[i].Live.Words()
		f.Essential += traverse.Essential(legs, q.K(), live)
		f.Tight += traverse.EssentialAt(legs, q.K(), live, cost.TightFactor)
	}
}

// bounded returns the features of the whole stage for a lower bound of its time on the CPU: as if only
// the shortest list were essential.
func (p *predictor) bounded() cost.Features {
	f := p.whole
	if !p.hasEssential {
		f.Essential, f.Tight = max(f.Shortest, 1), max(f.Shortest, 1)
	}
	return f
}

// attachOrRefuse attaches the run to the GPU. If that fails, it notes the reason and returns false.
func (p *predictor) attachOrRefuse() bool {
	err := p.run.attach()
	if err != nil {
		p.run.refusal = err.Error()
	}
	return err == nil
}

// locate finds out where the lists are. It returns false if the GPU cannot be used.
func (p *predictor) locate() bool {
	if !p.attachOrRefuse() {
		return false
	}
	p.run.view.Locate(p.run.gpuQuery(), &p.located)
	p.isLocated, p.hasCumulative = true, false
	return true
}

// locateWhole is locate without the compressed lists if all lists have images.
func (p *predictor) locateWhole() bool {
	if p.run.pos > 0 || !p.attachOrRefuse() || !p.run.view.HasImages(p.run.gpuQuery()) {
		return p.locate()
	}
	p.located = pipeline.Located{Forms: p.located.Forms[:0], Compressed: p.located.Compressed[:0], ImageRoom: true, Path: pipeline.PathImages}
	p.isLocated, p.hasCumulative = true, false
	return true
}

// hasImages reports whether a list has its image in all segments.
func (p *predictor) hasImages(list int) bool {
	for i := list; i < len(p.located.Forms); i += len(p.lengths) {
		if p.located.Forms[i] < pipeline.FormImage {
			return false
		}
	}
	return true
}

// missingImages describes the lists without images.
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

// kind returns the kind of the whole stage at a place, on the GPU by images.
func (p *predictor) kind(at sched.Place) cost.Kind {
	st := p.run.plan.Stage(p.run.stage)
	conjunctive := st.Kind() == traverse.And
	switch {
	case p.run.plan.Mode() == plan.ModeSaat && at == sched.CPU:
		return cost.CPUImpacts
	case p.run.plan.Mode() == plan.ModeSaat:
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

// predict uses model trees if the policy does (traits.trees), else the linear models.
func (p *predictor) predict(k cost.Kind, f *cost.Features) time.Duration {
	if p.run.rules.trees {
		return p.run.d.costs.PredictTree(k, f)
	}
	return p.run.d.costs.Predict(k, f)
}

// wholeOn predicts all that is left of the stage at a place, on the GPU by the path that it chooses
// itself.
func (p *predictor) wholeOn(s *Step, at sched.Place) {
	s.begin(len(p.lengths), pipeline.PathAuto)
	if p.run.pos > 0 {
		p.expectCandidates()
		if at == sched.CPU {
			p.addCPULists(s, p.run.pos, len(p.lengths))
		} else {
			f, _ := p.packedFeatures(p.run.pos, len(p.lengths))
			s.add(cost.GPUIntersect, &f, p.run.d.costs.Predict(cost.GPUIntersect, &f))
		}
		return
	}
	if at == sched.CPU {
		p.countEssential()
	} else {
		s.guessed = !p.isLocated || p.located.BytesImage > 0
	}
	k := p.kind(at)
	s.add(k, &p.whole, p.predict(k, &p.whole))
}

// lowerBoundOnCPU is wholeOn of the CPU, or a lower bound of it that is cheap to compute. Nothing is
// learnt from the time of a lower bound.
func (p *predictor) lowerBoundOnCPU(s *Step) {
	if p.run.pos > 0 || p.hasEssential {
		p.wholeOn(s, sched.CPU)
		return
	}
	f := p.bounded()
	s.is(len(p.lengths), pipeline.PathAuto, p.run.d.costs.Predict(p.kind(sched.CPU), &f))
}

// inflateByUncertainty raises the total of a whole stage on the CPU to its expected mean: times scatter
// about predictions, by 40 % and more on the CPU and by 10 % on the GPU. Parts of a stage are compared
// without it.
func (p *predictor) inflateByUncertainty(s *Step) {
	if p.run.pos == 0 {
		s.total = time.Duration(p.run.d.costs.Doubt(p.kind(sched.CPU)) * float64(s.total))
	}
}

// inflatedOnCPU is wholeOn of the CPU with inflateByUncertainty.
func (p *predictor) inflatedOnCPU(s *Step) {
	p.wholeOn(s, sched.CPU)
	p.inflateByUncertainty(s)
}

// wholeByImages predicts the whole stage on a GPU that has images of all lists.
func (p *predictor) wholeByImages() time.Duration {
	if p.imagesTime == 0 {
		p.imagesTime = max(p.run.d.costs.Predict(p.kind(sched.GPU), &p.whole), 1)
	}
	return p.imagesTime
}

// wholeByCost predicts all that is left on the GPU, after locate.
func (p *predictor) wholeByCost(gpu *Step) {
	n := len(p.lengths)
	if p.run.pos > 0 {
		if p.located.Packed {
			p.expectCandidates()
			gpu.begin(n, pipeline.PathPacked)
			p.addGPULists(gpu, p.run.pos, n)
		}
		return
	}
	images := p.located.BytesImage == 0 || p.located.ImageRoom || !p.located.Packed
	if images {
		gpu.begin(n, pipeline.PathImages)
		if b := p.missingImages(); b.Lists > 0 {
			gpu.add(cost.BringImages, &b, p.run.d.costs.Predict(cost.BringImages, &b))
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

// wholePacked predicts the whole stage on the GPU by lists where they are.
func (p *predictor) wholePacked(s *Step) {
	s.begin(len(p.lengths), pipeline.PathPacked)
	if p.run.splits() {
		p.expectCandidates()
		p.addGPULists(s, 0, len(p.lengths))
		return
	}
	f := p.whole
	f.BytesBus = p.located.BytesHost
	f.Blocks = (f.Sum + codec.BlockLen - 1) / codec.BlockLen
	p.addFileCopies(s, p.located.BytesFile)
	s.add(cost.GPUPackedOr, &f, p.run.d.costs.Predict(cost.GPUPackedOr, &f))
}

// addFileCopies adds to s the copying of lists from files to page-locked memory.
func (p *predictor) addFileCopies(s *Step, sizeBytes int64) {
	if sizeBytes == 0 {
		return
	}
	f := cost.Features{Lists: 1, BytesFile: sizeBytes}
	s.add(cost.BringHost, &f, p.run.d.costs.Predict(cost.BringHost, &f))
}

// BatchMeasured is the size of the batches that package calibrate measures, and that the share of
// one query is predicted by.
const BatchMeasured = 16

// predictBatchShare predicts the time that a query adds to a batch on the GPU, from its time alone.
func (p *predictor) predictBatchShare(alone time.Duration) {
	if p.run.d.pool == nil || p.run.pos > 0 {
		return
	}
	f := p.whole
	f.Batch = BatchMeasured
	f.Lists *= BatchMeasured
	for _, n := range []*int64{&f.Shortest, &f.Second, &f.Longest, &f.Sum, &f.Essential} {
		*n *= BatchMeasured
	}
	together := p.run.d.costs.Predict(p.kind(sched.GPU), &f)
	// One that is alone may be predicted by another model: its part of the batch without the launch is
	// then taken to be at least a quarter.
	p.batchShare = min(max((together-alone)/(BatchMeasured-1), together/(4*BatchMeasured), 1), alone)
}

// work is the length of the shortest list.
func (p *predictor) work() int64 {
	if len(p.lengths) == 0 {
		return 0
	}
	return p.lengths[0]
}
