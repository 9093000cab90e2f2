#include "alone.cuh"
#include "count.cuh"
#include "ranges.cuh"

/* Queries with packed lists, without a filter. Grid, block, shared memory, in and out are as of the kernels without
 * _compact. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_compact, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_ranges<false, kLate>(p, p.queries + block.x, p.terms, block.y);
}

GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_one_compact, ImageOne, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    imagesearch_alone<kLate>(p, search, shared);
}

GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_few_compact, ImageFew, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    imagesearch_alone<kLate>(p, search, shared);
}

GRIFFIN_KERNEL_BLOCKS(imagesearch_probe_compact, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_probes<false>(p, p.queries + block.x, p.terms, block.y);
}

GRIFFIN_KERNEL_BLOCKS(imagesearch_probe_one_compact, ImageOne, 256, 4) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ __align__(16) ImageQuery query;
    imagesearch_unpack(p, &search, &query);
    imagesearch_clear_other(p, blockIdx.x);
    imagesearch_by_probes<false, false, true>(search, &query, nullptr, blockIdx.x);
}

GRIFFIN_KERNEL_BLOCKS(imagesearch_count_compact, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_counting(p, p.queries + block.x, p.terms, block.y);
}
