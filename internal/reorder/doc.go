// Package reorder finds an order of documents in which similar documents are neighbours.
// The gaps in posting lists, and so the index, get smaller, and more blocks can be skipped.
//
// The algorithm is recursive graph bisection:
//
//	Dhulipala, Kabiljo, Karrer, Ottaviano, Pupyrev, Shalita, "Compressing
//	Graphs and Indexes with Recursive Graph Bisection", KDD 2016, §3
//
// with the practical choices of Mackenzie, Mallia, Petri, Culpepper, Suel, "Compressing
// Inverted Indexes with Recursive Graph Bisection: A Reproducibility Study", ECIR 2019, §3:
// only lists of some length take part (the caller omits the others from the Forward index),
// leaves of 16, at most 20 rounds a node, gains cached by term, logarithms from a table.
//
// We differ: the initial order is the input order, which is often a good one, instead of a
// random one; and a gain is a property of a term in a round, computed before the round, so
// that nothing depends on the order in which documents are processed. The result depends on
// the input alone, not on the number of threads.
//
// The algorithm holds the whole forward index in memory, 4 bytes per posting, and takes time
// O(postings * log(documents)).
package reorder
