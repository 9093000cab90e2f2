//go:build race

package cuda

// Under the race detector sync.Pool, which purego uses, drops items at random,
// so tests cannot count allocations.
const raceEnabled = true
