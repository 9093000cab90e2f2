package dispatch

import (
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

const (
	// splitGain is the part of the time on one processor that a split, or a move in the middle
	// of a query, must be predicted to stay below, because it sums several predictions that may
	// be wrong.
	splitGain = 0.8
	// splitLaunches is the number of launches that the best whole must take for splits to be considered.
	splitLaunches = 2
	// splitWithin is the ratio of the CPU's time to the GPU's up to which splits are
	// considered. As a rule of thumb, with a ratio of five, a fifth of the work must leave the
	// GPU for a split to pay; on the CPU this fifth takes the GPU's time for everything, unless
	// the CPU is far better at it.
	splitWithin = 1 / (1 - splitGain)
)

func maySplit(r *queryRun) bool {
	located := &r.predictor.located
	return located.Packed && (r.pos > 0 || located.BytesImage > 0) && r.splits() &&
		float64(r.choices[sched.CPU].took) < splitWithin*float64(r.choices[sched.GPU].total)
}

// splitByCost looks for a split that is clearly better than the whole on one processor, as
// wholeByCost predicts it. Times add up, so it stops in each direction where the CPU's lists
// and a launch already take too long.
func splitByCost(r *queryRun) {
	p := &r.predictor
	n, from := len(p.lengths), r.pos
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	if n-from < 2 {
		return
	}
	launch := r.d.costs.Predict(cost.GPUIntersect, &cost.Features{Lists: 1, Batch: 1})
	best := min(cpu.took, gpu.total) // took: times of lists are not inflated either
	if best < splitLaunches*launch {
		return
	}
	limit := time.Duration(splitGain * float64(best))
	cut, least := 0, limit
	took := time.Duration(0) // of the lists before to, on the CPU
	for to := from + 1; to < n; to++ {
		if took += p.cpuListTime(to - 1); took+launch >= least {
			break
		}
		if total := took + p.listsOnGPU(to, n).total; total < least {
			cut, least = to, total
		}
	}
	if cut > 0 {
		cpu.begin(cut, pipeline.PathAuto)
		p.addCPULists(cpu, from, cut)
		cpu.total = least
	}
	cut, least = 0, limit
	took = p.selection() // and of the lists from to on, on the CPU
	for to := n - 1; to > from && (from > 0 || to > 1); to-- {
		if took += p.cpuListTime(to); took+launch >= least {
			break
		}
		if total := took + p.listsOnGPU(from, to).total; total < least {
			cut, least = to, total
		}
	}
	if cut > 0 {
		*gpu = *p.listsOnGPU(from, cut)
		gpu.total = least
		p.batchShare = 0
	}
}

// listsOnGPU predicts the lists [from, to) on the GPU, valid until the next call.
func (p *predictor) listsOnGPU(from, to int) *Step {
	p.other.begin(to, pipeline.PathPacked)
	p.addGPULists(&p.other, from, to)
	return &p.other
}
