package sampletest

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

const (
	// AllVariable is the environment variable that, set to 1, makes Some return every case.
	AllVariable = "GRIFFIN_TEST_ALL"
	// SeedVariable is the environment variable with the seed of samples.
	SeedVariable = "GRIFFIN_SEED"
)

var processSeed = uint64(time.Now().UnixNano())

// All reports whether every case runs.
func All() bool { return os.Getenv(AllVariable) == "1" }

// Some returns n of cases in order, drawn at random, or all of them if All or if there are no
// more than n. It logs the seed, and fails t if SeedVariable is no number. The draw depends on
// the seed and t's name only.
func Some[T any](t testing.TB, n int, cases []T) []T {
	t.Helper()
	if All() || n >= len(cases) {
		return cases
	}
	seed := processSeed
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s=%s: %v", SeedVariable, text, err)
		}
	}
	t.Logf("%d of %d cases; repeat with %s=%d, or run all with %s=1", n, len(cases), SeedVariable, seed, AllVariable)
	name := fnv.New64a()
	name.Write([]byte(t.Name()))
	rng := rand.New(rand.NewPCG(seed, name.Sum64()))
	chosen := make([]T, 0, n)
	for i, c := range cases {
		// Keeps each of the remaining cases with equal probability.
		if rng.IntN(len(cases)-i) < n-len(chosen) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// Rounds returns some, or all if All: the number of rounds of a test that draws each at
// random.
func Rounds(some, all int) int {
	if All() {
		return all
	}
	return some
}
