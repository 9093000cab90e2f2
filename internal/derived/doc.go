// Package derived caches structures that algorithms compute from a posting list: variable
// blocks, a regression line, hash segments, an uncompressed copy. They depend on the list
// alone, so the index does not store them; the first query that needs one computes it.
//
// An algorithm declares a [Kind] as a package variable and calls [Kind.Get] with the list's
// handle and a function that builds a missing structure. A [Cache] holds structures of many
// segments within a limit of bytes; each open [Segment] drops its own when closed.
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
// Get takes a read lock and a map look-up for an existing structure (about 30 ns), without
// allocating; call it once for each list and query. One goroutine builds a missing structure;
// others wait.
//
// At the limit, the cache keeps its structures and new ones are built for each query, so a log
// that does not fit does not evict everything. Structures unused during many refusals are
// slowly evicted (second chance, clock order). Algorithms that need their structures check
// first: [Kind.Keeps] for one, [List.Room] for all missing ones.
//
// # Rules
//
// A structure depends only on the list and Get's parameter, and does not change once built,
// because concurrent queries read it. It may point into its segment's mapped files, which queries hold.
//
// All types are safe for concurrent use.
package derived
