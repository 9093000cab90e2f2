package dispatch

import "github.com/griffin-search/griffin/internal/sched"

// gpuPolicy runs every step on the GPU, if it can.
type gpuPolicy struct{}

func (gpuPolicy) info() PolicyInfo {
	return PolicyInfo{PolicyGPU, "every step on the GPU if it can run there"}
}
func (gpuPolicy) traits() traits     { return traits{prefersGPU: true} }
func (gpuPolicy) choose(r *queryRun) { r.chooseGPU() }

// chooseGPU offers all that is left on the GPU, and on the CPU if the GPU fails.
func (r *queryRun) chooseGPU() {
	if r.refusal != "" {
		r.chooseCPU()
		return
	}
	if r.d.gpu.Lost() {
		r.countEssential()
	}
	r.wholeOn(&r.choices[sched.GPU], sched.GPU)
	r.lowerBoundOnCPU(&r.choices[sched.CPU])
	r.predictBatchShare(r.choices[sched.GPU].took)
}
