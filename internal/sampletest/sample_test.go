package sampletest

import (
	"slices"
	"testing"
)

func TestSome(t *testing.T) {
	cases := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	t.Setenv(AllVariable, "")
	t.Run("seed", func(t *testing.T) {
		t.Setenv(SeedVariable, "7")
		first := Some(t, 4, cases)
		if len(first) != 4 || !slices.IsSorted(first) || len(slices.Compact(first)) != 4 {
			t.Fatalf("drew %v, want 4 different cases in order", first)
		}
		if again := Some(t, 4, cases); !slices.Equal(first, again) {
			t.Errorf("the same seed drew %v, then %v", first, again)
		}
		t.Setenv(SeedVariable, "8")
		if other := Some(t, 4, cases); slices.Equal(first, other) {
			t.Errorf("seeds 7 and 8 both drew %v", other)
		}
	})
	t.Run("every case is drawn", func(t *testing.T) {
		drawn := map[int]bool{}
		for seed := range 100 {
			t.Setenv(SeedVariable, string(rune('0'+seed/10))+string(rune('0'+seed%10)))
			for _, c := range Some(t, 2, cases) {
				drawn[c] = true
			}
		}
		if len(drawn) != len(cases) {
			t.Errorf("100 seeds drew %d of %d cases", len(drawn), len(cases))
		}
	})
	t.Run("few cases", func(t *testing.T) {
		if got := Some(t, 10, cases); !slices.Equal(got, cases) {
			t.Errorf("10 of 10 are %v", got)
		}
		if n := Rounds(3, 9); n != 3 {
			t.Errorf("%d rounds, want 3", n)
		}
	})
	t.Run("all", func(t *testing.T) {
		t.Setenv(AllVariable, "1")
		if got := Some(t, 1, cases); !slices.Equal(got, cases) {
			t.Errorf("all are %v", got)
		}
		if n := Rounds(3, 9); n != 9 {
			t.Errorf("%d rounds, want all 9", n)
		}
		if n := UnderRace(3, 9); n != 3 {
			t.Errorf("a size of %d, want the normal 3", n)
		}
	})
}

func TestHistories(t *testing.T) {
	t.Setenv(AllVariable, "")
	for _, c := range []struct {
		first, number string
		wantFirst     uint64
		wantEnd       uint64
	}{
		{"", "", 0, uint64(UnderRace(8, 3))},
		{"", "20", 0, 20},
		{"100", "20", 100, 120},
		{"100", "", 100, 100 + uint64(UnderRace(8, 3))},
	} {
		t.Setenv(FirstHistoryVariable, c.first)
		t.Setenv(HistoriesVariable, c.number)
		if first, end := Histories(t, 8); first != c.wantFirst || end != c.wantEnd {
			t.Errorf("%q histories from %q: seeds [%d, %d), want [%d, %d)", c.number, c.first, first, end, c.wantFirst, c.wantEnd)
		}
	}
}

func TestRace(t *testing.T) {
	t.Setenv(AllVariable, "")
	want := 1
	if Race {
		want = 2
	}
	if got := UnderRace(1, 2); got != want {
		t.Errorf("a size of %d, want %d", got, want)
	}
	skipped := false
	t.Run("skip", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		SkipRace(t)
	})
	if skipped != Race {
		t.Errorf("skipped %t, want %t", skipped, Race)
	}
}
