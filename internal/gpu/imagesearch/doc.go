// Package imagesearch answers queries on a GPU from list images: posting lists in a device
// layout, with bounds for each range of 32 documents. One launch answers a batch of queries,
// or one query on the whole device. Answers are exact.
//
// It searches resident lists. It does not decode lists (package decode), does not choose the
// resident lists (package residency), and does not know index segments: its input is device
// buffers and numbers.
//
// # Main types
//
//   - [Shape] determines the size of a list's image. [Kernels.Build] builds the image on the
//     device from decoded postings, [Encode] in memory.
//   - [Batch] answers any number of queries over one [Segment] together, with one thread
//     block per query, or several for costly queries.
//   - [Single] runs one query on the whole device, with minimum latency.
//
// # How a query is answered
//
// Documents are divided into ranges of 32 and superblocks of 128 ranges. An image stores the
// maximum contribution per superblock and per range, in 255 steps, rounded up. For an OR
// query, a block sums the lists' bounds per superblock and sorts the superblocks by the sums
// (counting sort in shared memory). Its warps process the superblocks in falling order, sum
// the bounds of the ranges (four per lane) and add ranges that can reach the threshold to a
// list. When the list is full, it is sorted, and the warps score its ranges in falling order,
// one document per lane. A document is scored exactly only if its bound, the sum of its
// postings' 8-bit contributions, reaches the threshold. Its score enters the block's top k
// (device/block_topk.cuh) and a histogram, which determines the threshold. The initial
// threshold is the maximum of the lists' k-th best contributions. Blocks of one query share
// the histogram and the threshold in device memory; the last block to end selects the hits
// from the keys of all.
//
// A single query uses all blocks that can run at the same time. They sum the bounds of all
// ranges. With 3 blocks on each of 132 multiprocessors, a block takes every 396th unit of 32
// ranges: good documents cluster in a collection, and this spreads them. Each warp then scores
// every document of its best range; the best scores of all warps give a threshold that
// excludes most other ranges. The hits go to the host as words that contain the number of
// their launch, so that no fence is needed.
//
// Block-max pruning over ranges: Mallia, Suel and Tonellotto, "Faster learned sparse
// retrieval with block-max pruning", SIGIR 2024; superblocks: Carlson, Xie, He and
// Yang, "Dynamic superblock pruning for fast learned sparse retrieval", SIGIR 2025.
// We differ: on a GPU, also for BM25, exact, and with a bitmap and a rank directory instead of
// a forward index.
//
// For an AND query whose shortest list is sparse, each lane looks up a posting of that list in
// the other lists, by bitmap and rank or by a hash directory (Ao et al., "Efficient parallel
// lists intersection and index compression algorithms using graphics processing units", VLDB
// 2011, §4.2.2). Counting uses bitmaps, without scores.
//
// Sums of bounds have 32 bits. If the sum of a query can exceed 2^32, the query is wide: its
// bounds are in units of a power of two, rounded up, and its scores are summed in 64 bits.
// Separate kernels, loaded for the first such query, store them in wider keys.
//
// # Kernels
//
//	imagesearch_build                   a block per superblock of a list: Encode
//	imagesearch_ranges                  Or, And of dense lists: ranges.cuh, group.cuh
//	imagesearch_ranges_one, _ranges_few the same, one query: alone.cuh, group.cuh
//	imagesearch_probe, _probe_one       And with a sparse list: probe.cuh
//	imagesearch_ranges_wide, _probe_wide  the same, scores can exceed 2^32: key.cuh
//	imagesearch_count                   counts: count.cuh
//
// Blocks have 256 threads (imagesearch_build: 128), 12 KiB of static shared memory (21 for a
// single query) and sharedBytes of dynamic shared memory: 23 KiB for 25 million documents and
// top-10. The _one kernels have a query of up to 30 terms in their parameters, the _few
// kernels of up to 8, because shorter parameters arrive sooner. Reference of all searches:
// package traverse, exhaustive-daat.
//
// # Concurrency
//
// Kernels is safe for concurrent use. A Batch or a Single is not; it keeps its memory between
// uses and allocates only if a batch is larger than all before. Any number of launches can
// read an image; the owner of its memory must keep it until they have ended.
package imagesearch

//go:generate go test -run ^TestConstants$ -update .
