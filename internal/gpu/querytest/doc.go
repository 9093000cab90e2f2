// Package querytest makes lists and conjunctive queries for the tests and benchmarks of
// GPU kernels, with the lengths that are published of the collection TREC GOV. They
// come from a seed, are made in a second or two, and need no index; experiments use
// package collection, whose lists are those of real documents.
package querytest
