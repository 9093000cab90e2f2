package simulation

import (
	"time"

	"github.com/griffin-search/griffin/internal/sched"
)

// Configuration is a named configuration of a simulation.
type Configuration struct {
	Name    string
	Options Options
}

// Ding09Deadline is the deadline of Fig. 7.
const Ding09Deadline = 500 * time.Millisecond

// Ding09 returns the four configurations of ding09 Fig. 7 for a log: the GPU
// only; the CPU only; the better of both for each query, one query at a time;
// and both in parallel by the policy query. Each has one CPU and one lane, no
// batches, and the given deadline, by default Ding09Deadline. relative is the
// mean relative error of predictions (in the paper 22 % for the GPU and 20 %
// for the CPU). Late queries are not shed.
func Ding09(queries []Query, deadline time.Duration, relative float64, seed uint64) []Configuration {
	if deadline == 0 {
		deadline = Ding09Deadline
	}
	with := func(name string, policy sched.Policy, stretch float64, oneAtATime bool) Configuration {
		return Configuration{Name: name, Options: Options{
			Sched: sched.Options{
				Policy: policy, CPUs: 1, Lanes: 1, MaxBatch: 1, MaxQueue: -1,
				Deadline: deadline, RunLate: true, Stretch: stretch,
			},
			Queries: queries, Error: relative, Seed: seed, OneAtATime: oneAtATime,
		}}
	}
	return []Configuration{
		with("GPU only", sched.PolicyGPU, -1, false),
		with("CPU only", sched.PolicyCPU, -1, false),
		with("better of both", sched.PolicyQuery, -1, true),
		with("both in parallel", sched.PolicyQuery, 0, false),
	}
}
