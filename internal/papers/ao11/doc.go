// Package ao11 is the engine ao11: conjunctions of batches of queries on a GPU by PARA, with lists in the
// memory of the GPU, and the same searches on one thread of a CPU.
//
// Ao, Zhang, Wu, Stones, Wang, Liu, Liu and Lin, "Efficient parallel lists intersection and index
// compression algorithms using graphics processing units", PVLDB 4(8), 2011:
//
//   - PARA (§4.1): queries are collected until the elements of their shortest lists reach the
//     computational threshold, then intersected together. Package para has the kernels.
//   - Searches in uncompressed lists: binary (§4.2), interpolation and safe search ranges around a
//     regression line (§4.3), local safe ranges (§4.3), hash segmentation (§4.4). On a CPU also a skip
//     list, the paper's baseline (§6.3).
//   - Lists in ParaPFD and NewPFD (§5.1, Appendix D), decoded completely before a binary search.
//   - Lists in LRC, LRCSeg, SegLRC and HS.LRC (§5.2), searched without decoding (§5.3, Algorithm 1), with
//     or without the list H of the segments' first DocIDs.
//
// We differ: the paper stops at the intersection. Here its DocIDs are copied to the host. Threads of
// the CPU, each for a query, find the positions of the matches in each list by the same search, read their
// frequencies alone, sum up the scores and keep the best k in a heap. The paper's index always fits into
// the memory of the GPU; here lists are copied to it at their first use, and the least recently used
// ones give way. A query whose lists do not fit together runs on the CPU.
//
// If the device is out of memory, a batch runs once more after lists and workspaces that no other batch uses were freed;
// then, and if the device fails, the CPU answers it. Other errors belong to one query. A context that ends stops a
// batch between its steps.
//
// An Engine is safe for concurrent use. Each call of Search takes a workspace with a stream of its own;
// there are maxWorkspaces of them.
package ao11
