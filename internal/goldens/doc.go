// Package goldens holds the relevance goldens: tests that index the judged
// collections of package shareddata with the public API, answer all their
// queries and evaluate the answers with package trec.
//
// A change of analysis, scoring, pruning or evaluation that moves one measure
// of one collection by 0.0001 fails here; testdata/golden.json says what they
// were, and `go test ./internal/goldens -update` writes it anew. The values
// that others published for the same collections stand in the tests, with the
// distance from them that is allowed; docs/effectiveness.md explains where the
// distance is more.
//
// It has no code of its own and is imported by nothing.
package goldens
