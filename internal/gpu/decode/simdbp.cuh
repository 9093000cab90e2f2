// Codec simdbp: bit packing.

#pragma once

#include "decode.cuh"

// Blocks whose loads are all asked for before the first is waited for.
constexpr uint32_t simdbpInFlight = 4;

template <DecodeWhat what>
__device__ __forceinline__ uint4 simdbp_finish(uint4 v, const DecodeBlock& b) {
    if constexpr (what == decodeDocIDs) {
        return decode_sum(v, b.first);
    }
    return decode_plus(v, 1);
}

// Bit packing: value i of a block lies at bit i * width, so that a warp takes a block
// apart with three loads a lane, and sums it up in five steps.
template <DecodeWhat what, uint32_t inFlight = simdbpInFlight>
__device__ __forceinline__ void simdbp_tile(const DecodeTile& t) {
    for (uint32_t from = 0; from < t.count; from += inFlight) {
        DecodeBlock blocks[inFlight];
        DecodeBytes bytes[inFlight];
        DecodeQuad quads[inFlight];
        uint32_t widths[inFlight];
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            DecodeBlock& b = blocks[k];
            b = decode_block(t, min(from + k, t.count - 1));
            bytes[k] = decode_bytes(t, b);
            widths[k] = b.docWidth;
            if constexpr (what == decodeFreqs) {
                bytes[k] = bytes[k].behind(decode_packed_size(b.n, b.docWidth));
                widths[k] = b.freqWidth;
            }
            quads[k] = decode_load_quad(bytes[k], widths[k]);
        }
        // One after another, so that the sums of all blocks advance side by side.
        uint4 v[inFlight];
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            v[k] = decode_quad(quads[k], bytes[k], widths[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            v[k] = simdbp_finish<what>(v[k], blocks[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < inFlight; k++) {
            if (from + k < t.count) {
                decode_store(t, from + k, blocks[k].n, v[k]);
            }
        }
    }
}
