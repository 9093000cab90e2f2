// Package querytest makes what tests and benchmarks of GPU kernels search: lists and
// conjunctive queries with the lengths that are published of the collection TREC GOV
// (Gov), and segments in memory, of lists that a test gives, with what the CPU finds in
// them (Collection). They come from a seed, are made in a second or two, and need no
// index; experiments use package collection, whose lists are those of real documents.
package querytest
