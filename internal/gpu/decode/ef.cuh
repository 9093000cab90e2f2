// DocIDs of codec ef: Para-EF.

#pragma once

#include "decode.cuh"
#include "unary.cuh"

// Blocks whose loads are all asked for before the first is waited for.
constexpr uint32_t efInFlight = 4;

__device__ __forceinline__ uint4 ef_join(uint4 high, uint4 low, uint32_t width) {
    return make_uint4(high.x << width | low.x, high.y << width | low.y, high.z << width | low.z,
                      high.w << width | low.w);
}

// Low bits of a width byte of DocIDs: it is one more, or 0 where no DocID is left out.
__device__ __forceinline__ uint32_t ef_low_width(uint32_t docWidth) {
    return docWidth == 0 ? 0 : docWidth - 1;
}

// Makes DocIDs, or gaps, of how many DocIDs are left out before each. The first DocID
// is the directory's, so that blocks do not wait for those before.
template <DecodeWhat what>
__device__ __forceinline__ uint4 ef_finish(uint4 left, uint32_t first) {
    const uint32_t before = first - __shfl_sync(decodeAllLanes, left.x, 0);
    const uint32_t at = before + 4 * decode_lane();
    const uint4 docIDs = make_uint4(at + left.x, at + left.y + 1, at + left.z + 2, at + left.w + 3);
    if constexpr (what == decodeDocIDs) {
        return docIDs;
    }
    return decode_differences(docIDs, before - 1);
}

// Para-EF: Liu, Wang and Swanson, PPoPP 2018, §3.1.1, Algorithm 1.
template <DecodeWhat what, uint32_t inFlight = efInFlight>
__device__ __forceinline__ void ef_tile(const DecodeTile& t, UnaryNumbers* numbers) {
    for (uint32_t k = 0; k < inFlight; k++) {
        unary_clear(numbers[k]);
    }
    __syncwarp();
    for (uint32_t from = 0; from < t.count; from += inFlight) {
        DecodeBlock blocks[inFlight];
        DecodeBytes bytes[inFlight];
        DecodeQuad quads[inFlight];
        UnaryBits unary[inFlight];
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            DecodeBlock& b = blocks[k];
            b = decode_block(t, min(from + k, t.count - 1));
            bytes[k] = decode_bytes(t, b);
            const uint32_t width = ef_low_width(b.docWidth);
            quads[k] = decode_load_quad(bytes[k], width);
            unary[k] = unary_load(bytes[k], b.n * width);
        }
        // One after another, so that the sums of all blocks advance side by side.
        UnaryRank ranks[inFlight];
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            ranks[k] = unary_rank(unary[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            unary_scatter(numbers[k], ranks[k]);
        }
        uint4 v[inFlight];
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            v[k] = decode_quad(quads[k], bytes[k], ef_low_width(blocks[k].docWidth));
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            const DecodeBlock& b = blocks[k];
            v[k] = ef_join(unary_numbers(numbers[k]), v[k], ef_low_width(b.docWidth));
            if (b.docWidth == 0) {
                v[k] = make_uint4(0, 0, 0, 0);
            }
            v[k] = ef_finish<what>(v[k], b.first);
        }
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            if (from + k < t.count) {
                decode_store(t, from + k, blocks[k].n, v[k]);
            }
        }
        __syncwarp();
    }
}
