#define GRIFFIN_PACKED_LISTS 0 /* with packed lists: imagesearch_words.cu */
#include "alone.cuh"
#include "ranges.cuh"

/* Queries with a filter and without packed lists. The filter tests ranges and documents before their bounds are read.
 * Grid, block, shared memory, in and out are as of the kernels without _filtered. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_filtered, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_ranges<false, kEarly>(p, p.queries + block.x, p.terms, block.y);
}

GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_one_filtered, ImageOne, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    imagesearch_alone<kEarly>(p, search, shared);
}

GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_few_filtered, ImageFew, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    imagesearch_alone<kEarly>(p, search, shared);
}
