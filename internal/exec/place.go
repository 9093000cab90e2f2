package exec

import (
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// unwanted is the cost of a place that a policy does not choose, but where a query can
// run if the other fails.
const unwanted = time.Hour

// decide fills the choices: what would run next at each place, and what it and all that
// follows would take.
func (r *placedRun) decide() {
	if r.pos == 0 {
		r.look()
		if r.trace != nil {
			r.weigh() // who looks wants to know
		}
	}
	r.batched = 0
	switch policy := r.policy(); {
	case r.d.choose != nil && (r.refusal == "" || r.d.gpu == nil):
		r.chooseAny()
	case r.plan.placement != nil && r.refusal == "":
		r.chooseGiven()
	case r.refusal != "", policy == PolicyCPU:
		r.chooseCPU()
	case policy == PolicyRatio && r.splits():
		r.chooseByRatio()
	case r.gaveUp:
		r.chooseAfterGivingUp()
	case policy == PolicyCost:
		r.chooseByCost()
	case policy == PolicyQuery:
		r.chooseWhole()
	default: // gpu, batch, ratio of what is no conjunction
		if r.d.gpu.lost() {
			r.weigh()
		}
		r.wholeOn(&r.choices[sched.GPU], sched.GPU)
		r.boundOnCPU(&r.choices[sched.CPU])
		r.batchedBy(r.choices[sched.GPU].took)
	}
	if r.trace != nil {
		r.noteChoice()
	}
}

// splits reports whether the stage can run in pieces: a conjunction of several lists.
func (r *placedRun) splits() bool { return r.plan.splits(&r.plan.stages[r.stage]) }

func (p *Plan) splits(st *stage) bool {
	return p.mode != ModeSaat && st.flat && st.kind == traverse.And && len(st.order) > 1
}

// chooseCPU has all that is left run on the CPU.
func (r *placedRun) chooseCPU() {
	r.wholeOn(&r.choices[sched.CPU], sched.CPU)
	r.choices[sched.GPU].never()
}

// wholeOn predicts all that is left of the stage at a place, on the GPU by the path that
// it takes by itself.
func (r *placedRun) wholeOn(c *choice, at sched.Place) {
	c.begin(len(r.lengths), pipeline.PathAuto)
	if r.pos > 0 {
		r.expect()
		if at == sched.CPU {
			r.onCPUFrom(c, r.pos, len(r.lengths))
		} else {
			f, _ := r.directFeatures(r.pos, len(r.lengths))
			c.add(cost.GPUIntersect, &f, r.d.costs.Predict(cost.GPUIntersect, &f))
		}
		return
	}
	if at == sched.CPU {
		r.weigh()
	} else {
		c.guessed = !r.isLocated || r.located.BytesImage > 0
	}
	k := r.kind(at)
	c.add(k, &r.whole, r.predict(k, &r.whole))
}

// boundOnCPU is wholeOn of the CPU or less, without looking at what is hard to know. If
// it is less, nothing is learnt from the time that it takes.
func (r *placedRun) boundOnCPU(c *choice) {
	if r.pos > 0 || r.isWeighed {
		r.wholeOn(c, sched.CPU)
		return
	}
	f := r.bounded()
	c.is(len(r.lengths), pipeline.PathAuto, r.d.costs.Predict(r.kind(sched.CPU), &f))
}

// predict is by trees for PolicyQuery, and else by the linear models.
func (r *placedRun) predict(k cost.Kind, f *cost.Features) time.Duration {
	if r.policy() == PolicyQuery {
		return r.d.costs.PredictTree(k, f)
	}
	return r.d.costs.Predict(k, f)
}

// kind is that of the whole stage at a place, on the GPU by images.
func (r *placedRun) kind(at sched.Place) cost.Kind {
	st := &r.plan.stages[r.stage]
	conjunctive := st.kind == traverse.And
	switch {
	case r.plan.mode == ModeSaat && at == sched.CPU:
		return cost.CPUImpacts
	case r.plan.mode == ModeSaat:
		return cost.GPUImpacts
	case at == sched.GPU && conjunctive:
		return cost.GPUImagesAnd
	case at == sched.GPU:
		return cost.GPUImagesOr
	case !st.flat || len(st.excluded) > 0:
		return cost.CPUTree
	case conjunctive:
		return cost.CPUAnd
	case len(r.lengths) == 1:
		return cost.CPUTerm
	}
	return cost.CPUOr
}

// onCPUFrom adds to c what the lists [from, to) of a conjunction take on the CPU,
// and the selection of the best after the last.
func (r *placedRun) onCPUFrom(c *choice, from, to int) {
	for i := from; i < to; i++ {
		k, f := r.listFeatures(i)
		c.add(k, &f, r.d.costs.Predict(k, &f))
	}
	if n := len(r.lengths); to == n && to > 0 {
		f := cost.Features{Candidates: int64(r.expected[n-1]), K: r.plan.k}
		c.add(cost.CPUSelect, &f, r.selection())
	}
}

// listFeatures describe what a list of a conjunction takes on the CPU.
func (r *placedRun) listFeatures(i int) (cost.Kind, cost.Features) {
	if i == 0 {
		return cost.CPUBegin, cost.Features{Shortest: r.lengths[0]}
	}
	return cost.CPUIntersect, cost.Features{Candidates: int64(r.expected[i-1]), Longest: r.lengths[i]}
}

// listOnCPU predicts a list of a conjunction on the CPU.
func (r *placedRun) listOnCPU(i int) time.Duration {
	k, f := r.listFeatures(i)
	return r.d.costs.Predict(k, &f)
}

// selection predicts the choice of the best, on the CPU.
func (r *placedRun) selection() time.Duration {
	f := cost.Features{Candidates: int64(r.expected[len(r.lengths)-1]), K: r.plan.k}
	return r.d.costs.Predict(cost.CPUSelect, &f)
}

// chooseWhole offers the whole query at either place (ding09 §9).
func (r *placedRun) chooseWhole() {
	for at := range sched.Place(sched.NumPlaces) {
		r.wholeOn(&r.choices[at], at)
	}
	r.batchedBy(r.choices[sched.GPU].took)
}

// chooseByRatio is griffin18 (PPoPP 2018, §3.2): two lists are intersected on the GPU if
// the longer is less than a ratio times as long; after each intersection the next list
// is compared with what is left; what is on the CPU stays there.
func (r *placedRun) chooseByRatio() {
	n := len(r.lengths)
	left, next := r.lengths[0], max(r.pos, 1)
	if r.pos > 0 {
		left = int64(r.have.Len())
	}
	if r.pos > 0 && r.last == sched.CPU || float64(r.lengths[next]) >= r.d.ratio*float64(left) {
		r.chooseCPU()
		return
	}
	if !r.isLocated && !r.locate() {
		r.chooseCPU()
		return
	}
	r.expect()
	if c := &r.choices[sched.GPU]; n == 2 || !r.located.Direct && r.pos == 0 {
		r.wholeOn(c, sched.GPU)
	} else {
		c.begin(next+1, pipeline.PathAuto)
		f, _ := r.directFeatures(r.pos, next+1)
		c.add(cost.GPUIntersect, &f, r.d.costs.Predict(cost.GPUIntersect, &f))
	}
	r.wholeOn(&r.choices[sched.CPU], sched.CPU)
}

// chooseAny is what tests choose.
func (r *placedRun) chooseAny() {
	n := len(r.lengths)
	at, to := r.d.choose(r.pos, n)
	if !r.splits() {
		to = n
	}
	r.choices[at].is(to, pipeline.PathAuto, 1)
	if r.choices[1-at].is(n, pipeline.PathAuto, unwanted); r.refusal != "" {
		r.choices[1-at].total = sched.Never
	}
}

// quick is the time below which no GPU answers, whatever is predicted: launching and waiting.
const quick = 8 * time.Microsecond

// clearly is how many times faster the GPU must be than the least that the CPU can take,
// for that not to be predicted any better.
const clearly = 1.5

// doubted makes the total of a choice of all of a stage on the CPU what it will take on the
// mean: times scatter about predictions, those of the CPU by 40 % and more, those of the GPU
// by 10 %. Pieces of a stage are compared as they are predicted.
func (r *placedRun) doubted(c *choice) {
	if r.pos == 0 {
		c.total = time.Duration(r.d.costs.Doubt(r.kind(sched.CPU)) * float64(c.total))
	}
}

// doubtedOnCPU is wholeOn of the CPU, doubted.
func (r *placedRun) doubtedOnCPU() {
	c := &r.choices[sched.CPU]
	r.wholeOn(c, sched.CPU)
	r.doubted(c)
}

// chooseByCost predicts the ways there are: all that is left on one processor, by images
// or by lists read where they lie, or first some lists on one and then the rest on the
// other. It looks no further once that cannot change the choice, since deciding takes its
// part of a query of 20 µs: what the CPU is predicted to do before the GPU could if all
// lists were there is not looked up there, and nothing more is found out about the CPU
// where the GPU is clearly faster.
func (r *placedRun) chooseByCost() {
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	r.boundOnCPU(cpu)
	r.doubted(cpu)
	gpu.never()
	bounded := r.pos == 0 && !r.isWeighed
	least := r.leastOnGPU(cpu.total)
	if bounded && float64(cpu.total) < clearly*float64(least) {
		r.doubtedOnCPU()
		bounded = false
	}
	if cpu.total < least && r.wait(sched.CPU) < quick || !r.locateWhole() {
		if bounded {
			r.doubtedOnCPU()
		}
		return
	}
	r.wholeByCost()
	if bounded && (float64(cpu.total) < clearly*float64(gpu.total) || !r.isFree(sched.GPU)) {
		r.doubtedOnCPU()
	}
	if r.maySplit() {
		r.splitByCost()
	}
	if r.pos == 0 {
		r.wishFor()
	}
}

// leastOnGPU is what all that is left would take on the GPU if its lists were there, by
// images or compressed, before it is known where they are; or something less than what the
// CPU takes, if that is clearly more.
func (r *placedRun) leastOnGPU(onCPU time.Duration) time.Duration {
	if r.pos > 0 {
		return quick
	}
	least := max(r.withImages(), quick)
	if clearly*float64(least) <= float64(onCPU) {
		return least
	}
	direct, f := cost.GPUDirectOr, r.whole
	switch r.kind(sched.GPU) {
	case cost.GPUImagesAnd:
		direct, f.Blocks = cost.GPUDirectAnd, (f.Shortest+codec.BlockLen-1)/codec.BlockLen
	case cost.GPUImagesOr:
		f.Blocks = (f.Sum + codec.BlockLen - 1) / codec.BlockLen
	default:
		return least
	}
	return max(min(least, r.d.costs.Predict(direct, &f)), quick)
}

// wait is how long a query would wait for a place.
func (r *placedRun) wait(at sched.Place) time.Duration {
	if r.d.pool == nil {
		return 0
	}
	return r.d.pool.Wait(at)
}

// isFree reports whether a query would not wait for a place.
func (r *placedRun) isFree(at sched.Place) bool { return r.d.pool == nil || r.d.pool.Free(at) }

// wholeByCost predicts all that is left on the GPU.
func (r *placedRun) wholeByCost() {
	gpu := &r.choices[sched.GPU]
	n := len(r.lengths)
	if r.pos > 0 {
		if r.located.Direct {
			r.expect()
			gpu.begin(n, pipeline.PathDirect)
			r.onGPUFrom(gpu, r.pos, n)
		}
		return
	}
	images := r.located.BytesImage == 0 || r.located.ImageRoom || !r.located.Direct
	if images {
		gpu.begin(n, pipeline.PathImages)
		if b := r.bringing(); b.Lists > 0 {
			gpu.add(cost.BringImages, &b, r.d.costs.Predict(cost.BringImages, &b))
		}
		took := r.withImages()
		if gpu.took == 0 {
			r.batchedBy(took)
		}
		gpu.add(r.kind(sched.GPU), &r.whole, took)
	}
	if !r.located.Direct || r.located.BytesImage == 0 {
		return
	}
	if !images {
		r.wholeDirect(gpu)
		return
	}
	if r.wholeDirect(&r.other); r.other.total < gpu.total {
		*gpu = r.other
		r.batched = 0
	}
}

// wholeDirect predicts all of the stage on the GPU by lists where they lie.
func (r *placedRun) wholeDirect(c *choice) {
	c.begin(len(r.lengths), pipeline.PathDirect)
	if r.splits() {
		r.expect()
		r.onGPUFrom(c, 0, len(r.lengths))
		return
	}
	f := r.whole
	f.BytesBus = r.located.BytesHost
	f.Blocks = (f.Sum + codec.BlockLen - 1) / codec.BlockLen
	r.bringFiles(c, r.located.BytesFile)
	c.add(cost.GPUDirectOr, &f, r.d.costs.Predict(cost.GPUDirectOr, &f))
}

// onGPUFrom adds to c what the lists [from, to) of a conjunction take on the GPU
// where they lie.
func (r *placedRun) onGPUFrom(c *choice, from, to int) {
	f, file := r.directFeatures(from, to)
	r.bringFiles(c, file)
	k := cost.GPUIntersect
	if from == 0 && to == len(r.lengths) {
		k = cost.GPUDirectAnd
		f.Lists++
	}
	c.add(k, &f, r.d.costs.Predict(k, &f))
}

// bringFiles adds to c what it takes to page-lock lists that lie in files.
func (r *placedRun) bringFiles(c *choice, sizeBytes int64) {
	if sizeBytes == 0 {
		return
	}
	f := cost.Features{Lists: 1, BytesFile: sizeBytes}
	c.add(cost.BringHost, &f, r.d.costs.Predict(cost.BringHost, &f))
}

// bringing describes the lists that have no image.
func (r *placedRun) bringing() (f cost.Features) {
	for i, n := range r.lengths {
		if !r.hasImages(i) {
			f.Lists++
			f.Sum += n
		}
	}
	f.BytesFile = min(r.located.BytesFile, r.located.BytesImage)
	f.BytesBus = r.located.BytesImage - f.BytesFile
	return f
}

// batchMeasured is the size of batch that the share of one query is taken from.
const batchMeasured = 16

// batchedBy predicts what a query adds to a batch on the GPU that takes a while alone.
func (r *placedRun) batchedBy(alone time.Duration) {
	if r.d.pool == nil || r.pos > 0 {
		return
	}
	f := r.whole
	f.Batch = batchMeasured
	f.Lists *= batchMeasured
	for _, n := range []*int64{&f.Shortest, &f.Second, &f.Longest, &f.Sum, &f.Essential} {
		*n *= batchMeasured
	}
	together := r.d.costs.Predict(r.kind(sched.GPU), &f)
	// One that is alone may be predicted by another model: what is left of its part of the
	// batch without the launch is a quarter at least.
	r.batched = min(max((together-alone)/(batchMeasured-1), together/(4*batchMeasured), 1), alone)
}
