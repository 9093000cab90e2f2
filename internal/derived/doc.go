// Package derived caches structures that algorithms compute from a posting list before they
// can run on it: the variable blocks of variable-block-max-wand, the regression line of a
// list, a table of hash segments, an uncompressed copy. Such structures depend on the list
// alone, so the index does not store them; the first query that needs one computes it.
//
// An algorithm declares a [Kind] of structure as a package variable and calls [Kind.Get]
// with the list's [List] handle and a function that builds a missing structure. A [Cache]
// holds the structures of many segments within one limit of bytes. Each open segment has a
// [Segment] of the cache, which drops its structures when the segment is closed.
//
//	var linesOf = derived.NewKind[line]("regression line")
//
//	l, err := linesOf.Get(leg.Derived, 0, func() (*line, int64, error) {
//		l, err := fit(leg.List)
//		return l, lineSizeBytes, err
//	})
//
// # Cost
//
// If the structure exists, Get takes a read lock and one map look-up (about 30 ns) and does
// not allocate. Call it once for each list and query, not in loops. If it does not exist,
// one goroutine builds it; others that need it wait.
//
// At the limit, the cache keeps its structures and new ones are built again for each query.
// A query log whose structures do not fit therefore does not evict and rebuild all of them.
// Structures that are unused during many such refusals are slowly evicted (second chance,
// clock order). An algorithm that is useful only with its structures checks first:
// [Kind.Keeps] for one, [List.Room] for all missing ones.
//
// # Rules
//
// A structure must not change once it is built, because concurrent queries read it. It may
// point into the mapped files of its segment, because queries hold the segment while they
// run. It must depend only on the list and the parameter of Get.
//
// The package is not for query results, and not for data that the index could store. All
// types are safe for concurrent use.
package derived
