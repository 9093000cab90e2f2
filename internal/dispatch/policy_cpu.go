package dispatch

type cpuPolicy struct{}

func (cpuPolicy) info() PolicyInfo   { return PolicyInfo{PolicyCPU, "every step on the CPU"} }
func (cpuPolicy) traits() traits     { return traits{noGPU: true} }
func (cpuPolicy) choose(r *queryRun) { r.chooseCPU() }
