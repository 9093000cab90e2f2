package dispatch

import (
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/sched"
)

// costPolicy runs each step where it is predicted to end first. A query can run on one processor, by
// images or by lists where they are, or begin on one and continue on the other (policy_cost_split.go).
//
// Deciding must be cheap beside a query of 20 µs, so it looks no further than the choice depends on: if
// the CPU is predicted to end before the GPU could even with all lists loaded, nobody looks for lists
// there, and if the GPU is clearly faster, the CPU is only bounded from below.
type costPolicy struct{}

func (costPolicy) info() PolicyInfo {
	return PolicyInfo{PolicyCost, "each step where it is predicted to end first, with transfers, residency and queues"}
}
func (costPolicy) traits() traits { return traits{restarts: true, predicts: true} }

// minGPUTime is a lower bound of every query on a GPU: launching and waiting.
const minGPUTime = 8 * time.Microsecond

// clearlyFaster is the factor by which the GPU must be faster than the lower bound of the CPU for a
// better prediction of the CPU to be omitted.
const clearlyFaster = 1.5

func (costPolicy) choose(r *queryRun) {
	switch {
	case r.refusal != "":
		r.chooseCPU()
	case r.overran:
		r.chooseAfterOverrun()
	default:
		r.chooseByCost()
	}
}

func (r *queryRun) chooseByCost() {
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	r.lowerBoundOnCPU(cpu)
	r.inflateByUncertainty(cpu)
	gpu.never()
	bounded := r.pos == 0 && !r.hasEssential
	least := r.leastOnGPU(cpu.total)
	if bounded && float64(cpu.total) < clearlyFaster*float64(least) {
		r.inflatedOnCPU(cpu)
		bounded = false
	}
	if cpu.total < least && r.wait(sched.CPU) < minGPUTime || !r.locateWhole() {
		if bounded {
			r.inflatedOnCPU(cpu)
		}
		return
	}
	r.wholeByCost(gpu)
	if bounded && (float64(cpu.total) < clearlyFaster*float64(gpu.total) || !r.isFree(sched.GPU)) {
		r.inflatedOnCPU(cpu)
	}
	if r.maySplit() {
		r.splitByCost()
	}
	if r.pos == 0 {
		r.requestPreload()
	}
}

// leastOnGPU predicts all that is left on a GPU that has all lists, by images or compressed, before it
// is known where they are. If the CPU takes clearly more, it may return any time below that.
func (p *predictor) leastOnGPU(onCPU time.Duration) time.Duration {
	if p.run.pos > 0 {
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
	return max(min(least, p.run.d.costs.Predict(packed, &f)), minGPUTime)
}
