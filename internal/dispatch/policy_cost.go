package dispatch

import (
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/sched"
)

// costPolicy runs each step where it is predicted to end first. A query can run on one
// processor, by images or by lists where they are, or begin on one and continue on the other
// (policy_cost_split.go).
//
// Deciding must be cheap beside a query of 20 µs: if the CPU is predicted to end before a GPU
// with all lists loaded could, lists are not located, and if the GPU is clearly faster, the CPU
// is only bounded from below. While CPUs are busy with feeding the GPU (sched.Pool.Spare), they take no query
// that it can answer.
type costPolicy struct{}

func (costPolicy) info() PolicyInfo {
	return PolicyInfo{PolicyCost, "each step where it is predicted to end first, with transfers, residency and queues"}
}
func (costPolicy) traits() traits { return traits{restarts: true, predicts: true} }

// minGPUTime is a lower bound of every query on a GPU: launching and waiting.
const minGPUTime = 8 * time.Microsecond

// clearlyFaster is the factor by which the GPU must beat the CPU's lower bound for a better
// prediction of the CPU to be omitted.
const clearlyFaster = 1.5

// feedingTime is about the time that a CPU spends on a query that a GPU answers: on planning, launching, waking
// and completing it. Faster queries never leave a busy CPU.
const feedingTime = 20 * time.Microsecond

func (costPolicy) choose(r *queryRun) {
	switch {
	case r.gpu.refusal != "":
		r.chooseCPU()
	case r.overrun.noted:
		chooseAfterOverrun(r)
	default:
		chooseByCost(r)
	}
}

func chooseByCost(r *queryRun) {
	p := &r.predictor
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	p.lowerBoundOnCPU(cpu)
	p.inflateByUncertainty(cpu)
	gpu.never()
	bounded := r.pos == 0 && !p.hasEssential
	least := p.leastOnGPU(cpu.total)
	if bounded && float64(cpu.total) < clearlyFaster*float64(least) {
		p.inflatedOnCPU(cpu)
		bounded = false
	}
	if cpu.total < least && r.wait(sched.CPU) < minGPUTime || !r.locateWhole() {
		if bounded {
			p.inflatedOnCPU(cpu)
		}
		return
	}
	p.wholeByCost(gpu)
	if r.pos == 0 && cpu.total > feedingTime && gpu.total != sched.Never && !r.d.hasSpareCPU() {
		p.leavesCPU = true
		r.requestPreload()
		return
	}
	if bounded && (float64(cpu.total) < clearlyFaster*float64(gpu.total) || !r.isFree(sched.GPU)) {
		p.inflatedOnCPU(cpu)
	}
	if maySplit(r) && (p.batchShare == 0 || !r.d.isGPUBusy()) { // one more query of a launch takes less time than any part of it
		splitByCost(r)
	}
	if r.pos == 0 {
		r.requestPreload()
	}
}

// overrunPenalty is the multiple of the time taken, and of the GPU's time, that an
// overrun query is predicted to take on the CPU. The query returns only if the GPU's queue
// becomes that long.
const overrunPenalty = 4

func chooseAfterOverrun(r *queryRun) {
	p := &r.predictor
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	p.lowerBoundOnCPU(cpu)
	gpu.never()
	if r.locate() {
		p.wholeByCost(gpu)
	}
	wait := r.wait(sched.GPU)
	if gpu.total == sched.Never || wait == sched.Never {
		r.chooseCPU()
	} else {
		cpu.total = overrunPenalty * max(time.Since(r.overrun.began), gpu.total+wait)
	}
}

// leastOnGPU predicts the rest on a GPU that has all lists, by images or compressed, before
// they are located. If the CPU takes clearly more, it may return any time below that.
func (p *predictor) leastOnGPU(onCPU time.Duration) time.Duration {
	if p.done > 0 {
		return minGPUTime
	}
	least := max(p.wholeByImages(), minGPUTime)
	if clearlyFaster*float64(least) <= float64(onCPU) {
		return least
	}
	packed, f := cost.GPUPackedOr, p.whole
	switch p.kind(sched.GPU) {
	case cost.GPUImagesAnd:
		packed, f.Blocks = cost.GPUPackedAnd, (f.Shortest+codec.BlockLen-1)/codec.BlockLen
	case cost.GPUImagesOr:
		f.Blocks = (f.Sum + codec.BlockLen - 1) / codec.BlockLen
	default:
		return least
	}
	return max(min(least, p.model.costs.Predict(packed, &f)), minGPUTime)
}
