// DocIDs of codec ef: Para-EF.

#pragma once

#include "decode.cuh"
#include "unary.cuh"

// Blocks whose loads are all asked for before the first is waited for.
constexpr uint32_t efInFlight = 2;

__device__ __forceinline__ uint4 ef_join(uint4 high, uint4 low, uint32_t width) {
    return make_uint4(high.x << width | low.x, high.y << width | low.y, high.z << width | low.z,
                      high.w << width | low.w);
}

// Low bits of a width byte of DocIDs: it is one more, or 0 where no DocID is left out.
__device__ __forceinline__ uint32_t ef_low_width(uint32_t docWidth) {
    return docWidth == 0 ? 0 : docWidth - 1;
}

// Para-EF: Liu, Wang and Swanson, PPoPP 2018, §3.1.1, Algorithm 1. Decodes inFlight
// blocks of a tile. whole says that decode_inside does. Blocks do not wait for those
// before, because the directory has the DocIDs on which they go on.
template <DecodeWhat what, bool whole, uint32_t inFlight>
__device__ __forceinline__ void ef_blocks(const DecodeTile& t, uint32_t from, UnaryNumbers* numbers) {
    DecodeQuad quads[inFlight];
    UnaryBits unary[inFlight];
    uint32_t bytes[inFlight];  // the width byte
    uint32_t n = decodeBlockLen;
#pragma unroll
    for (uint32_t k = 0; k < inFlight; k++) {
        const DecodeBlock b = decode_block(t, from + k);
        bytes[k] = b.docWidth;
        const uint32_t width = ef_low_width(b.docWidth);
        if constexpr (whole) {
            const DecodeInside src = decode_bytes_inside(t, b);
            quads[k] = decode_load_quad(src, width, 4 * decode_lane());
            unary[k] = unary_load(src, decodeBlockLen / 32 * width, 0);
        } else {
            const DecodeBytes src = decode_bytes(t, b);
            n = b.n;
            quads[k] = decode_load_quad(src, width, 4 * decode_lane());
            unary[k] = unary_load(src, 0, n * width);
        }
    }
    UnaryRank ranks[inFlight];
    if constexpr (inFlight == 1) {
        ranks[0] = unary_rank(unary[0]);
    } else {
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k += 2) {
            unary_rank_two(unary[k], unary[k + 1], ranks[k], ranks[k + 1]);
        }
    }
#pragma unroll
    for (uint32_t k = 0; k < inFlight; k++) {
        unary_scatter(numbers[k], ranks[k]);
    }
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < inFlight; k++) {
        const uint32_t width = ef_low_width(bytes[k]);
        uint4 low;
        if constexpr (whole) {
            low = decode_quad_of(quads[k], width, [&](uint32_t i) {
                const uint32_t offset = __shfl_sync(decodeAllLanes, t.entry, 4 * (from + k) + 2);
                return __ldg(t.list.payload + (offset >> 2) + i);
            });
        } else {
            low = decode_quad(quads[k], decode_bytes(t, decode_block(t, from + k)), width);
        }
        const uint32_t unit = shift_left(1, bytes[k] - 1);  // 0 where no DocID is left out: zeros count for nothing
        const uint4 zeros = unary_numbers(numbers[k]);
        const uint32_t base = decode_base(t, from + k);
        const uint32_t at = base + 1 + 4 * decode_lane();
        uint4 v = make_uint4(zeros.x * unit + low.x + at, zeros.y * unit + low.y + at + 1,
                             zeros.z * unit + low.z + at + 2, zeros.w * unit + low.w + at + 3);
        if constexpr (what == decodeGaps) {
            v = decode_differences(v, base);
        }
        decode_store(t, from + k, n, v);
    }
    __syncwarp();
}

template <DecodeWhat what, uint32_t inFlight = efInFlight>
__device__ __forceinline__ void ef_tile(const DecodeTile& t, UnaryNumbers* numbers) {
    decode_prefetch(t);
    unary_clear(numbers[0]);
    __syncwarp();
    uint32_t from = 0;
    if (decode_inside<what>(t)) {
#pragma unroll 1
        for (; from + inFlight <= t.count; from += inFlight) {
            ef_blocks<what, true, inFlight>(t, from, numbers);
        }
    }
#pragma unroll 1
    for (; from < t.count; from++) {
        ef_blocks<what, false, 1>(t, from, numbers);
    }
}
