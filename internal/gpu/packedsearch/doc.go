// Package packedsearch answers queries on a GPU from compressed lists, in
// device memory or in page-locked host memory. From host memory, the kernels
// read only the needed blocks. Answers are exact.
//
// It is for lists that are not resident as images (package imagesearch). It
// does not place lists (package residency), and supports one codec, simdbp: see
// [Supported].
//
// # Main types
//
//   - [Kernels] are the kernels on a device; [Runner] has the memory of one query.
//   - [List] is a leg with the addresses of its list; [Query] is a query of such lists.
//   - [Candidates] are input or output of a conjunction, which can move to another processor
//     after any of its lists.
//
// # How a query is answered
//
// A load over the bus takes microseconds: a search needs few dependent and many
// concurrent loads. Directories in device memory determine the needed blocks. A
// warp loads several at once, 16 bytes per lane, each byte once, and decodes
// them from shared memory.
//
// Documents in any list: a block of threads processes ranges of 8192 documents.
// Ranges that cannot reach the threshold by the bounds of their blocks are
// skipped. In the others, lists are partitioned as in MaxScore (Turtle and
// Flood, Information Processing & Management 31(6), 1995). Essential lists are
// decoded into sums in shared memory; blocks of the others only if their DocIDs
// span a document whose sum can reach the threshold.
//
// Documents in all lists: a block of threads processes a group of 32 to 512
// postings of the shortest list, or candidates. For each list in turn, it finds
// the candidates' blocks in the directory, decodes each once, looks up its
// candidates by binary search and compacts the group (Ding, He, Yan and Suel,
// WWW 2009, §5, also intersect compressed lists on a GPU by blocks of the
// longer list; Ao et al., VLDB 2011, §4.1, use a thread per element). We
// differ: blocks can be in host memory; one launch intersects all lists; block
// bounds exclude candidates before the blocks are read; and frequencies are
// read only for the remaining candidates, for four lists at a time.
//
// The threshold follows from a histogram of scores, as in package imagesearch.
// The last block of threads to end selects the hits from the keys of all
// (device/block_topk.cuh).
//
// # Kernels
//
//	packedsearch_any         any list, hits and count: any.cuh
//	packedsearch_any_count   any list, count alone
//	packedsearch_all         all lists: all.cuh
//	packedsearch_copy        directories from host to device memory
//
// Blocks have 256 threads, static shared memory of 18 KiB (packedsearch_any) or
// 36 KiB (packedsearch_all), and dynamic shared memory of kernel.sharedBytes:
// 36 or 4 KiB for top-10. The query is in the launch parameters; the answer
// goes to page-locked memory, which the host polls. Reference of all searches:
// package traverse, exhaustive-daat.
//
// # Concurrency
//
// Kernels is safe for concurrent use. A Runner is not. Queries share lists,
// which must stay until they have ended.
package packedsearch

//go:generate go test -run ^TestConstants$ -update .
