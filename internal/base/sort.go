package base

import "sort"

// Sort sorts a list like slices.SortFunc, in more time and 12 KB less code for each type: for lists that are short or rare.
func Sort[T any](list []T, compare func(a, b T) int) { sort.Sort(&sorting[T]{list, compare}) }

// SortStable is Sort that keeps the order of equal items, as slices.SortStableFunc does.
func SortStable[T any](list []T, compare func(a, b T) int) { sort.Stable(&sorting[T]{list, compare}) }

type sorting[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (s *sorting[T]) Len() int           { return len(s.list) }
func (s *sorting[T]) Less(i, j int) bool { return s.compare(s.list[i], s.list[j]) < 0 }
func (s *sorting[T]) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }

// SortFew sorts a list of a few items, stable, in little code for each type and without memory.
func SortFew[T any](list []T, compare func(a, b T) int) {
	for i := range list {
		for j := i; j > 0 && compare(list[j], list[j-1]) < 0; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// Keyed is an item with what decides most comparisons of a sort. One type for all such sorts takes 9 KB less code than
// one for each.
type Keyed struct {
	Key    uint64 // the first eight bytes of a term, or the hash of an id
	Number uint32 // of the term or the document
}

// Compare is by Key, then by Number.
func (k Keyed) Compare(o Keyed) int {
	switch {
	case k.Key < o.Key:
		return -1
	case k.Key > o.Key:
		return 1
	}
	return int(int64(k.Number) - int64(o.Number))
}
