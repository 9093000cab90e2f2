// Package intersect intersects posting lists on a GPU by the methods of the
// papers, each of which can be measured alone. Griffin's own queries use
// package imagesearch instead.
//
// An [Intersector] has all kernels of one device; a [Workspace] is the device
// memory of a call, allocated once and used by one stream at a time. Calls only
// launch: they never allocate, copy to the host or wait, and return only errors
// of the arguments or of a launch. Results are [Candidates] in device memory,
// sorted by DocID and reproducible.
//
// # Finding matches
//
// Two uncompressed, ascending lists A and B of DocIDs:
//
//   - [Intersector.MergePath]: diagonals that cross the path of the lists' merge cut
//     both lists into tiles of equal size, which blocks merge in shared memory. Liu,
//     Wang and Swanson, "Griffin: Uniting CPU and GPU in Information Retrieval Systems
//     for Intra-Query Parallelism", PPoPP 2018, §3.1.2.
//   - [Intersector.MergeFind]: each element of A is searched in B, after 0 to 4 levels
//     of splitters have cut both lists. Ding, He, Yan and Suel, "Using Graphics
//     Processors for High Performance IR Query Processing", WWW 2009, §7. Level 0 is
//     the plain binary search, the papers' baseline.
//   - [Intersector.Probe]: a binary search for each element of A, four at a time in a
//     thread, with the upper levels in shared memory.
//   - [Intersector.Adaptive]: MergePath or Probe by the ratio of the lengths, chosen
//     on the device if only the device knows a length.
//
// B compressed in blocks: [Intersector.IntersectBlocks] decodes only the blocks
// that can contain elements of A. [Intersector.SelectBlocks] is its first step,
// the kernels of package decode its second (Ding et al. §8.1; PPoPP 2018
// §3.1.2). [Intersector.All] intersects any number of lists of both kinds, the
// shortest first. [Methods] lists all ways for two uncompressed lists, [Time]
// measures them.
//
// Any number of lists together: a [Searcher] uses one thread per element of the
// shortest list, which searches it in the other lists in turn, by the methods
// of Ao et al. (PVLDB 4(8), 2011, §4, §5.3). Lists are [Contracted]
// (plain DocIDs with a line, hash buckets or a bitmap) or [Compressed] by a
// Regression codec, where only the DocIDs that a search compares are decoded.
// Package ao11 does the same for batches.
//
// A disjunction does not merge lists: Ding et al. (§8.3) add every posting to
// an accumulator of its document; see package scoring.
//
// # Kernels
//
// The sources are in this directory; the CPU reference of all is a merge of the
// two lists.
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
// Finding kernels write matches by tile and intersect_gather collects them:
// compaction by scan (compaction.cuh), without a block that waits for another.
// A grid has one block per tile, at most tuning.blocksPerMultiprocessor blocks
// per multiprocessor; a block takes tiles until there are none. If only the
// device knows the length of a list, the grid is for the maximum length, and a
// block without a tile ends at once.
package intersect
