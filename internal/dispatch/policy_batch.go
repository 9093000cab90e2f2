package dispatch

// batchPolicy has package sched gather queries until there is enough work for a batch on the
// GPU (Ao et al., VLDB 2011).
type batchPolicy struct{}

func (batchPolicy) info() PolicyInfo {
	return PolicyInfo{PolicyBatch, "queries gather until there is enough work for a batch on the GPU (Ao et al., VLDB 2011)"}
}
func (batchPolicy) traits() traits     { return traits{prefersGPU: true} }
func (batchPolicy) choose(r *queryRun) { gpuPolicy{}.choose(r) }
