package sched

import (
	"math"
	"testing"
	"time"
)

func TestPlus(t *testing.T) {
	for _, c := range []struct{ a, b, want time.Duration }{
		{3, 4, 7},
		{Never - 4, 4, Never},
		{Never - 4, 3, Never - 1},
		{Never - 4, 5, Never},
		{5, Never - 4, Never},
		{Never, 0, Never},
		{0, Never, Never},
		{Never, -1, Never},
		{-1, Never, Never},
		{math.MinInt64 + 1, Never, Never},
	} {
		if got := plus(c.a, c.b); got != c.want {
			t.Errorf("plus(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
