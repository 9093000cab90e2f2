// Package imagesearch answers queries on a GPU from list images: posting lists
// in a device layout, with bounds for each range of 32 documents. Answers are
// exact.
//
// It does not decode lists (package decode), choose the resident lists (package
// residency), or know index segments.
//
// # Main types
//
//   - [Shape] determines the size of a list's image. [Kernels.Build] builds the
//     image on the device from decoded postings, [Encode] in memory.
//   - [Batch] answers queries over one [Segment] together, with one thread
//     block per query, or several for costly queries.
//   - [Single] runs one query on the whole device, with minimum latency.
//   - [Pass] answers a batch of queries whose images exceed the memory, in bands of documents.
//   - [Tally] counts the values of columns over all matches of a query, and finds the best matches by a column.
//
// # How a query is answered
//
// An image stores the maximum contribution per range of 32 documents and per
// superblock of 128 ranges, in 255 steps, rounded up. For an OR query, a block
// sums the lists' bounds per superblock and sorts the superblocks. Its warps
// process them in falling order, sum the bounds of their ranges and list ranges
// that can reach the threshold. When the list is full, they score its ranges in
// falling order, one document per lane. A document is scored exactly only if
// its bound, the sum of its postings' 8-bit contributions, reaches the
// threshold. Its score enters the block's top k (device/block_topk.cuh) and a
// histogram for the threshold. The initial threshold is the maximum of the
// lists' k-th best contributions. Blocks of one query share the histogram and
// the threshold in device memory; the last block to end selects the hits from
// the keys of all.
//
// A single query uses all n blocks that can run at the same time. They sum the
// bounds of all ranges; a block takes every nth unit of 32 ranges, because good
// documents cluster. Each warp then scores its best range; the best scores of
// all warps give a threshold that excludes most others. The hits go to the host
// as words with the number of their launch, so that no fence is needed. If at most
// 32 hits are wanted, each block sends its own (imagesearch_send), and the
// host keeps the best k; else the last block sends the best of all.
//
// A launch costs the host about 4 µs. So the kernel of such a query may stay on the device for the next one
// ([Single.SetStay]): the host writes it into page-locked memory, which the first block polls (stay.cuh). The kernel
// leaves when it is idle, and when any other kernel is launched (cuda.Device.Stay).
//
// Block-max pruning over ranges: Mallia, Suel and Tonellotto, "Faster learned
// sparse retrieval with block-max pruning", SIGIR 2024; superblocks: Carlson,
// Xie, He and Yang, "Dynamic superblock pruning for fast learned sparse
// retrieval", SIGIR 2025. We differ: on a GPU, also for BM25, exact, and with a
// bitmap and a rank directory instead of a forward index.
//
// An image lists its documents by their share of the segment (Shape): as a bitmap with ranks, or as DocIDs of 32 bits with a
// directory; a compact one also as DocIDs of 8 bits in buckets of 64 to 256 documents, each beside its contribution
// (packed.cuh). Compact images have kernels of their own, as the code for buckets takes registers.
//
// For an AND query whose shortest list has few documents, each lane looks up a posting
// of that list in the other lists, by bitmap and rank or a hash directory (Ao
// et al., "Efficient parallel lists intersection and index compression
// algorithms using graphics processing units", VLDB 2011, §4.2.2).
//
// A Tally answers with one launch. A warp finds the matches of up to six units of 1,024 documents, whose loads wait
// together, as fewer waits were most of the time before: the OR or AND of the dense lists' bitmaps, the documents of
// other lists, which it marks in shared memory, the filter and the live documents. Then each lane loads the values of eight
// consecutive documents, or, if few match, of the matches of its own words, and adds them to counts in shared memory, of
// which there are up to eight copies, or runs of equal ones to counts in device memory if there are too many values. An AND
// of which a list has DocIDs of 32 bits has a launch before, which marks the documents that are in all lists.
//
// To find the best matches by a column, launches count the digits of the values, the highest first, until the documents
// that may be among the best fit into a list, which the last launch writes. If too many have the
// value of the last, the digits of DocIDs follow.
//
// A query with a filter drops, as a warp looks up a range in the lists, those lists whose documents in the range do not pass
// the filter. The bounds of these lists are subtracted from the bound of the range, and the range is dropped if the
// rest is below the threshold. If 10 % of the documents pass at random, most documents of a rare term do not, and the
// other terms alone seldom reach the threshold.
//
// A query with Parts has kernels of its own, so that the others stay as fast. Required terms and clauses are tested for each
// superblock, by the bounds of a list in it, then required terms for each range, if their lists have bounds of ranges, then
// both for its documents by the bits of the lists that the warp has looked up. Documents that reach the threshold are looked
// up in the excluded lists. Counts are the AND of the clauses' bitmaps, each of which is the OR of its lists', whose sparse ones
// are marked in shared memory.
//
// A Pass makes images of the documents of a band, for all lists, and searches them for all queries; then of the next band. A
// band is filled while the one before is searched. Each posting has a place in the image by its compressed block, so that
// blocks are decoded independently, each by a warp. The hits and the threshold of a query go from band to band. In
// addition to the work for its postings and hits, a band costs the time of the longest tile of the fill and of the
// longest block of the search. So tiles are small, and costly queries have several blocks.
//
// Sums of bounds have 32 bits. If the sum can exceed 2^32, the query is wide:
// its bounds are in units of a power of two, and separate kernels sum its
// scores in 64 bits.
//
// # Kernels
//
//	imagesearch_build                   a block per superblock of a list: Encode
//	imagesearch_band_fill               a block of 128 threads per tile: a list in a band, or a part of it
//	imagesearch_band_search             the ranges, in a band: imagesearch_band.cu
//	imagesearch_ranges                  Or, And of lists with bounds of ranges: ranges.cuh, group.cuh
//	imagesearch_ranges_one, _ranges_few the same, one query: alone.cuh, group.cuh
//	imagesearch_ranges_stay             the same as _few, then further queries from the host: stay.cuh
//	imagesearch_probe, _probe_one       And by the shortest list: probe.cuh
//	imagesearch_ranges_compact, _ranges_one_compact, _ranges_few_compact, _probe_compact, _probe_one_compact, _count_compact
//	                                    the same, with compact images
//	imagesearch_ranges_wide, _probe_wide  the same, scores can exceed 2^32: key.cuh
//	imagesearch_count                   counts: count.cuh
//	imagesearch_ranges_words, _probe_words, _count_words  the same, with Parts
//	imagesearch_ranges_filtered, _one_filtered, _few_filtered  the ranges, with a filter that is tested before bounds are read;
//	                                    on packed lists, the kernels for Parts do it
//	imagesearch_mark, _tally16, _tally32  counts of the values of columns: imagesearch_tally.cu
//	imagesearch_select16, _32, _64      the best matches by a column: the same
//
// Blocks have 256 threads (imagesearch_build and imagesearch_band_fill: 128), 12 KiB of static shared
// memory (21 for a single query) and sharedBytes of dynamic shared memory. The
// _one and _few kernels have a query of up to 30 and 8 terms in their
// parameters. Reference of all searches: package traverse, exhaustive-daat.
//
// # Concurrency
//
// Kernels is safe for concurrent use. A Batch, a Single, a Pass or a Tally is not; it keeps its
// memory between uses and allocates only if a batch is larger than all before.
// Launches share images, which must stay until they have ended.
package imagesearch

//go:generate go test -run ^TestConstants$ -update .
