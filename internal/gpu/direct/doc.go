// Package direct answers queries on a GPU from compressed lists where they lie: in
// device memory, or in page-locked host memory that the kernels read over the bus, and
// of that only the blocks that a query needs. One launch answers a query, exactly.
//
// It is for lists that are not resident as images (package fastpath), when bringing
// them would take longer than the query. It does not decide what lies where (package
// pipeline) nor which processor runs a query (package exec), and knows one codec,
// simdbp: see [Supported].
//
// # Main types
//
//   - [Kernels] are the kernels on a device, [Runner] has the memory of one query.
//   - [List] says where a list lies and how it is scored, [Query] what is asked.
//   - [Candidates] go into a conjunction, or come out of one, so that it can go on at
//     another processor after any of its lists.
//
// # How a query is answered
//
// A load over the bus takes microseconds, so that a search must have few of them that
// wait for each other, and many under way at a time. Directories are in device memory,
// or copied there first; all decisions on which blocks are needed are made on them. Then
// a warp asks for the bytes of several blocks at once, 16 bytes a lane, each byte once,
// and takes the numbers out of shared memory.
//
// Documents in any list: a block of threads takes ranges of 8192 documents and bounds
// what each list can give there by the greatest bound of its blocks. Ranges that cannot
// reach the threshold are left. In others the lists are parted as MaxScore does it
// (Turtle and Flood, Information Processing & Management 31(6), 1995): essential lists
// are decoded into sums in shared memory; the others, with which alone no document
// reaches the threshold, only where a block's DocIDs span a document whose sum can, and
// for those documents.
//
// Documents in all lists: a block of threads takes a group of 32 to 512 postings of the
// shortest list, or candidates. For one list after the other, it finds the block of each
// candidate by the directory, decodes each such block once, looks its candidates up by
// binary search and closes ranks (Ding, He, Yan and Suel, WWW 2009, §5, intersect the
// compressed lists on a GPU by blocks of the longer list in the same way; Ao et al., VLDB
// 2011, §4.1, by a thread for each element). We differ: blocks are read from the
// memory of the host if need be, all lists are intersected in one launch, candidates
// that cannot be among the best drop out by the bounds of their blocks before those are
// read, and frequencies are read only of what is left, for four lists at a time.
//
// The threshold follows from a histogram of scores, as in package fastpath: a block of
// threads first counts the scores of a range or group by itself, and then gives the others
// what may still matter to them. Its first value comes from the lists' k-th best
// postings, and the last block to end selects from what all have found
// (device/block_topk.cuh).
//
// # Kernels
//
//	direct_any         any list, hits and count: any.cuh
//	direct_any_count   any list, count alone
//	direct_all         all lists: all.cuh
//	direct_copy        directories from host to device memory
//
// Blocks have 256 threads, 18 (direct_any) and 36 KiB (direct_all) of static shared memory,
// and dynamic as kernel.sharedBytes says: 36 and 4 KiB for top-10. The query travels with the launch; hits,
// counts and candidates are written to page-locked memory, which the host looks at until
// they are there. Reference of all searches: package traverse, exhaustive-daat.
//
// # Concurrency
//
// Kernels may be used by several goroutines. A Runner belongs to one goroutine at a
// time. Lists are read by any number of queries; whoever owns their memory keeps it
// until those have ended.
package direct

//go:generate go test -run ^TestConstants$ -update .
