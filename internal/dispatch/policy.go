package dispatch

import (
	"slices"

	"github.com/griffin-search/griffin/internal/sched"
)

// Policy names how the places of a query's steps are chosen. Every policy gives the identical answer.
type Policy = sched.Policy

// The policies; PolicyInfo describes each.
const (
	PolicyCPU   = sched.PolicyCPU
	PolicyGPU   = sched.PolicyGPU
	PolicyRatio = sched.PolicyRatio
	PolicyQuery = sched.PolicyQuery
	PolicyBatch = sched.PolicyBatch
	PolicyCost  = sched.PolicyCost
)

// policy chooses where the steps of queries run. Each policy has a file, policy_NAME.go, and an
// entry in policies; package sched has its queue rules.
type policy interface {
	info() PolicyInfo
	// choose sets the next step at each place (queryRun.choices) and predicts the time of it
	// and of the rest. It is called before each step.
	choose(r *queryRun)
	traits() traits
}

type traits struct {
	noGPU      bool // it never uses a GPU
	prefersGPU bool // a step runs on the GPU wherever choose offers it
	stays      bool // a query that has begun does not move because the other place is faster
	restarts   bool // a query that overruns on the CPU restarts on the GPU
	predicts   bool // measured times (package calibrate) change its choices
	trees      bool // it predicts by model trees
}

var policies = []policy{cpuPolicy{}, gpuPolicy{}, ratioPolicy{}, queryPolicy{}, batchPolicy{}, costPolicy{}}

// PolicyInfo describes a policy in a line.
type PolicyInfo struct {
	Name Policy
	Doc  string
}

// Policies returns all policies, the default last.
func Policies() []PolicyInfo {
	all := make([]PolicyInfo, 0, len(policies))
	for _, p := range policies {
		all = append(all, p.info())
	}
	return all
}

// ParsePolicy returns the policy of a name; "" is the default, cost. The error wraps base.ErrBadInput
// and lists the names.
func ParsePolicy(name string) (Policy, error) { return sched.ParsePolicy(name) }

// Predicts reports whether measured times (package calibrate) change the choices of a policy.
func Predicts(name Policy) bool {
	p, err := findPolicy(name)
	return err == nil && p.traits().predicts
}

func findPolicy(name Policy) (policy, error) {
	name, err := ParsePolicy(string(name))
	if err != nil {
		return nil, err
	}
	return policies[slices.IndexFunc(policies, func(p policy) bool { return p.info().Name == name })], nil
}
