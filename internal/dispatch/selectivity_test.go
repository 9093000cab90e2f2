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
	}{{128, 128 * 128, 128 * (1 - 1/math.E)}, {1, 1 << 20, 1}, {1e9, 1280, 10}, {5, 0, 0}, {0, 0, 0}, {0, 1280, 0}} {
		if got := blocksTouched(c.n, c.length); !(math.Abs(got-c.want) <= 1e-3*c.want) {
			t.Errorf("%g documents in a list of %d: %g blocks, want %g", c.n, c.length, got, c.want)
		}
	}
}

// An observation moves the logarithm of each list's factor by a sixteenth of its share. The
// share is at most 1, the logarithm of e.
func TestSelectivityStep(t *testing.T) {
	for _, c := range []struct {
		from, to int
		expected float64
		found    int
		lists    []int // that change
		step     float64
	}{
		{1, 2, 100, 50, []int{1}, math.Log(0.5)},
		{1, 3, 100, 50, []int{1, 2}, math.Log(0.5) / 2},
		{0, 2, 100, 200, []int{1}, math.Log(2)},
		{1, 2, 100, 0, []int{1}, -1},
		{1, 2, 1, 0, []int{1}, math.Log(0.5)},
		{1, 2, 0.1, 1, []int{1}, math.Log(2)},
		{1, 2, 1, 1000, []int{1}, 1},
		{4, 5, 100, 60, []int{4}, math.Log(0.6)},
		{5, 6, 100, 120, []int{5}, math.Log(1.2)},
		{0, 1, 100, 50, nil, 0},
		{2, 2, 100, 50, nil, 0},
		{3, 2, 100, 50, nil, 0},
		{1, 2, 0, 50, nil, 0},
		{1, 2, -1, 50, nil, 0},
	} {
		var s selectivity
		s.observe(c.from, c.to, c.expected, c.found)
		for i := 1; i <= maxSelectivity; i++ {
			want := firstSelectivity[i-1]
			for _, list := range c.lists {
				if list == i {
					want = math.Max(want+c.step/16, 0)
				}
			}
			if got := math.Log(s.factor(i)); math.Abs(got-want) > 1e-12 {
				t.Errorf("%+v: list %d has the logarithm %g, want %g", c, i, got, want)
			}
		}
	}
}
