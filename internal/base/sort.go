package base

import "sort"

// Sort sorts a list like slices.SortFunc, in more time and 12 KB less code for each type: for lists that are short or rare.
func Sort[T any](list []T, compare func(a, b T) int) { sort.Sort(&sorting[T]{list, compare}) }

type sorting[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (s *sorting[T]) Len() int           { return len(s.list) }
func (s *sorting[T]) Less(i, j int) bool { return s.compare(s.list[i], s.list[j]) < 0 }
func (s *sorting[T]) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }
