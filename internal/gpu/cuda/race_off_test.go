//go:build !race

package cuda

// RaceEnabled says whether the race detector is on; race_on_test.go says why that matters.
const RaceEnabled = false
