package base

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Sort orders lists as slices.SortFunc does.
func TestSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		list := rng.Perm(n)
		want := slices.Clone(list)
		descending := func(a, b int) int { return cmp.Compare(b, a) }
		Sort(list, descending)
		slices.SortFunc(want, descending)
		if !slices.Equal(list, want) {
			t.Fatalf("%v, want %v", list, want)
		}
	}
}
