//go:build race

package dispatch

// raceEnabled: under the race detector sync.Pool forgets at random, so that
// whether anything is allocated cannot be asked.
const raceEnabled = true
