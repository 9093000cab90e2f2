#define GRIFFIN_PACKED_LISTS 0 /* with packed lists: imagesearch_compact.cu */
#include "alone.cuh"
#include "count.cuh"
#include "ranges.cuh"

/* Or queries, and And queries of lists with bounds of ranges, without a filter (with one:
 * imagesearch_filtered.cu).
 *
 * Grid: one block per entry of blocks. Block: 256 threads. Shared memory: sharedBytes (tuning.go). Out: hits, best
 * first, and results. Reference: package traverse, exhaustive-daat. The scored ranges depend on the order of the warps,
 * the hits do not. See doc.go. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_ranges<false, kLate>(p, p.queries + block.x, p.terms, block.y);
}

/* For a query in the parameters: see alone.cuh. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_one, ImageOne, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    imagesearch_alone<kLate>(p, search, shared);
}

/* For up to kMaxFewTerms terms. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_few, ImageFew, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    imagesearch_alone<kLate>(p, search, shared);
}

/* And queries whose first list is the shortest and has few documents.
 *
 * Grid, block, shared memory, in and out: as imagesearch_ranges. Reference: package traverse, svs. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_probe, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_probes<false>(p, p.queries + block.x, p.terms, block.y);
}

/* For a query in the parameters. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_probe_one, ImageOne, 256, 4) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ __align__(16) ImageQuery query;
    imagesearch_unpack(p, &search, &query);
    imagesearch_clear_other(p, blockIdx.x);
    imagesearch_by_probes<false, false, true>(search, &query, nullptr, blockIdx.x);
}

/* Grid, block, shared memory and in: as imagesearch_ranges; queries with kFlagProbe have their shortest list first.
 * Out: count of each result, written by the query's last block. Reference: package traverse, merge. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_count, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_counting(p, p.queries + block.x, p.terms, block.y);
}
