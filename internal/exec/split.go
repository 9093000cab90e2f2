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
)

// splitByCost looks for something that is clearly better than all on one processor:
// the first lists on one, the rest on the other. Pieces only add up, so it stops in
// each direction where those on the CPU and a launch are already too long.
func (r *placedRun) splitByCost() {
	n, from := len(r.lengths), r.pos
	cpu, gpu := &r.choices[sched.CPU], &r.choices[sched.GPU]
	launch := r.d.costs.Predict(cost.GPUIntersect, &cost.Features{Lists: 1, Batch: 1})
	best := min(cpu.total, gpu.total)
	if n-from < 2 || best < splitLaunches*launch {
		return
	}
	r.expect()
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
		c := choice{to: cut}
		r.onCPUFrom(&c, from, cut)
		c.total = least
		*cpu = c
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
		c := r.piece(from, cut)
		c.path, c.total = pipeline.PathDirect, least
		*gpu = c
		r.batched = 0
	}
}

// piece predicts the lists [from, to) on the GPU.
func (r *placedRun) piece(from, to int) choice {
	c := choice{to: to}
	r.onGPUFrom(&c, from, to)
	return c
}
