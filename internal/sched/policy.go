package sched

// queueRules are what a policy means for queues. Where a policy runs the steps of a query is the
// caller's part: it sets the costs of the job.
type queueRules struct {
	place   placeRule
	gathers bool // jobs wait at an idle GPU for a batch with enough work
	steals  bool // an idle place takes jobs that wait for the other one
}

// placeRule chooses the place of a job that can run at both.
type placeRule uint8

const (
	alwaysGPU placeRule = iota
	alwaysCPU
	endsFirst // the place where it is predicted to end first
	byGroup   // the place that it belongs to by its costs, or either (groups.go)
)

// rules holds the rules of every policy.
var rules = map[Policy]queueRules{
	PolicyCPU:   {place: alwaysCPU},
	PolicyGPU:   {place: alwaysGPU},
	PolicyRatio: {place: alwaysGPU},
	PolicyQuery: {place: byGroup, steals: true},
	PolicyBatch: {place: alwaysGPU, gathers: true},
	PolicyCost:  {place: endsFirst, steals: true},
}
