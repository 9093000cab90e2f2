// Package intersect intersects posting lists on a GPU, by the methods of the papers,
// each a stage that can be measured alone. The fast path of Griffin's own queries is
// package fastpath, not this.
//
// All kernels of one device are in an [Intersector]; the device memory that a call
// works in is a [Workspace], made once and used by one stream at a time. Calls only
// launch: they never allocate, copy to the host or wait, and what they return is an
// error of the arguments or of a launch. Results are [Candidates] in device memory,
// sorted by DocID and the same in every run.
//
// # Finding matches
//
// Two lists A and B of DocIDs, uncompressed and rising:
//
//   - [Intersector.MergePath]: both lists are cut where diagonals cross the path of
//     their merge, into tiles of equal size that a block merges in shared memory. Liu,
//     Wang and Swanson, "Griffin: Uniting CPU and GPU in Information Retrieval Systems
//     for Intra-Query Parallelism", PPoPP 2018, §3.1.2.
//   - [Intersector.MergeFind]: each element of A is searched in B, after 0 to 4 levels
//     of splitters have cut both lists. Ding, He, Yan and Suel, "Using Graphics
//     Processors for High Performance IR Query Processing", WWW 2009, §7. Level 0 is
//     the plain binary search that the papers compare with.
//   - [Intersector.Probe]: a binary search for each element of A, four at a time in a
//     thread, whose upper levels are in shared memory.
//   - [Intersector.Adaptive]: MergePath or Probe by the ratio of the lengths, which is
//     taken on the device where a length is there only.
//
// B compressed in blocks, of which only those are decoded that can hold elements of A:
// [Intersector.IntersectBlocks], with [Intersector.SelectBlocks] as its first step and
// the kernels of package decode as its second (Ding et al. §8.1; PPoPP 2018 §3.1.2).
// [Intersector.All] intersects any number of lists of either kind, the shortest first.
// [Methods] has all ways for two uncompressed lists, [Time] measures them.
//
// Any number of lists at once, a thread an element of the shortest, which it searches in
// one list after the other: a [Searcher], with the searches of Ao et al. (PVLDB 4(8),
// 2011, §4, §5.3) in lists that are [Contracted], plain DocIDs with a line, hash buckets
// or a bitmap beside them, or [Compressed] by a Regression codec, of which only the DocIDs
// that a search looks at are decoded. Package para does this for batches.
//
// A disjunction has no lists to merge: Ding et al. (§8.3) add every posting to an
// accumulator of its document, which is package scoring.
//
// # Kernels
//
// Source is beside this file; the CPU reference of all is a merge of the two lists.
//
//	entry point                 block  work of a block
//	intersect_partition_7, _15    256  8 diagonals, a warp each
//	intersect_merge_7, _15        256  tiles of 1,792 or 3,840 elements of both lists
//	intersect_adaptive_7, _15     256  the same, or 1,024 elements of A
//	intersect_binary             1024  1,024 elements of A
//	intersect_pivots              256  256 splitters of A
//	intersect_find                256  1,024 elements of A
//	intersect_probe               256  1,024 elements of A
//	intersect_probe_few           256  32 elements of A
//	intersect_select_by_element   256  1,024 elements of A
//	intersect_select_by_block     256  1,024 blocks of B
//	intersect_probe_blocks        256  1,024 elements of A
//	intersect_search_<search>     256  1,024 elements of the shortest list
//	intersect_place_<search>      256  256 matches
//	intersect_gather              256  the matches of a tile
//
// Finding kernels leave matches by tile and intersect_gather puts them together:
// compaction by scan (compaction.cuh), without a block that waits for another.
// Grids are as large as the work, at most tuning.blocksPerMultiprocessor blocks a
// multiprocessor; a block takes tiles until there are none. Where the length of a list
// is known to the device only, the grid is that of the longest the list can be, and a
// block without a tile ends at once.
package intersect
