#include "../../gpu/device/block_topk.cuh"
#include "../../gpu/device/cuda.cuh"
#include "selection.cuh"

constexpr uint32_t kTopThreads = 512;
constexpr uint32_t kTopWarps = kTopThreads / 32;
constexpr uint32_t kTopCapacity = 4096;  // keys in shared memory: k and 4 per thread
constexpr uint32_t kChunkLen = 128;      // scores that a warp reads at once, 4 per lane

struct SelectionTopParams {
    SelectionSource source;
    uint64_t* warpMaxima;   // [16 * gridDim.x]
    uint64_t* blockMaxima;  // [gridDim.x]
    uint64_t* bound;        // [1] lower bound reached by k keys; 0: fewer may reach it
    uint64_t* gathered;     // keys that reach the bound; capacity: Scratch's bound on their number
    uint64_t* out;          // [k]
    uint32_t* numGathered;  // [1], 0 before the first launch
    uint32_t* numBlocks;    // [1], 0 before the first launch
    uint32_t k;
    uint32_t reserved;
};

// The lane's maximum key of the warp's stripe: the warps of the grid take chunks of 128 scores in turn. plain: without
// DocIDs and deletions, only the 16-byte aligned scores are read, 16 bytes per lane, with four loads in flight.
GRIFFIN_DEVICE uint64_t best_of_stripe(const SelectionSource& source, bool plain) {
    const uint32_t* scores = static_cast<const uint32_t*>(source.scores);
    const uint32_t n = num_scores(source), lane = threadIdx.x % 32;
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * kTopWarps * kChunkLen;
    uint64_t from = static_cast<uint64_t>(blockIdx.x * kTopWarps + threadIdx.x / 32) * kChunkLen;
    uint64_t best = 0;
    if (plain) {
        const bool seen = from + kChunkLen <= n;
        uint32_t score = 0, at = from + 4 * lane;
        auto see = [&](uint32_t s, uint64_t i) {  // the first of equal scores has the lowest DocID
            if (s > score) {
                score = s;
                at = i;
            }
        };
        auto seeVector = [&](uint4 v, uint64_t i) {
            see(v.x, i);
            see(v.y, i + 1);
            see(v.z, i + 2);
            see(v.w, i + 3);
        };
        for (; from + 3 * step + kChunkLen <= n; from += 4 * step) {
            const uint32_t* vectors = scores + from + 4 * lane;
            uint4 v[4];
#pragma unroll
            for (uint32_t j = 0; j < 4; j++) v[j] = __ldg(reinterpret_cast<const uint4*>(vectors + j * step));
#pragma unroll
            for (uint32_t j = 0; j < 4; j++) seeVector(v[j], from + j * step + 4 * lane);
        }
        for (; from + kChunkLen <= n; from += step) {
            seeVector(__ldg(reinterpret_cast<const uint4*>(scores + from + 4 * lane)), from + 4 * lane);
        }
        if (seen && score >= source.leastScore) best = hit_key(score, at + source.base);
    }
    for (; from < n; from += step) {
        uint64_t keys[kChunkLen / 32];
        source_keys(source, from + lane, 32, n, keys);
#pragma unroll
        for (uint32_t j = 0; j < kChunkLen / 32; j++) best = max(best, keys[j]);
    }
    return best;
}

// Pushes the non-zero keys numbered 0 to n - 1: load sets keys to those at i, i + 512, i + 1024 and i + 1536, 0 from n
// on. Called by all threads of the block.
template <typename Load>
GRIFFIN_DEVICE void push_all(BlockTopK& top, uint32_t n, Load load) {
    uint64_t next[kAtOnce];
    if (n > 0) load(static_cast<uint64_t>(threadIdx.x), next);
    for (uint64_t from = 0; from < n; from += kAtOnce * kTopThreads) {
        uint64_t keys[kAtOnce];
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) keys[j] = next[j];
        if (from + kAtOnce * kTopThreads < n) load(from + kAtOnce * kTopThreads + threadIdx.x, next);
        uint32_t pushed = 0;
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) pushed = max(pushed, block_topk_push_warp(top, keys[j]));
        if (__syncthreads_or(pushed > kTopCapacity - kAtOnce * kTopThreads)) block_topk_compact(top);
    }
}

// Keys written by this launch.
GRIFFIN_DEVICE void push_keys(BlockTopK& top, const uint64_t* keys, uint32_t n) {
    push_all(top, n, [=](uint64_t i, uint64_t(&to)[kAtOnce]) {
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            to[j] = i + j * kTopThreads < n ? load_key(keys + i + j * kTopThreads) : 0;
        }
    });
}

// The best k of the pushed keys, sorted, padded with 0.
__device__ inline void write_hits(BlockTopK& top, uint64_t* out, uint32_t k) {
    block_topk_sort(top);
    for (uint32_t i = threadIdx.x; i < k; i += kTopThreads) out[i] = i < top.count ? top.keys[i] : 0;
}

