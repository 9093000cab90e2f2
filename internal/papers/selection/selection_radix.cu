#include "../../gpu/device/block_scan.cuh"
#include "../../gpu/device/cuda.cuh"
#include "selection.cuh"

constexpr uint32_t kRadixBits = 8;
constexpr uint32_t kRadix = 1U << kRadixBits;
constexpr uint32_t kNumDigits = 64 / kRadixBits;
constexpr uint32_t kRadixThreads = 256;
constexpr uint32_t kRadixWarps = kRadixThreads / 32;
constexpr uint32_t kPerLane = 16;                        // keys of a tile
constexpr uint32_t kTileLen = kPerLane * kRadixThreads;  // a tile fills the scatter's registers

struct SelectionRadixParams {
    SelectionSource source;
    uint64_t* keys[2];    // [maxScores] each
    uint32_t* counts;     // [256 * numBlocks] of the current digit: digit 255 first, within a digit by block
    uint64_t* differing;  // [1] bits in which keys differ; 0 before the first launch
    uint64_t* out;        // [k]
    uint32_t digit;       // 0 is the lowest
    uint32_t numBlocks;   // of the grids of keys, count and scatter
    uint32_t k;
    uint32_t reserved;
};

// Block b sorts the keys [first, last).
GRIFFIN_DEVICE void radix_range(const SelectionRadixParams& p, uint32_t* first, uint32_t* last) {
    uint32_t n = num_scores(p.source);
    uint64_t tiles = (static_cast<uint64_t>(n) + kTileLen - 1) / kTileLen;
    *first = min(static_cast<uint64_t>(n), tiles * blockIdx.x / p.numBlocks * kTileLen);
    *last = min(static_cast<uint64_t>(n), tiles * (blockIdx.x + 1) / p.numBlocks * kTileLen);
}

// A digit that is equal in all keys needs no pass. radix_passes returns the number of passes for the digits below
// digit: then keys[radix_passes % 2] holds the keys.
GRIFFIN_DEVICE bool radix_has_pass(uint64_t differing, uint32_t digit) {
    return differing >> digit * kRadixBits & (kRadix - 1);
}

GRIFFIN_DEVICE uint32_t radix_passes(uint64_t differing, uint32_t digit) {
    uint32_t passes = 0;
    for (uint32_t d = 0; d < digit; d++) passes += radix_has_pass(differing, d);
    return passes;
}

// Radix sort of all keys in descending order, by digits of 8 bits from the lowest up; the first k are the result
// (griffin18 §3.1.3; Satish, Harris and Garland, "Designing efficient sorting algorithms for manycore GPUs", IPDPS
// 2009: count, scan, scatter). We differ: digits of 8 bits; a digit that is equal in all keys has no pass. Launches, on
// one stream: keys; for each digit count, scan, scatter; first. Grid: numBlocks, scan and first 1; block: 256, scan
// 1024. out[0, k): descending, padded with 0.
GRIFFIN_KERNEL(selection_radix_keys, SelectionRadixParams, 256) {
    if (is_skipped(p.source)) return;
    uint32_t first, last;
    radix_range(p, &first, &last);
    if (num_scores(p.source) == 0) return;
    uint64_t some[1], differing = 0;
    source_keys(p.source, 0, 0, 1, some);
    for (uint64_t i = first + threadIdx.x; i < last; i += kAtOnce * kRadixThreads) {
        uint64_t keys[kAtOnce];
        source_keys(p.source, i, kRadixThreads, last, keys);
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            if (i + j * kRadixThreads >= last) continue;
            differing |= keys[j] ^ some[0];
            p.keys[0][i + j * kRadixThreads] = keys[j];
        }
    }
    uint32_t low = __reduce_or_sync(0xFFFFFFFFU, static_cast<uint32_t>(differing));
    uint32_t high = __reduce_or_sync(0xFFFFFFFFU, static_cast<uint32_t>(differing >> 32));
    if (threadIdx.x % 32 == 0 && (low | high)) atomicOr(p.differing, static_cast<uint64_t>(high) << 32 | low);
}

// counts[(255 - digit) * numBlocks + b] of the keys of block b.
GRIFFIN_KERNEL(selection_radix_count, SelectionRadixParams, 256) {
    if (is_skipped(p.source) || !radix_has_pass(*p.differing, p.digit)) return;
    __shared__ uint32_t counts[kRadix];
    const uint64_t* keys = p.keys[radix_passes(*p.differing, p.digit) % 2];
    uint32_t first, last;
    radix_range(p, &first, &last);
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint64_t i = static_cast<uint64_t>(first) + threadIdx.x; i < last; i += blockDim.x) {
        atomicAdd(&counts[keys[i] >> p.digit * kRadixBits & (kRadix - 1)], 1U);
    }
    __syncthreads();
    p.counts[(kRadix - 1 - threadIdx.x) * p.numBlocks + blockIdx.x] = counts[threadIdx.x];
}

