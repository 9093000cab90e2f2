#include "../device/cuda.cuh"
#include "selection.cuh"

struct SelectionCountParams {
    SelectionSource source;
    uint32_t* count;  // [1]
};

template <typename Key>
__device__ inline void count_hits(const SelectionCountParams& p) {
    if (is_skipped(p.source)) return;
    uint32_t n = num_scores(p.source), threads = gridDim.x * blockDim.x, hits = 0;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        hits += source_key<Key>(p.source, i) != 0;
    }
    hits = __reduce_add_sync(0xFFFFFFFFU, hits);
    if (threadIdx.x % 32 == 0 && hits > 0) atomicAdd(p.count, hits);
}

// selection_count, and _wide for sums of 64 bits: *count += the number of documents that are hits.
// Grid: any; block: 256; thread i of the grid looks at scores i, i + threads, ...
GRIFFIN_KERNEL(selection_count, SelectionCountParams, 256) {
    count_hits<uint64_t>(p);
}

GRIFFIN_KERNEL(selection_count_wide, SelectionCountParams, 256) {
    count_hits<uint128_t>(p);
}
