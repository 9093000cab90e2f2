//go:build !race

package plan

// raceEnabled reports whether the race detector is on.
const raceEnabled = false
