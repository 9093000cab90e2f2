// Package automaton finds the terms of a dictionary that match a pattern: a wildcard, a regular
// expression in Lucene's syntax, or the terms within a number of edits of another one.
//
// A Pattern is parsed once and is read-only. Its Automaton, and the one that NewSimilar returns,
// implement the interface of github.com/blevesearch/vellum, so that a search of a dictionary visits
// only the terms that begin as a match does. They are determinised as they are used: a state is made
// when a term first leads there, so the size depends on the dictionary too, and a limit ends patterns
// that need too many states (Err). An automaton belongs to one goroutine.
//
// Package query has the syntax around patterns; vellum's own packages for regular expressions and
// edits determinise in advance, and lack Lucene's complement, intersection and intervals.
package automaton
