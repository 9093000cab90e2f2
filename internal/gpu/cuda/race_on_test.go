//go:build race

package cuda

// RaceEnabled: under the race detector sync.Pool, which purego uses, forgets at
// random, so that whether anything is allocated cannot be asked.
const RaceEnabled = true
