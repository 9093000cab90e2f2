//go:build race

package decode_test

// Under the race detector sync.Pool, which purego uses, drops items at random,
// so tests cannot count allocations.
const raceEnabled = true
