package gputest

import (
	"testing"

	"github.com/griffin-search/griffin/internal/sampletest"
)

// AllocsPerRun is testing.AllocsPerRun for driver calls. Under the race
// detector it returns 0, because sync.Pool, which purego uses, drops items at
// random.
func AllocsPerRun(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	if sampletest.Race {
		return 0
	}
	return n
}
