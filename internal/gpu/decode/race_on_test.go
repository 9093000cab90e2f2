//go:build race

package decode_test

// raceEnabled: under the race detector sync.Pool, which purego uses, forgets at
// random, so that whether anything is allocated cannot be asked.
const raceEnabled = true
