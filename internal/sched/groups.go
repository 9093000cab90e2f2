package sched

import "time"

// groups assigns jobs to the three groups of Ding, He, Yan and Suel (WWW 2009,
// §9): much faster on the GPU, much faster on the CPU, or neither.
//
// The thresholds (20 % in the paper's example) "could be chosen adaptively
// during the process"; the paper does not specify how. Here, every adaptEvery
// arrivals, if the wait at one place is more than double the other's, its
// threshold rises by a quarter and the other's falls by a fifth; otherwise both
// return towards the base by an eighth of the way.
type groups struct {
	base     float64
	at       [NumPlaces]float64 // factor by which jobs of the place's own group are faster there
	arrivals int
}

const (
	adaptEvery   = 16
	adaptFloor   = 1.0 / 4 // relative to base
	adaptCeiling = 64
	// adaptSlack is a negligible wait.
	adaptSlack = 100 * time.Microsecond
)

func newGroups(threshold float64) groups {
	return groups{base: threshold, at: [NumPlaces]float64{threshold, threshold}}
}

// of returns the group and place of a job that can run at both places; for the
// third group the faster place.
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

// adapt learns the waits at both places; it is called every adaptEvery arrivals.
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

// move moves jobs out of the own group of from.
func (g *groups) move(from Place) {
	g.at[from] = min(g.at[from]*1.25, g.base*adaptCeiling)
	g.at[from.Other()] = max(g.at[from.Other()]*0.8, g.base*adaptFloor)
}
