#pragma once

#include "decode.cuh"

// Blocks whose loads are in flight together.
constexpr uint32_t simdbpInFlight = 2;

template <DecodeWhat what>
__device__ __forceinline__ uint4 simdbp_finish(uint4 v, const DecodeBlock& b) {
    if constexpr (what == decodeDocIDs) {
        return decode_sum(v, b.first);
    }
    return decode_plus(v, 1);
}

template <DecodeWhat what, bool whole, uint32_t inFlight>
__device__ __forceinline__ void simdbp_blocks(const DecodeTile& t, uint32_t from) {
    DecodeBlock blocks[inFlight];
    DecodeQuad quads[inFlight];
    uint32_t widths[inFlight];
    const auto bytes = [&](uint32_t k) {
        if constexpr (whole) {
            return decode_bytes_inside(t, blocks[k]);
        } else {
            return decode_bytes(t, blocks[k]);
        }
    };
    const auto place = [&](uint32_t k) {
        if constexpr (what == decodeFreqs) {
            return bytes(k).behind(decode_packed_size(blocks[k].n, blocks[k].docWidth));
        } else {
            return bytes(k);
        }
    };
#pragma unroll
    for (uint32_t k = 0; k < inFlight; k++) {
        blocks[k] = decode_block(t, from + k);
        if constexpr (whole) {
            blocks[k].n = decodeBlockLen;
        }
        widths[k] = what == decodeFreqs ? blocks[k].freqWidth : blocks[k].docWidth;
        quads[k] = decode_load_quad(place(k), widths[k], 4 * decode_lane());
    }
    // Separate loops, so that the sums of all blocks advance together.
    uint4 v[inFlight];
#pragma unroll
    for (uint32_t k = 0; k < inFlight; k++) {
        v[k] = decode_quad(quads[k], place(k), widths[k]);
    }
#pragma unroll
    for (uint32_t k = 0; k < inFlight; k++) {
        v[k] = simdbp_finish<what>(v[k], blocks[k]);
    }
#pragma unroll
    for (uint32_t k = 0; k < inFlight; k++) {
        decode_store(t, from + k, blocks[k].n, v[k]);
    }
}

// Value i of a block lies at bit i * width, so a lane unpacks its values with three loads, and a warp sums the block in
// five steps.
template <DecodeWhat what, uint32_t inFlight = simdbpInFlight>
__device__ __forceinline__ void simdbp_tile(const DecodeTile& t) {
    decode_prefetch(t);
    uint32_t from = 0;
    if (decode_inside<what>(t)) {
#pragma unroll 1
        for (; from + inFlight <= t.count; from += inFlight) {
            simdbp_blocks<what, true, inFlight>(t, from);
        }
    }
#pragma unroll 1
    for (; from < t.count; from++) {
        simdbp_blocks<what, false, 1>(t, from);
    }
}
