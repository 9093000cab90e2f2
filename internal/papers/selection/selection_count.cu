#include "../../gpu/device/cuda.cuh"
#include "selection.cuh"

struct SelectionCountParams {
    SelectionSource source;
    uint32_t* count;  // [1]
};

template <typename Key>
GRIFFIN_DEVICE void count_hits(const SelectionCountParams& p) {
    if (is_skipped(p.source)) return;
    uint32_t hits = 0;
    each_key<Key>(p.source, num_scores(p.source), [&](Key) { hits++; });
    hits = __reduce_add_sync(0xFFFFFFFFU, hits);
    if (threadIdx.x % 32 == 0 && hits > 0) atomicAdd(p.count, hits);
}

// *count += the number of hits. Grid: any; block: 256; thread i of the grid processes scores i, i + threads, ...
GRIFFIN_KERNEL(selection_count, SelectionCountParams, 256) {
    count_hits<uint64_t>(p);
}

GRIFFIN_KERNEL(selection_count_wide, SelectionCountParams, 256) {
    count_hits<uint128_t>(p);
}
