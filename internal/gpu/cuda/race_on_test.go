//go:build race

package cuda

// raceEnabled: under the race detector sync.Pool, which purego uses, forgets at
// random, so that whether anything is allocated cannot be asked.
const raceEnabled = true
