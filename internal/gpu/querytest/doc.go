// Package querytest creates workloads for tests and benchmarks of GPU kernels:
// lists and conjunctive queries with the published lengths of the collection
// TREC GOV (Gov), and segments in memory with the CPU's results (Collection),
// from a seed in a second or two. Experiments use package collection instead.
package querytest
