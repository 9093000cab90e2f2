#include "decode.cuh"
#include "simdbp.cuh"

// Codec raw: 4 bytes per value. Blocks are 16-byte aligned, except the
// frequencies of a list's last block.
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

/* decode_simdbp_*_one are for a single list. Grid: a warp for each tile. Block: decodeThreads threads, 12 blocks per
 * multiprocessor, which allows 40 registers per thread. No shared memory. Lane l of the tile's warp writes values 4l to
 * 4l+3 of each block. CPU reference: codec.SIMDBP and codec.Raw. Localised prefix sums and gaps alone: Ding et al., WWW
 * 2009, §6.1 and Figure 4. */
#define DECODE_KERNEL(name, one, tile)                                      \
    GRIFFIN_KERNEL_BLOCKS(decode_##name, DecodeParams, decodeThreads, 12) { \
        decode_tiles<one>(p, [&](const DecodeTile& t) { tile(t); });        \
    }

DECODE_KERNEL(simdbp_docids, false, simdbp_tile<decodeDocIDs>)
DECODE_KERNEL(simdbp_gaps, false, simdbp_tile<decodeGaps>)
DECODE_KERNEL(simdbp_freqs, false, simdbp_tile<decodeFreqs>)
DECODE_KERNEL(simdbp_docids_one, true, simdbp_tile<decodeDocIDs>)
DECODE_KERNEL(simdbp_gaps_one, true, simdbp_tile<decodeGaps>)
DECODE_KERNEL(simdbp_freqs_one, true, simdbp_tile<decodeFreqs>)
DECODE_KERNEL(raw_docids, false, raw_tile<decodeDocIDs>)
DECODE_KERNEL(raw_gaps, false, raw_tile<decodeGaps>)
DECODE_KERNEL(raw_freqs, false, raw_tile<decodeFreqs>)
