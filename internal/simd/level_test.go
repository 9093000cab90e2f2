package simd

import "testing"

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		best Level
		name string
		want Level
		bad  bool
	}{
		{AVX512, "", AVX512, false},
		{AVX512, "avx2", AVX2, false},
		{AVX512, "none", PureGo, false},
		{AVX2, "avx512", AVX2, false},
		{PureGo, "avx512", PureGo, false},
		{AVX2, "sse", AVX2, true},
		{AVX512, "neon", PureGo, false},
		{NEON, "", NEON, false},
		{NEON, "neon", NEON, false},
		{NEON, "avx512", PureGo, false},
		{NEON, "none", PureGo, false},
		{PureGo, "neon", PureGo, false},
	} {
		if got, err := choose(c.best, c.name); got != c.want || (err != nil) != c.bad {
			t.Errorf("choose(%v, %q) = %v, %v; want %v", c.best, c.name, got, err, c.want)
		}
	}
}

func TestSet(t *testing.T) {
	first := Set(PureGo)
	if Current() != PureGo {
		t.Errorf("level %v, want %v", Current(), PureGo)
	}
	if before := Set(first); before != PureGo || Current() != first {
		t.Errorf("Set returned %v, level %v; want %v and %v", before, Current(), PureGo, first)
	}
	if levels := Levels(); levels[0] != PureGo || levels[len(levels)-1] != Detected() {
		t.Errorf("Levels() = %v", levels)
	}
}
