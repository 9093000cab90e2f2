package dispatch

import "github.com/griffin-search/griffin/internal/sched"

// gpuPolicy runs every step on the GPU, or on the CPU if the GPU fails.
type gpuPolicy struct{}

func (gpuPolicy) info() PolicyInfo {
	return PolicyInfo{PolicyGPU, "every step on the GPU if it can run there"}
}
func (gpuPolicy) traits() traits { return traits{prefersGPU: true} }

func (gpuPolicy) choose(r *queryRun) {
	if r.gpu.refusal != "" {
		r.chooseCPU()
		return
	}
	p := &r.predictor
	if r.d.gpu.Lost() {
		p.countEssential()
	}
	p.wholeOn(&r.choices[sched.GPU], sched.GPU)
	p.lowerBoundOnCPU(&r.choices[sched.CPU])
	p.predictBatchShare(r.choices[sched.GPU].took)
}