// Exclusive prefix sums of the counts. A thread processes 16 at a time, in vectors of 4: their number is a multiple of
// 256.
GRIFFIN_KERNEL(selection_radix_scan, SelectionRadixParams, 1024) {
    if (is_skipped(p.source) || !radix_has_pass(*p.differing, p.digit)) return;
    constexpr uint32_t kVectors = 4;
    __shared__ uint32_t sums[32];
    uint32_t n = kRadix * p.numBlocks, before = 0;
    for (uint32_t from = 0; from < n; from += 4 * kVectors * 1024) {
        uint4* at = reinterpret_cast<uint4*>(p.counts + from) + kVectors * threadIdx.x;
        uint4 v[kVectors];
        uint32_t sum = 0;
#pragma unroll
        for (uint32_t j = 0; j < kVectors; j++) {
            v[j] = from + 4 * (kVectors * threadIdx.x + j) < n ? at[j] : make_uint4(0, 0, 0, 0);
            sum += v[j].x + v[j].y + v[j].z + v[j].w;
        }
        uint32_t total = before;
        sum = before + block_exclusive_sum(sum, total, sums);
#pragma unroll
        for (uint32_t j = 0; j < kVectors; j++) {
            if (from + 4 * (kVectors * threadIdx.x + j) >= n) continue;
            at[j] = make_uint4(sum, sum + v[j].x, sum + v[j].x + v[j].y, sum + v[j].x + v[j].y + v[j].z);
            sum += v[j].x + v[j].y + v[j].z + v[j].w;
        }
        before = total;
    }
}

// A stable scatter of the keys by the digit. A warp has 512 keys of a tile, in 16 rounds of 32. Lanes with the same
// digit find their ranks by __match_any_sync, warps by a scan per digit.
GRIFFIN_KERNEL(selection_radix_scatter, SelectionRadixParams, 256) {
    if (is_skipped(p.source) || !radix_has_pass(*p.differing, p.digit)) return;
    __shared__ uint32_t next[kRadix];  // output index of the next key with the digit
    __shared__ uint32_t counts[kRadixWarps][kRadix];
    uint32_t passes = radix_passes(*p.differing, p.digit);
    const uint64_t* keys = p.keys[passes % 2];
    uint64_t* sorted = p.keys[(passes + 1) % 2];
    uint32_t first, last, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    radix_range(p, &first, &last);
    next[threadIdx.x] = p.counts[(kRadix - 1 - threadIdx.x) * p.numBlocks + blockIdx.x];
    for (uint64_t tile = first; tile < last; tile += kTileLen) {
        for (uint32_t w = 0; w < kRadixWarps; w++) counts[w][threadIdx.x] = 0;
        __syncthreads();
        uint64_t mine[kPerLane];
        uint32_t ranks[kPerLane];
#pragma unroll
        for (uint32_t r = 0; r < kPerLane; r++) {
            uint64_t i = tile + (warp * kPerLane + r) * 32 + lane;
            bool has = i < last;
            mine[r] = has ? keys[i] : 0;
            uint32_t digit = has ? mine[r] >> p.digit * kRadixBits & (kRadix - 1) : kRadix;
            uint32_t peers = __match_any_sync(0xFFFFFFFFU, digit);
            uint32_t before = has ? counts[warp][digit] : 0;
            ranks[r] = before + __popc(peers & ((1U << lane) - 1));
            __syncwarp();
            if (has && (peers >> lane) == 1) counts[warp][digit] = before + __popc(peers);  // the digit's last lane
            __syncwarp();
        }
        __syncthreads();
        uint32_t place = next[threadIdx.x];
        for (uint32_t w = 0; w < kRadixWarps; w++) {
            uint32_t count = counts[w][threadIdx.x];
            counts[w][threadIdx.x] = place;
            place += count;
        }
        next[threadIdx.x] = place;
        __syncthreads();
#pragma unroll
        for (uint32_t r = 0; r < kPerLane; r++) {
            uint64_t i = tile + (warp * kPerLane + r) * 32 + lane;
            if (i < last) sorted[counts[warp][mine[r] >> p.digit * kRadixBits & (kRadix - 1)] + ranks[r]] = mine[r];
        }
        __syncthreads();
    }
}

// out[0, k) are the first of the sorted keys.
GRIFFIN_KERNEL(selection_radix_first, SelectionRadixParams, 256) {
    if (is_skipped(p.source)) return;
    uint32_t n = num_scores(p.source);
    const uint64_t* keys = p.keys[radix_passes(*p.differing, kNumDigits) % 2];
    for (uint32_t i = threadIdx.x; i < p.k; i += blockDim.x) p.out[i] = i < n ? keys[i] : 0;
    __syncthreads();
    if (threadIdx.x == 0) *p.differing = 0;
}
