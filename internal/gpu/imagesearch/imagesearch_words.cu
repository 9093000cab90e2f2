#include "count.cuh"
#include "ranges.cuh"

/* Queries with excluded words, required beside optional ones, or alternatives that are required: ImageParts precede the
 * terms. Grid, block, shared memory, in and out are as of the kernels without _words. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_words, ImageSearch, 256, 3) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_ranges<false, kEither, true>(p, p.queries + block.x, p.terms, block.y);
}

/* And with excluded words. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_probe_words, ImageSearch, 256, 3) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_probes<false, true>(p, p.queries + block.x, p.terms, block.y);
}

GRIFFIN_KERNEL_BLOCKS(imagesearch_count_words, ImageSearch, 256, 3) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_counting<true>(p, p.queries + block.x, p.terms, block.y);
}
