#include "decode.cuh"

// A prefix sum over all gaps of a list, in three launches: the cost of decoding without the first DocIDs of blocks.
// Figure 4 of ding09 has bars for gaps alone and for localised sums; this is a third way.

constexpr uint32_t scanTile = 16 * decodeThreads;  // values per block of threads

// Mirror of scanParams.
struct DecodeScanParams {
    uint32_t* values;  // [numValues]: gaps, overwritten by DocIDs; 16-byte aligned
    uint32_t* sums;    // [tiles]: sum of each tile, overwritten by the sum of all earlier tiles
    uint32_t numValues;
    uint32_t numTiles;
};

// The sum of v up to this thread; all is the sum over the block.
__device__ __forceinline__ uint32_t scan_block(uint32_t v, uint32_t* sums, uint32_t& all) {
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t own = warp_inclusive_sum(v);
    if (decode_lane() == 31) {
        sums[warp] = own;
    }
    __syncthreads();
    uint32_t before = 0;
    all = 0;
#pragma unroll
    for (uint32_t w = 0; w < decodeWarps; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    __syncthreads();
    return before + own;
}

// 0 beyond the end.
__device__ __forceinline__ uint4 scan_load(const DecodeScanParams& p, uint32_t at) {
    if (at + 4 <= p.numValues) {
        return *reinterpret_cast<const uint4*>(p.values + at);
    }
    uint4 v = make_uint4(0, 0, 0, 0);
    if (at < p.numValues) {
        v.x = p.values[at];
    }
    if (at + 1 < p.numValues) {
        v.y = p.values[at + 1];
    }
    if (at + 2 < p.numValues) {
        v.z = p.values[at + 2];
    }
    return v;
}

/* Sums the gaps of each tile of 16 * decodeThreads values. Grid: a block for each tile. Block: decodeThreads threads.
 * Static shared memory: 16 bytes. Thread 0 writes the sum. */
GRIFFIN_KERNEL(decode_scan_tiles, DecodeScanParams, decodeThreads) {
    __shared__ uint32_t sums[decodeWarps];
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        const uint4 v = scan_load(p, blockIdx.x * scanTile + 4 * (k * decodeThreads + threadIdx.x));
        sum += v.x + v.y + v.z + v.w;
    }
    uint32_t all;
    scan_block(sum, sums, all);
    if (threadIdx.x == 0) {
        p.sums[blockIdx.x] = all;
    }
}

/* Replaces each tile's sum by the sum of all earlier tiles. Grid: one block. Block: decodeThreads threads. Static
 * shared memory: 16 bytes. */
GRIFFIN_KERNEL(decode_scan_sums, DecodeScanParams, decodeThreads) {
    __shared__ uint32_t sums[decodeWarps];
    uint32_t before = 0;
    for (uint32_t from = 0; from < p.numTiles; from += decodeThreads) {
        const uint32_t i = from + threadIdx.x;
        const uint32_t own = i < p.numTiles ? p.sums[i] : 0;
        uint32_t all;
        const uint32_t sum = scan_block(own, sums, all);
        if (i < p.numTiles) {
            p.sums[i] = before + sum - own;
        }
        before += all;
    }
}

/* Converts gaps to DocIDs; the first gap counts from -1. Grid, block and shared memory as in decode_scan_tiles. */
GRIFFIN_KERNEL(decode_scan_docids, DecodeScanParams, decodeThreads) {
    __shared__ uint32_t sums[decodeWarps];
    uint32_t before = p.sums[blockIdx.x] - 1;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t at = blockIdx.x * scanTile + 4 * (k * decodeThreads + threadIdx.x);
        uint4 v = scan_load(p, at);
        v.y += v.x;
        v.z += v.y;
        v.w += v.z;
        uint32_t all;
        v = decode_plus(v, before + scan_block(v.w, sums, all) - v.w);
        before += all;
        if (at + 4 <= p.numValues) {
            *reinterpret_cast<uint4*>(p.values + at) = v;
            continue;
        }
        if (at < p.numValues) {
            p.values[at] = v.x;
        }
        if (at + 1 < p.numValues) {
            p.values[at + 1] = v.y;
        }
        if (at + 2 < p.numValues) {
            p.values[at + 2] = v.z;
        }
    }
}
