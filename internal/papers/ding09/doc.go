// Package ding09 is the engine ding09: the query processor for CPU and GPU of Ding, He, Yan and
// Suel, "Using Graphics Processors for High Performance IR Query Processing", WWW 2009, and of
// their poster of the same title, WWW 2008. shared/papers has the texts.
//
// # Queries
//
// A query is a list of words: all required (AND), any (OR), or AND followed by OR if there are
// fewer than k results (AND+OR, §8.3). Other queries are refused. plan.Plan.RunCPU has
// identical results, except with the options global and candidates.
//
// # Global scores and two phases
//
// With the option global, the score of a matching document is BM25 plus its global score, such as Pagerank
// (§8.4): globals.go has an array for each segment, by DocID. The GPU keeps the arrays beside the lengths of documents.
// Nothing prunes, so no bound includes them, except the one for the width of sums.
//
// With the option candidates, this is the first phase (§4). It selects that number of documents. The second
// phase, second.go, scores them by a linear function of features, weights.go, on the CPU.
//
// # GPU
//
// Compressed lists stay in GPU memory up to a limit (§5); cache.go has the list cache. Queries compute one at
// a time; meanwhile the lists of one other query are transferred. Other queries wait, without lists.
//
//	step                                                     section     file
//	recursive PForDelta, Rice                                §6          resident.go, package decode
//	AND from the shortest list on, blocks skipped            §7.2, §8.1  and.go
//	a score for each term after its intersection             §8.2        and.go, package scoring
//	OR with an accumulator for each document                 §8.3        or.go
//	global scores: first term of an AND, accumulators of OR  §8.4        and.go, or.go
//	AND+OR, decided on the device                            §8.3        kernels.go
//	the best k with a heap of degree 512                     §8.2        best.go, package selection
//
// The poster decodes whole lists and does not skip blocks: codec=rice,skip=no.
//
// # CPU
//
// Lists are in PForDelta by blocks; queries run document at a time (§2, §8.4): cpu.go.
//
// # Scheduling
//
// With both processors, a query goes to one of three groups by its predicted costs (§9):
// schedule.go, with policy query of package sched, and costs.go, with the model trees of package
// cost. The GPU has one server; fetch.go transfers the lists of a query that waits for it.
//
// # Errors
//
// After an error of the GPU, the CPU answers the query. With both processors, the next queries then avoid
// the GPU: 2 after a fault, and double the number after each further fault in a row, up to 1,024. After the
// device was lost, the CPU answers all queries.
//
// # Kernels
//
//	kernel                grid             block  does
//	ding09_positions      candidates/256   256    maps positions in decoded blocks to positions in the list
//	ding09_fall_back      1                32     sets the number of blocks that an OR decodes to 0 after an AND with enough results
//	ding09_add_globals_*  sums/256         256    adds global scores to sums, narrow or wide, of documents with a posting
//
// # Concurrency
//
// An Engine is safe for concurrent use.
package ding09
