//go:build race

package resultcache

// raceEnabled reports whether the race detector is on.
const raceEnabled = true
