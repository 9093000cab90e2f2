package simdtest

import (
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/simd"
)

// Set makes kernels use a level until the test ends. Such tests must not run in parallel with
// others.
func Set(t testing.TB, l simd.Level) {
	t.Helper()
	if !slices.Contains(simd.Levels(), l) {
		t.Fatalf("level %v on a machine that has %v", l, simd.Detected())
	}
	before := simd.Set(l)
	t.Cleanup(func() { simd.Set(before) })
}

// EachLevel runs f as a subtest at every level.
func EachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range simd.Levels() {
		t.Run("simd="+l.String(), func(t *testing.T) {
			Set(t, l)
			f(t)
		})
	}
}
