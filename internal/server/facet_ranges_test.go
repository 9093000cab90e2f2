package server

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The ranges of bounds hold all numbers from the least to the greatest, and are not too many.
func TestNiceBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		lo := (r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(15)-4))
		hi := lo + r.Float64()*math.Pow(10, float64(r.IntN(15)-4))
		whole := r.IntN(2) == 0
		if whole {
			lo, hi = math.Floor(lo), math.Floor(hi)
		}
		bounds := niceBounds(lo, hi, whole)
		if len(bounds) == 0 || bounds[0] > lo || bounds[len(bounds)-1] > hi && len(bounds) > 1 || len(bounds) > 128 || !slices.IsSorted(bounds) {
			t.Fatalf("%g to %g: bounds %v", lo, hi, bounds)
		}
		for _, b := range bounds {
			if whole && b != math.Floor(b) {
				t.Fatalf("%g to %g: bound %g of whole numbers", lo, hi, b)
			}
		}
	}
	for _, c := range []struct {
		lo, hi float64
		whole  bool
		want   []float64
	}{
		{1, 5, true, []float64{1, 2, 3, 4, 5}},
		{1990, 1994, true, []float64{1990, 1991, 1992, 1993, 1994}},
		{7, 7, true, []float64{7}},
		{0.5, 0.8, false, []float64{0.5, 0.52, 0.54}},
	} {
		if got := niceBounds(c.lo, c.hi, c.whole); len(got) < len(c.want) || !slices.Equal(got[:len(c.want)], c.want) {
			t.Errorf("%g to %g: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
	if got := niceBounds(0, 22e6, true); !slices.Contains(got, 1000) || !slices.Contains(got, 20e6) {
		t.Errorf("populations: %v", got)
	}
}

// Joined ranges count all that the others count.
func TestJoinRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		all := make([]counted, r.IntN(60))
		var want int64
		for i := range all {
			all[i] = counted{float64(i), float64(i + 1), int64(r.IntN(3) * r.IntN(100))}
			want += all[i].count
		}
		var got int64
		last := math.Inf(-1)
		joined := joinRanges(slices.Clone(all))
		for _, c := range joined {
			got += c.count
			if c.from < last || c.from >= c.to || c.count == 0 {
				t.Fatalf("range %+v after %g", c, last)
			}
			last = c.to
		}
		if got != want || len(joined) > maxRanges {
			t.Fatalf("%d ranges of %d documents, want %d", len(joined), got, want)
		}
	}
}

func TestDateLayout(t *testing.T) {
	day := func(text string) time.Time {
		d, err := time.Parse("2006-01-02T15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for text, want := range map[string]string{
		"2024-01-01T00:00:00": "2006", "2024-05-01T00:00:00": "2006-01", "2024-05-03T00:00:00": "2006-01-02", "2024-05-03T06:00:00": "2006-01-02 15:04",
		"2024-05-03T06:00:07": "2006-01-02 15:04:05",
	} {
		if got := dateLayout([]time.Time{day("2024-01-01T00:00:00"), day(text)}); got != want {
			t.Errorf("%s: layout %s, want %s", text, got, want)
		}
	}
	if got := after(day("2024-01-01T00:00:00"), day("2024-02-01T00:00:00"), "2006-01"); got.Format(time.DateOnly) != "2024-02-29" {
		t.Errorf("February ends on %v", got)
	}
	if got := after(day("2024-01-01T00:00:00"), day("2024-01-08T00:00:00"), "2006-01-02"); got.Format(time.DateOnly) != "2024-01-14" {
		t.Errorf("a week ends on %v", got)
	}
}
