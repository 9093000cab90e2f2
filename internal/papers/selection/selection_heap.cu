#include "../../gpu/device/cuda.cuh"
#include "selection.cuh"

constexpr uint32_t kGroupLen = 512;
constexpr uint32_t kMaxLevels = 3;  // 512^4 scores

struct SelectionHeapLevelParams {
    SelectionSource source;
    const uint64_t* below;  // [numBelow] keys of the lower level; null: keys of the source
    uint64_t* maxima;       // [ceil(numBelow / 512)]
    uint32_t numBelow;      // for the source: its maxScores
    uint32_t reserved;
};

// maxima[g] = the maximum key of group g of 512 of the lower level, 0 if it has none (Ding et al. 2009, §8.2). Grid:
// ceil(groups / 8); block: 256; a warp per group, 16 keys per lane; lane 0 writes.
GRIFFIN_KERNEL(selection_heap_level, SelectionHeapLevelParams, 256) {
    if (is_skipped(p.source)) return;
    uint32_t group = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    uint32_t n = p.below ? p.numBelow : num_scores(p.source);
    if (static_cast<uint64_t>(group) * kGroupLen >= p.numBelow) return;
    uint64_t best = 0, first = static_cast<uint64_t>(group) * kGroupLen + threadIdx.x % 32;
    for (uint64_t i = first; i < n && i < first + kGroupLen; i += kAtOnce * 32) {
        uint64_t keys[kAtOnce];
        if (p.below) {
#pragma unroll
            for (uint32_t j = 0; j < kAtOnce; j++) keys[j] = i + j * 32 < n ? __ldg(p.below + i + j * 32) : 0;
        } else {
            source_keys(p.source, i, 32, n, keys);
        }
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) best = max(best, keys[j]);
    }
    best = warp_max_key(best);
    if (threadIdx.x % 32 == 0) p.maxima[group] = best;
}

struct SelectionHeapExtractParams {
    SelectionSource source;
    uint64_t* levels[kMaxLevels];  // maxima, the lowest level first
    uint64_t* out;                 // [k]
    uint32_t lengths[kMaxLevels];  // of the levels
    uint32_t numLevels;            // the last has at most 512 maxima; without levels, there are at most 512 scores
    uint32_t k;
};

// Of the block's 512 threads, in all threads.
__device__ inline uint64_t block_max_key(uint64_t key) {
    __shared__ uint64_t warps[16];
    key = warp_max_key(key);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = key;
    __syncthreads();
    return warp_max_key(warps[threadIdx.x % 16]);
}

// Removes the root of the heap k times and updates the maxima on its path, from the leaf up. Removed keys are those not
// less than the last one. out[0, k) are the best keys, padded with 0. Grid: 1; block: 512; thread j holds member j of
// each group on the path; thread 0 writes out.
GRIFFIN_KERNEL(selection_heap_extract, SelectionHeapExtractParams, 512) {
    if (is_skipped(p.source)) return;
    __shared__ uint32_t found;
    uint32_t numScores = num_scores(p.source), numTaken = 0;
    uint64_t taken = 0;
    for (; numTaken < p.k; numTaken++) {
        uint64_t members[kMaxLevels], places[kMaxLevels];
        // Down: the group of each level that contains the maximum key.
        uint64_t best = 0, group = 0;
#pragma unroll
        for (int l = kMaxLevels - 1; l >= 0; l--) {
            if (l >= static_cast<int>(p.numLevels)) continue;
            places[l] = group * kGroupLen + threadIdx.x;
            members[l] = places[l] < p.lengths[l] ? p.levels[l][places[l]] : 0;
            if (l + 1 == static_cast<int>(p.numLevels)) best = block_max_key(members[l]);
            if (best != 0 && members[l] == best) found = places[l];
            __syncthreads();
            group = best != 0 ? found : 0;
            __syncthreads();
        }
        // The leaves: the remaining keys of the group.
        uint64_t i = group * kGroupLen + threadIdx.x;
        uint64_t leaf[1] = {0};
        if (i < numScores) source_keys(p.source, i, 0, numScores, leaf);
        const uint64_t key = leaf[0];
        if (p.numLevels == 0) best = block_max_key(numTaken == 0 || key < taken ? key : 0);
        if (best == 0) break;  // in all threads
        taken = best;
        if (threadIdx.x == 0) p.out[numTaken] = best;
        if (p.numLevels == 0) continue;
        // Up: update the maxima.
        uint64_t renewed = block_max_key(key < taken ? key : 0);
#pragma unroll
        for (int l = 0; l < static_cast<int>(kMaxLevels); l++) {
            if (l >= static_cast<int>(p.numLevels)) continue;
            if (members[l] == best) {
                members[l] = renewed;
                p.levels[l][places[l]] = renewed;
            }
            renewed = block_max_key(members[l]);
        }
    }
    for (uint32_t i = numTaken + threadIdx.x; i < p.k; i += blockDim.x) p.out[i] = 0;
}
