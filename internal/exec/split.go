package exec

import (
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

const (
	// splitPays is the part of the time on one processor that a split, or going to the
	// other processor in the middle of a query, must be predicted to stay below. It is the
	// sum of several predictions, each of which may be off.
	splitPays = 0.8
	// splitLaunches is how many times as long as a launch the best whole must take for
	// splits to be looked at.
	splitLaunches = 2
	// splitWithin is how many times as long as the GPU the CPU may take for all of it. It is a
	// rule of thumb: of work that takes the CPU five times as long, the fifth that must be
	// taken off the GPU for a split to pay takes the CPU as long as the GPU takes for all,
	// unless the CPU is far better at that part.
	splitWithin = 1 / (1 - splitPays)
)

// maySplit reports whether a split is worth being looked for.
func (r *placedRun) maySplit() bool {
	return r.located.Direct && (r.pos > 0 || r.located.BytesImage > 0) && r.splits() &&
		float64(r.choices[sched.CPU].took) < splitWithin*float64(r.choices[sched.GPU].total)
}

// splitByCost looks for something that is clearly better than all on one processor, which
// wholeByCost has predicted: the first lists on one, the rest on the other. Pieces only add
// up, so it stops in each direction where those on the CPU and a launch are already too long.
func (r *placedRun) splitByCost() {
	n, from := len(r.lengths), r.pos
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	if n-from < 2 {
		return
	}
	launch := r.d.costs.Predict(cost.GPUIntersect, &cost.Features{Lists: 1, Batch: 1})
	best := min(cpu.took, gpu.total) // took, as pieces are not doubted
	if best < splitLaunches*launch {
		return
	}
	limit := time.Duration(splitPays * float64(best))
	cut, least := 0, limit
	took := time.Duration(0) // of the lists before to, on the CPU
	for to := from + 1; to < n; to++ {
		if took += r.listOnCPU(to - 1); took+launch >= least {
			break
		}
		if total := took + r.piece(to, n).total; total < least {
			cut, least = to, total
		}
	}
	if cut > 0 {
		cpu.begin(cut, pipeline.PathAuto)
		r.onCPUFrom(cpu, from, cut)
		cpu.total = least
	}
	cut, least = 0, limit
	took = r.selection() // and the lists from to on, on the CPU
	for to := n - 1; to > from && (from > 0 || to > 1); to-- {
		if took += r.listOnCPU(to); took+launch >= least {
			break
		}
		if total := took + r.piece(from, to).total; total < least {
			cut, least = to, total
		}
	}
	if cut > 0 {
		*gpu = *r.piece(from, cut)
		gpu.total = least
		r.batched = 0
	}
}

// piece predicts the lists [from, to) on the GPU, until the next is.
func (r *placedRun) piece(from, to int) *choice {
	r.other.begin(to, pipeline.PathDirect)
	r.onGPUFrom(&r.other, from, to)
	return &r.other
}
