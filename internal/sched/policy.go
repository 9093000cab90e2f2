package sched

type queueRules struct {
	place   placeRule
	gathers bool // jobs wait at an idle GPU for a batch with enough work
	steals  bool // an idle place takes jobs that wait for the other one
}

type placeRule uint8

const (
	alwaysGPU placeRule = iota
	alwaysCPU
	endsFirst // where it is predicted to end first
	byGroup   // by its costs (groups.go)
)

var rules = map[Policy]queueRules{
	PolicyCPU:   {place: alwaysCPU},
	PolicyGPU:   {place: alwaysGPU},
	PolicyRatio: {place: alwaysGPU},
	PolicyQuery: {place: byGroup, steals: true},
	PolicyBatch: {place: alwaysGPU, gathers: true},
	PolicyCost:  {place: endsFirst, steals: true},
}
