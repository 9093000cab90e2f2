#include "decode.cuh"
#include "simdbp.cuh"

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
