//go:build !race

package dispatch

// raceEnabled says that the race detector is on; see race_on_test.go.
const raceEnabled = false
