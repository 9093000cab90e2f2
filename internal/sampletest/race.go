package sampletest

import "testing"

// SkipRace skips t under the race detector, unless All: t runs its code on one goroutine,
// or the goroutines it starts come from a package whose own tests run under the detector.
func SkipRace(t testing.TB) {
	t.Helper()
	if Race && !All() {
		t.Skip("no goroutines of its own; the race detector runs it with " + AllVariable + "=1")
	}
}

// UnderRace returns normal, or raced under the race detector unless All. It is for the
// sizes of tests in which a small input causes the same contention between goroutines as a large one.
func UnderRace[T any](normal, raced T) T {
	if Race && !All() {
		return raced
	}
	return normal
}
