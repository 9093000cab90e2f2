// Package derived keeps what algorithms compute from a posting list before they
// can run on it, so that it is computed once: the variable blocks of
// variable-block-max-wand, the regression line of a list, a table of hash
// segments, an uncompressed copy. Such structures follow from the list alone, so
// they are not in the index; the first query that needs one pays for it.
//
// An algorithm declares a [Kind] of structure as a package variable and asks it
// with [Kind.Get], giving the list's [List] handle and a function that builds
// the structure where it is not there yet. A [Cache] holds the structures of
// many segments within one limit of bytes; each open segment has a [Segment] of
// it, which drops what it holds when the segment is closed.
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
// Where the structure is there, Get takes a read lock and one look-up in a map
// (about 30 ns) and allocates nothing, so call it once a list and query, not in
// loops. Where it is not, one goroutine builds it and others that ask for the
// same wait.
//
// When the limit is reached, what is kept stays kept and what is new is built
// for each query anew, so that a log whose structures do not fit does not have
// all of them made again and again. Room comes slowly, from structures that were
// not asked for during many such refusals (second chance, in the order of a
// clock). An algorithm that is of use only with its structures at hand finds out
// first: [Kind.Keeps] tells of one, [List.Room] of all that are missing.
//
// # Rules
//
// A structure must not change once it is built: any number of queries read it.
// It may point into the mapped files of its segment, since queries hold the
// segment while they run. It must depend on nothing but the list and the
// parameter given to Get.
//
// It is not for results of queries, and not for what the index could store.
// All types are safe for concurrent use.
package derived
