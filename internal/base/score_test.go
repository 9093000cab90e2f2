package base

import "testing"

func TestScore(t *testing.T) {
	// Worked number: 225583 / 65536.
	if got := Score(225583).Float64(); got != 3.4421234130859375 {
		t.Errorf("Float64() = %v", got)
	}
	if got := Score(225583).String(); got != "3.4421" {
		t.Errorf("String() = %q", got)
	}
}

func TestHitOrder(t *testing.T) {
	ordered := []Hit{{DocID: 9, Score: 3}, {DocID: 1, Score: 2}, {DocID: 2, Score: 2}, {DocID: 0, Score: 0}}
	for i, h := range ordered {
		for j, o := range ordered {
			if got, want := h.Before(o), i < j; got != want {
				t.Errorf("%v before %v: %v, want %v", h, o, got, want)
			}
		}
	}
}
