// Package querytest creates search workloads for tests and benchmarks of GPU
// kernels: lists and conjunctive queries with the published lengths of the
// collection TREC GOV (Gov), and segments in memory with the CPU's results
// (Collection). They are generated from a seed in a second or two and need no
// index. Experiments use package collection instead, which has lists of real
// documents.
package querytest
