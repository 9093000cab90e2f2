//go:build race

package plan

// raceEnabled reports whether the race detector is on. It makes sync.Pool drop items at random, so
// allocation counts mean nothing.
const raceEnabled = true
