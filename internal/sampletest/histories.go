package sampletest

import (
	"os"
	"strconv"
	"testing"
)

const (
	// HistoriesVariable is the environment variable with the number of random histories of a test.
	HistoriesVariable = "GRIFFIN_HISTORIES"
	// FirstHistoryVariable is the environment variable with the seed of the first history, so that several processes share
	// the histories; by default 0.
	FirstHistoryVariable = "GRIFFIN_FIRST_HISTORY"
)

// Histories returns the seeds of random histories, from first to one below end: HistoriesVariable of them, or n, of which the
// race detector takes a quarter. A variable that is no number fails t.
func Histories(t testing.TB, n int) (first, end uint64) {
	t.Helper()
	number := func(name string, value uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return value
		}
		value, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s=%s: %v", name, text, err)
		}
		return value
	}
	first = number(FirstHistoryVariable, 0)
	return first, first + number(HistoriesVariable, uint64(UnderRace(n, 1+n/4)))
}
