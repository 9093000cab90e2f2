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

// SortStable orders lists as slices.SortStableFunc does.
func TestSortStable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for n := range 100 {
		list := make([][2]int, n)
		for i := range list {
			list[i] = [2]int{rng.IntN(5), i}
		}
		want := slices.Clone(list)
		byFirst := func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) }
		SortStable(list, byFirst)
		slices.SortStableFunc(want, byFirst)
		if !slices.Equal(list, want) {
			t.Fatalf("%v, want %v", list, want)
		}
	}
}

// SortFew is stable.
func TestSortFew(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for n := range 40 {
		list := make([][2]int, n)
		for i := range list {
			list[i] = [2]int{rng.IntN(5), i}
		}
		want := slices.Clone(list)
		byFirst := func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) }
		SortFew(list, byFirst)
		slices.SortStableFunc(want, byFirst)
		if !slices.Equal(list, want) {
			t.Fatalf("%v, want %v", list, want)
		}
	}
}
