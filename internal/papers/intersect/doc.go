// Package intersect intersects posting lists on a GPU by the methods of the papers,
// for measurements. Griffin's queries use package imagesearch.
//
// An [Intersector] has the kernels of one device; a [Workspace] is device memory for
// calls, used by one stream at a time. Calls only launch, and return only errors of
// the arguments or of a launch. Results are [Candidates] in device memory, sorted by
// DocID and reproducible.
//
// # Finding matches
//
// Two uncompressed, ascending lists A and B of DocIDs:
//
//   - [Intersector.MergePath]: diagonals of the merge path cut both lists into tiles,
//     merged in shared memory. Liu, Wang and Swanson, "Griffin: Uniting CPU and GPU in
//     Information Retrieval Systems for Intra-Query Parallelism", PPoPP 2018, §3.1.2.
//   - [Intersector.MergeFind]: 0 to 4 levels of splitters cut both lists before each
//     element of A is searched. Ding, He, Yan and Suel, "Using Graphics Processors for
//     High Performance IR Query Processing", WWW 2009, §7. Level 0 is the plain binary
//     search, the papers' baseline.
//   - [Intersector.Probe]: a binary search for each element of A, four at a time in a
//     thread.
//   - [Intersector.Adaptive]: MergePath or Probe by the ratio of the lengths.
//
// B compressed in blocks: [Intersector.IntersectBlocks] decodes only the blocks
// that can contain elements of A (Ding et al. §8.1; PPoPP 2018 §3.1.2).
// [Intersector.All] intersects any number of lists of both kinds, the shortest
// first.
//
// Any number of lists together: a thread of a [Searcher] searches an element of the
// shortest list in the other lists in turn, by the methods of Ao et al. (PVLDB 4(8),
// 2011, §4, §5.3). Lists are [Contracted] (plain DocIDs with a line, hash buckets or a
// bitmap) or [Compressed] by a Regression codec, where only the DocIDs that a search
// compares are decoded. Package para is for batches.
//
// Disjunctions are in package scoring.
//
// # Kernels
//
// The CPU reference is a merge of the two lists.
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
// Finding kernels write matches by tile and intersect_gather collects them: compaction
// by scan (compaction.cuh). A grid has one block per tile, up to
// tuning.blocksPerMultiprocessor per multiprocessor; a block takes tiles until there
// are none.
package intersect
