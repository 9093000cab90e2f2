package exec

import "github.com/griffin-search/griffin/internal/sched"

// Policy names how the places of a query's steps are chosen. Every policy gives the
// identical answer.
type Policy = sched.Policy

// The policies; PolicyInfo tells what each does.
const (
	PolicyCPU   = sched.PolicyCPU
	PolicyGPU   = sched.PolicyGPU
	PolicyRatio = sched.PolicyRatio
	PolicyQuery = sched.PolicyQuery
	PolicyBatch = sched.PolicyBatch
	PolicyCost  = sched.PolicyCost
)

// PolicyInfo is a policy and what it does, in a line.
type PolicyInfo struct {
	Name Policy
	Doc  string
}

// Policies returns all policies, the default last.
func Policies() []PolicyInfo {
	docs := map[Policy]string{
		PolicyCPU:   "every step on the CPU",
		PolicyGPU:   "every step on the GPU, where it can",
		PolicyRatio: "lists are intersected on the GPU while the next is less than a ratio times as long as what is left, then on the CPU (Griffin, PPoPP 2018)",
		PolicyQuery: "whole queries go where trained model trees say, in three groups, with stealing (Ding et al., WWW 2009)",
		PolicyBatch: "queries gather until there is enough work for a batch on the GPU (Ao et al., VLDB 2011)",
		PolicyCost:  "each step where it is predicted to end first, with transfers, residency and queues",
	}
	all := make([]PolicyInfo, 0, len(docs))
	for _, p := range sched.Policies() {
		all = append(all, PolicyInfo{Name: p, Doc: docs[p]})
	}
	return all
}

// ParsePolicy returns the policy of a name; "" is the default, cost. The error wraps
// base.ErrBadInput and lists the names.
func ParsePolicy(name string) (Policy, error) { return sched.ParsePolicy(name) }

// DefaultRatio is the ratio of PolicyRatio unless told otherwise: that of Griffin
// (griffin18, PPoPP 2018, §3.2), below which nearly every block of the longer list has
// a posting to look at.
const DefaultRatio = 128
