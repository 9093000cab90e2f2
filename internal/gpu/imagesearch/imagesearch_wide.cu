#include "probe.cuh"
#include "ranges.cuh"

/* For wide queries: key.cuh. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_wide, ImageSearch, 256, 3) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_ranges<true, kEither>(p, p.queries + block.x, p.terms, block.y);
}

/* For wide queries. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_probe_wide, ImageSearch, 256, 3) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_probes<true>(p, p.queries + block.x, p.terms, block.y);
}
