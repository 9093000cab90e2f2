// Package fastpath answers queries on a GPU from list images: posting lists laid
// out for the device, with bounds for every range of 32 documents. One launch
// answers a batch of queries, or one query on the whole device, exactly.
//
// It is for lists that are resident. It does not decode lists (package decode),
// does not decide what is resident (package pipeline), and knows no segments: it
// takes device buffers and numbers.
//
// # Main types
//
//   - [Shape] says how many bytes the image of a list takes; [Kernels.Build] makes
//     the image on the device from decoded postings, [Encode] in memory.
//   - [Batch] takes any number of queries of one [Segment] and answers them in one
//     go, one thread block a query, or several where a query would hold up the rest.
//   - [Single] spreads one query over the whole device, for the least latency.
//
// # How a query is answered
//
// Documents are cut into ranges of 32 and superblocks of 128 ranges. An image holds
// the greatest contribution of its postings a superblock and a range, in 255 steps,
// rounded up. For an OR query a block sums the lists' bounds a superblock and
// sorts the superblocks by them (counting sort in shared memory). Its warps then
// take superblocks from the best down, sum the bounds of their ranges (four a lane)
// and put those that can reach the threshold into a list; when it is full, it is
// sorted too, and the warps score the ranges in it from the best down, one document
// a lane. Only documents whose own bound, the sum of the postings' 8-bit
// contributions, reaches the threshold are scored in full. Those enter the block's
// top k (device/block_topk.cuh) and a histogram of scores from which the threshold
// follows at once. The first threshold comes from the lists' k-th best postings.
// Blocks that share a query share the histogram and the threshold in device memory,
// and the last of them to end selects from what all have found.
//
// A query on its own has all blocks that run at a time. They sum the bounds of all
// ranges, 32 ranges of each 396th unit a block (of 3 blocks on 132 multiprocessors), so
// that what lies together in the collection goes to many of them. Each warp then
// scores the best range that it has, every document of it in full, and the best scores
// of all warps give the threshold behind which few other ranges are left. The hits go
// to the host as words that say by themselves which launch they are of: no fence.
//
// Block-max pruning over ranges: Mallia, Suel and Tonellotto, "Faster learned sparse
// retrieval with block-max pruning", SIGIR 2024; superblocks: Carlson, Xie, He and
// Yang, "Dynamic superblock pruning for fast learned sparse retrieval", SIGIR 2025.
// We differ: on a GPU, for BM25 too, exact, with a bitmap and a rank directory in the
// place of a forward index.
//
// For an AND query whose shortest list is sparse, each lane takes a posting of that
// list and looks it up in the others, by bitmap and rank or by a hash directory (Ao et
// al., "Efficient parallel lists intersection and index compression algorithms using
// graphics processing units", VLDB 2011, §4.2.2). COUNT and intersection alone go by
// bitmaps, without scores.
//
// # Kernels
//
//	fastpath_build                   a block a superblock of a list: Encode
//	fastpath_ranges                  Or, And of dense lists: ranges.cuh, group.cuh
//	fastpath_ranges_one, _ranges_few the same, one query: alone.cuh, group.cuh
//	fastpath_probe, _probe_one       And with a sparse list: probe.cuh
//	fastpath_count                   counts and DocIDs: count.cuh
//
// Blocks have 256 threads (fastpath_build: 128), 12 KiB of static shared memory (21 for
// a query on its own) and as much dynamic as sharedBytes says: 23 KiB for 25 million
// documents and top-10. The forms called one take the query with the launch, up to 30
// terms, and few up to 8: shorter parameters arrive sooner. Reference of all searches:
// package traverse, exhaustive-daat.
//
// # Concurrency
//
// Kernels may be used by several goroutines. A Batch or a Single belongs to one
// goroutine at a time, and holds its memory from one use to the next: nothing is
// allocated once it has served a batch as large. Images are read by any number of
// launches; whoever owns their memory keeps it until those have ended.
package fastpath

//go:generate go test -run ^TestConstants$ -update .
