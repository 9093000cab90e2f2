package gputest

import "testing"

// AllocsPerRun is testing.AllocsPerRun for calls of the driver. Under the race
// detector sync.Pool, which purego passes arguments through, forgets at random:
// then f runs as often, and the answer is 0.
func AllocsPerRun(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	if raceEnabled {
		return 0
	}
	return n
}
