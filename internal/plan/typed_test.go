package plan

import (
	"math"
	"testing"

	"github.com/griffin-search/griffin/internal/mapping"
)

// Bounds of whole numbers are rounded to numbers that a field can have, also for values between or beyond
// these.
func TestWholeBounds(t *testing.T) {
	f := &mapping.Field{Name: "n", Type: mapping.Long}
	const most, least = math.MaxInt64, math.MinInt64
	for _, test := range []struct {
		text               string
		gte, gt, lte, lt   int64
		noGte, noGt, noLte bool
		noLt               bool
	}{
		{text: "5", gte: 5, gt: 6, lte: 5, lt: 4},
		{text: "-5.0", gte: -5, gt: -4, lte: -5, lt: -6},
		{text: "1.5", gte: 2, gt: 2, lte: 1, lt: 1},
		{text: "-1.5", gte: -1, gt: -1, lte: -2, lt: -2},
		{text: "1e3", gte: 1000, gt: 1001, lte: 1000, lt: 999},
		{text: "9223372036854775807", gte: most, noGt: true, lte: most, lt: most - 1},
		{text: "9223372036854775806.5", gte: most, gt: most, lte: most - 1, lt: most - 1},
		{text: "9223372036854775808", noGte: true, noGt: true, lte: most, lt: most},
		{text: "1e300", noGte: true, noGt: true, lte: most, lt: most},
		{text: "-9223372036854775808", gte: least, gt: least + 1, lte: least, noLt: true},
		{text: "-9223372036854775809", gte: least, gt: least, noLte: true, noLt: true},
		{text: "-1e300", gte: least, gt: least, noLte: true, noLt: true},
		{text: "1e-305", gte: 1, gt: 1, lte: 0, lt: 0},
		{text: "-1e-305", gte: 0, gt: 0, lte: -1, lt: -1},
	} {
		for _, exclude := range []bool{false, true} {
			lo, noLo, err1 := lowerBound(f, test.text, exclude, mapping.Clock{})
			hi, noHi, err2 := upperBound(f, test.text, exclude, mapping.Clock{})
			wantLo, wantNoLo, wantHi, wantNoHi := test.gte, test.noGte, test.lte, test.noLte
			if exclude {
				wantLo, wantNoLo, wantHi, wantNoHi = test.gt, test.noGt, test.lt, test.noLt
			}
			if err1 != nil || noLo != wantNoLo || !noLo && lo != wantLo {
				t.Errorf("least number from %s, excluded %t: %d, none %t, %v", test.text, exclude, lo, noLo, err1)
			}
			if err2 != nil || noHi != wantNoHi || !noHi && hi != wantHi {
				t.Errorf("greatest number to %s, excluded %t: %d, none %t, %v", test.text, exclude, hi, noHi, err2)
			}
		}
	}
	for _, text := range []string{"x", "", "0x10", "NaN", "Inf", "1_000", "1e999999999999"} {
		if _, _, err := lowerBound(f, text, false, mapping.Clock{}); err == nil {
			t.Errorf("%q is a number", text)
		}
	}
}

// Known distances: a degree of latitude, and Paris to New York.
func TestHaversine(t *testing.T) {
	if d := haversine(10, 20, 11, 20); math.Abs(d-111_195) > 1 {
		t.Errorf("a degree is %f m", d)
	}
	if d := haversine(48.8566, 2.3522, 40.7128, -74.0060); math.Abs(d-5_837_240) > 2000 {
		t.Errorf("Paris to New York: %f m", d)
	}
	if d := haversine(0, 179.5, 0, -179.5); math.Abs(d-111_195) > 1 {
		t.Errorf("across 180 degrees: %f m", d)
	}
}
