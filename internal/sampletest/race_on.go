//go:build race

package sampletest

// Race reports whether the race detector is on. Under it sync.Pool drops items at random,
// so that allocations cannot be counted.
const Race = true
