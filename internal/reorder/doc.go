// Package reorder makes similar documents neighbours, so that gaps in posting lists get smaller
// and more blocks can be skipped, by recursive graph bisection:
//
//	Dhulipala, Kabiljo, Karrer, Ottaviano, Pupyrev, Shalita, "Compressing
//	Graphs and Indexes with Recursive Graph Bisection", KDD 2016, §3
//
// with the practical choices of Mackenzie, Mallia, Petri, Culpepper, Suel, "Compressing
// Inverted Indexes with Recursive Graph Bisection: A Reproducibility Study", ECIR 2019, §3:
// only lists of some length take part (the caller omits others), leaves of 16, at most 20
// rounds a node, gains cached by term, logarithms from a table.
//
// We differ: the initial order is the input's, often a good one, instead of random; and gains
// belong to a term in a round, computed before it, so that the result does not depend on
// threads.
//
// The forward index takes 4 bytes of memory per posting, the algorithm time O(postings *
// log(documents)).
package reorder
