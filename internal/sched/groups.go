package sched

import "time"

// groups decides which of ding09's three groups a job belongs to: much better on
// the GPU, much better on the CPU, or neither.
//
// Ding, He, Yan and Suel, WWW 2009, §9: "Membership in the groups is determined by
// some threshold values (say, queries that are 20% faster on GPU than on CPU are
// in the first group) that could be chosen adaptively during the process." They do
// not say how. Here the place where a job would wait twice as long as at the
// other is given fewer jobs of its own, and the other more: every adaptEvery
// arrivals its threshold rises by a quarter and the other's falls by a fifth; when
// the waits are alike both go back, by an eighth of the way.
type groups struct {
	base     float64
	at       [NumPlaces]float64 // by how much a job of the place's own group is faster there
	arrivals int
}

const (
	adaptEvery   = 16
	adaptFloor   = 1.0 / 4 // of the base
	adaptCeiling = 64
	// adaptSlack is a wait that is as good as none.
	adaptSlack = 100 * time.Microsecond
)

func newGroups(threshold float64) groups {
	return groups{base: threshold, at: [NumPlaces]float64{threshold, threshold}}
}

// of returns the group of a job that can run at both places, and the place: for
// the third group the one where it is faster.
func (g *groups) of(j *Job) (Place, group) {
	cpu, gpu := float64(j.Cost[CPU]), float64(j.Cost[GPU])
	switch {
	case cpu >= gpu*(1+g.at[GPU]):
		return GPU, own
	case gpu >= cpu*(1+g.at[CPU]):
		return CPU, own
	case cpu < gpu:
		return CPU, open
	}
	return GPU, open
}

// adapt learns the waits at both places, every adaptEvery arrivals.
func (g *groups) adapt(cpu, gpu time.Duration) {
	switch {
	case cpu > 2*gpu+adaptSlack:
		g.move(CPU)
	case gpu > 2*cpu+adaptSlack:
		g.move(GPU)
	default:
		for p := range g.at {
			g.at[p] += (g.base - g.at[p]) / 8
		}
	}
}

// move takes jobs from the own group of the place that has too many.
func (g *groups) move(from Place) {
	g.at[from] = min(g.at[from]*1.25, g.base*adaptCeiling)
	g.at[from.other()] = max(g.at[from.other()]*0.8, g.base*adaptFloor)
}