// Our method for one array of any length. At least k keys reach the k-th greatest maximum of groups, so lower keys can
// be skipped. A group is a warp's stripe of the array. Stripes interleave, so the best keys of a run of documents lie
// in different groups, and little more than k keys remain. (If high scores occur only at the stripes' distance, k whole
// stripes remain: correct, but slow.) The scores are read once, and k/8448 of them again on an H200. The idea is the
// lowest level of ding09's heap (§8.2); we differ: no heap is built on it. Launches, on one stream: maxima, gather.
// Grid: at most the number of resident blocks, the same for both; block: 512; shared memory: 4096 keys. k at most 2048.
// out[0, k) are the best keys in descending order, padded with 0, written by the last block.

// The maxima of warps and of blocks, and in the last block the bound.
GRIFFIN_KERNEL(selection_top_maxima, SelectionTopParams, 512) {
    if (is_skipped(p.source)) return;
    __shared__ BlockTopK top;
    __shared__ uint64_t warps[kTopWarps];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint64_t best = warp_max_key(best_of_stripe(p.source, !p.source.docIDs && !p.source.live));
    if (lane == 0) {
        warps[warp] = best;
        store_key(&p.warpMaxima[blockIdx.x * kTopWarps + warp], best);
    }
    __syncthreads();
    if (warp == 0) {
        best = warp_max_key(warps[lane % kTopWarps]);
        if (lane == 0) store_key(&p.blockMaxima[blockIdx.x], best);
    }
    if (!is_last_block(p.numBlocks)) return;
    // Blocks are coarser groups, good enough if there are many for each of the
    // k.
    const bool coarse = gridDim.x >= 8 * p.k;
    const uint64_t* maxima = coarse ? p.blockMaxima : p.warpMaxima;
    block_topk_init(top, griffin_dynamic_shared<uint64_t>(), kTopCapacity, p.k, 0);
    push_keys(top, maxima, coarse ? gridDim.x : gridDim.x * kTopWarps);
    block_topk_compact(top);
    if (threadIdx.x == 0) *p.bound = top.threshold;
}

// The keys that reach the bound, and in the last block the best k of them.
GRIFFIN_KERNEL(selection_top_gather, SelectionTopParams, 512) {
    if (is_skipped(p.source)) return;
    __shared__ BlockTopK top;
    const uint64_t bound = max(*p.bound, static_cast<uint64_t>(1));
    const uint32_t n = num_scores(p.source), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * kTopWarps * kChunkLen;
    // The block's warps share the chunks of each of its stripes.
    const uint64_t best = lane < kTopWarps ? p.warpMaxima[blockIdx.x * kTopWarps + lane] : 0;
    for (uint32_t left = __ballot_sync(0xFFFFFFFFU, best >= bound); left != 0; left &= left - 1) {
        const uint32_t stripe = blockIdx.x * kTopWarps + __ffs(left) - 1;
        for (uint64_t from = static_cast<uint64_t>(stripe) * kChunkLen + warp * step; from < n;
             from += kTopWarps * step) {
            uint64_t keys[kChunkLen / 32];
            source_keys(p.source, from + lane, 32, n, keys);
#pragma unroll
            for (uint32_t j = 0; j < kChunkLen / 32; j++) {
                if (keys[j] >= bound) store_key(&p.gathered[atomicAdd(p.numGathered, 1U)], keys[j]);
            }
        }
    }
    if (!is_last_block(p.numBlocks)) return;
    const uint32_t numGathered = ld_relaxed(p.numGathered);
    block_topk_init(top, griffin_dynamic_shared<uint64_t>(), kTopCapacity, p.k, 0);
    push_keys(top, p.gathered, numGathered);
    write_hits(top, p.out, p.k);
    if (threadIdx.x == 0) *p.numGathered = 0;
}

GRIFFIN_DEVICE void select_one(const SelectionSource& source, uint64_t* out, uint32_t k) {
    __shared__ BlockTopK top;
    if (is_skipped(source)) return;
    block_topk_init(top, griffin_dynamic_shared<uint64_t>(), kTopCapacity, k, 0);
    const uint32_t n = num_scores(source);
    push_all(top, n, [&](uint64_t i, uint64_t(&to)[kAtOnce]) { source_keys(source, i, kTopThreads, n, to); });
    write_hits(top, out, k);
}

struct SelectionOneParams {
    SelectionSource source;
    uint64_t* out;  // [k]
    uint32_t k;
    uint32_t reserved;
};

// For a short array. Grid: 1; block: 512; shared memory: 4096 keys. k at most 2048. out[0, k) are the best keys in
// descending order, padded with 0.
GRIFFIN_KERNEL(selection_one, SelectionOneParams, 512) {
    select_one(p.source, p.out, p.k);
}

struct SelectionArraysParams {
    const SelectionSource* sources;  // [gridDim.x]
    uint64_t* out;                   // [gridDim.x][k]
    uint32_t k;
    uint32_t reserved;
};

// For many arrays, such as the segments of a batch of queries. Grid: the arrays; block: 512; shared memory: 4096 keys.
// k at most 2048. out[a][0, k) are the best keys of array a in descending order, padded with 0, written by block a.
GRIFFIN_KERNEL(selection_arrays, SelectionArraysParams, 512) {
    const SelectionSource source = p.sources[blockIdx.x];
    select_one(source, p.out + static_cast<uint64_t>(blockIdx.x) * p.k, p.k);
}
