package dispatch

import (
	"math"
	"testing"
)

// The estimate begins with the measured defaults, follows the observations, and stays in
// bounds.
func TestSelectivity(t *testing.T) {
	var s selectivity
	if got := s.factor(1); math.Abs(got-math.Exp(0.75)) > 1e-9 {
		t.Errorf("factor %g at first", got)
	}
	if s.factor(maxSelectivity) != s.factor(maxSelectivity+3) {
		t.Error("lists beyond the last are not as the last")
	}
	// The second list always has 10 times the expected documents.
	for range 200 {
		s.observe(1, 2, 100*s.factor(1), 1000)
	}
	if got := s.factor(1); math.Abs(got-10) > 0.5 {
		t.Errorf("factor %g after ten times as many were found, want 10", got)
	}
	if got := s.factor(2); math.Abs(got-math.Exp(0.7)) > 1e-9 {
		t.Errorf("factor %g of a list that was not observed", got)
	}
	for range 1000 {
		s.observe(0, 1, 100, 1e6) // the first list says nothing
		s.observe(2, 4, 100, 0)
		s.observe(4, 5, 1, 1e9)
	}
	if s.factor(3) != 1 || s.factor(4) != math.Exp(maxSelectivityLog) {
		t.Errorf("factors %g and %g, want the bounds", s.factor(3), s.factor(4))
	}
}

// Worked by hand: 128 documents fall in 1-1/e of 128 blocks, and one in one.
func TestBlocksTouched(t *testing.T) {
	for _, c := range []struct {
		n      float64
		length int64
		want   float64
	}{{128, 128 * 128, 128 * (1 - 1/math.E)}, {1, 1 << 20, 1}, {1e9, 1280, 10}, {5, 0, 0}} {
		if got := blocksTouched(c.n, c.length); math.Abs(got-c.want) > 1e-3*c.want {
			t.Errorf("%g documents in a list of %d: %g blocks, want %g", c.n, c.length, got, c.want)
		}
	}
}
