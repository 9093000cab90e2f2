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
template <DecodeWhat what>
__device__ __forceinline__ void simdbp_tile(const DecodeTile& t) {
    for (uint32_t from = 0; from < t.count; from += simdbpInFlight) {
        DecodeBlock blocks[simdbpInFlight];
        DecodeBytes bytes[simdbpInFlight];
        DecodeQuad quads[simdbpInFlight];
        uint32_t widths[simdbpInFlight];
#pragma unroll
        for (uint32_t k = 0; k < simdbpInFlight; k++) {
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
        uint4 v[simdbpInFlight];
#pragma unroll
        for (uint32_t k = 0; k < simdbpInFlight; k++) {
            v[k] = decode_quad(quads[k], bytes[k], widths[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < simdbpInFlight; k++) {
            v[k] = simdbp_finish<what>(v[k], blocks[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < simdbpInFlight; k++) {
            if (from + k < t.count) {
                decode_store(t, from + k, blocks[k].n, v[k]);
            }
        }
    }
}

// Codec raw: 4 bytes a value. Blocks are 16-byte aligned but for the frequencies of a
// list's last one.
template <DecodeWhat what>
__device__ __forceinline__ void raw_tile(const DecodeTile& t) {
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        const DecodeBytes bytes = decode_bytes(t, b).behind(what == decodeFreqs ? 4 * b.n : 0);
        const uint32_t at = 4 * decode_lane();
        uint4 v = make_uint4(bytes.word(at), bytes.word(at + 1), bytes.word(at + 2), bytes.word(at + 3));
        if constexpr (what == decodeGaps) {
            v = decode_differences(v, decode_base(t, i));
        }
        decode_store(t, i, b.n, v);
    }
}

/*
 * Kernels of this file. Grid: a warp for each tile. Block: decodeThreads threads. No
 * shared memory. Lane l of the tile's warp writes values 4l to 4l+3 of each block.
 * CPU reference: codec.SIMDBP and codec.Raw. Localised prefix sums and gaps alone: Ding
 * et al., WWW 2009, §6.1 and Figure 4.
 */
#define DECODE_KERNELS(codec)                                    \
    GRIFFIN_KERNEL(decode_##codec##_docids, DecodeParams, 256) { \
        DecodeTile t;                                            \
        if (decode_tile(p, t)) codec##_tile<decodeDocIDs>(t);    \
    }                                                            \
    GRIFFIN_KERNEL(decode_##codec##_gaps, DecodeParams, 256) {   \
        DecodeTile t;                                            \
        if (decode_tile(p, t)) codec##_tile<decodeGaps>(t);      \
    }                                                            \
    GRIFFIN_KERNEL(decode_##codec##_freqs, DecodeParams, 256) {  \
        DecodeTile t;                                            \
        if (decode_tile(p, t)) codec##_tile<decodeFreqs>(t);     \
    }

DECODE_KERNELS(simdbp)
DECODE_KERNELS(raw)
