// Package goldens holds the relevance goldens: tests that index the judged collections of
// package shareddata with the public API, answer all their queries and evaluate the answers
// with package trec.
//
// A change of analysis, scoring, pruning or evaluation that moves one measure of one
// collection by 0.0001 fails here. testdata/golden.json has the expected values; `go test
// ./internal/goldens -update` regenerates it. The tests contain published values for the
// same collections with the allowed difference; docs/effectiveness.md explains larger
// differences.
//
// The package has no code and no importers.
package goldens
