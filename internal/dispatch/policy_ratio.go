package dispatch

import (
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// DefaultRatio is the default ratio of PolicyRatio: the ratio of Griffin (griffin18, PPoPP 2018, §3.2), below
// which nearly every block of the longer list has a posting to look at.
const DefaultRatio = 128

// ratioPolicy is griffin18 (PPoPP 2018, §3.2): two lists are intersected on the GPU if the
// quotient of their lengths is less than a ratio. The length of each next list is divided by
// the number of candidates. A query that has reached the CPU stays there.
type ratioPolicy struct{}

func (ratioPolicy) info() PolicyInfo {
	return PolicyInfo{PolicyRatio, "intersections on the GPU while the next list is less than --ratio times as long as the candidates, then on the CPU (Griffin, PPoPP 2018)"}
}
func (ratioPolicy) traits() traits { return traits{prefersGPU: true} }

func (ratioPolicy) choose(r *queryRun) {
	if r.gpu.refusal != "" || !r.splits() {
		gpuPolicy{}.choose(r)
		return
	}
	p := &r.predictor
	n := len(p.lengths)
	left, next := p.lengths[0], max(r.pos, 1)
	if r.pos > 0 {
		left = int64(r.have.Len())
	}
	if r.pos > 0 && r.last == sched.CPU || float64(p.lengths[next]) >= r.d.ratio*float64(left) || !p.isLocated && !r.locate() {
		r.chooseCPU()
		return
	}
	p.expectCandidates()
	if s := &r.choices[sched.GPU]; n == 2 || !p.located.Packed && r.pos == 0 {
		p.wholeOn(s, sched.GPU)
	} else {
		s.begin(next+1, pipeline.PathAuto)
		f, _ := p.packedFeatures(r.pos, next+1)
		s.add(cost.GPUIntersect, &f, r.d.costs.Predict(cost.GPUIntersect, &f))
	}
	p.wholeOn(&r.choices[sched.CPU], sched.CPU)
}
