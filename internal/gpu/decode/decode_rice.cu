#include "decode.cuh"
#include "unary.cuh"

// Blocks whose loads are in flight together.
constexpr uint32_t riceInFlight = 2;

// Unary numbers end with a zero bit in Rice, a one bit in Elias-Fano.
__device__ __forceinline__ UnaryBits rice_unary(const DecodeBytes& src, uint32_t bit) {
    const UnaryBits bits = unary_load(src, 0, bit);
    return UnaryBits{~bits.low, ~bits.high, bits.shift};
}

// Combines the parts of gaps less one. low: the binary parts. high: the count of one bits before each number's zero
// bit, already a prefix sum (ding09, §6.1). The first DocID comes from the directory.
template <DecodeWhat what>
__device__ __forceinline__ uint4 rice_finish(uint4 high, uint4 low, uint32_t width, uint32_t first) {
    if constexpr (what == decodeDocIDs) {
        const uint32_t xy = low.x + low.y;
        const uint32_t xyz = xy + low.z;
        const uint32_t all = xyz + low.w;
        const uint32_t sum = warp_inclusive_sum(all) - all + 4 * decode_lane();
        const uint4 v = make_uint4(sum + low.x + (high.x << width), sum + xy + (high.y << width) + 1,
                                   sum + xyz + (high.z << width) + 2, sum + all + (high.w << width) + 3);
        return decode_plus(v, first - __shfl_sync(decodeAllLanes, v.x, 0));
    }
    const uint4 own = decode_differences(high, 0);
    return make_uint4((own.x << width | low.x) + 1, (own.y << width | low.y) + 1, (own.z << width | low.z) + 1,
                      (own.w << width | low.w) + 1);
}

template <DecodeWhat what>
__device__ __forceinline__ void rice_tile(const DecodeTile& t, UnaryNumbers& first) {
    UnaryNumbers* numbers = &first;
    for (uint32_t k = 0; k < riceInFlight; k++) {
        unary_clear(numbers[k]);
    }
    __syncwarp();
    for (uint32_t from = 0; from < t.count; from += riceInFlight) {
        DecodeBlock blocks[riceInFlight];
        DecodeBytes bytes[riceInFlight];
        DecodeQuad quads[riceInFlight];
        UnaryBits unary[riceInFlight];
#pragma unroll
        for (uint32_t k = 0; k < riceInFlight; k++) {
            DecodeBlock& b = blocks[k];
            b = decode_block(t, min(from + k, t.count - 1));
            bytes[k] = decode_bytes(t, b);
            quads[k] = decode_load_quad(bytes[k], b.docWidth, 4 * decode_lane());
            unary[k] = rice_unary(bytes[k], b.n * b.docWidth);
        }
        // Separate loops, so that the sums of all blocks advance together.
        UnaryRank ranks[riceInFlight];
#pragma unroll
        for (uint32_t k = 0; k < riceInFlight; k++) {
            ranks[k] = unary_rank(unary[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < riceInFlight; k++) {
            unary_scatter(numbers[k], ranks[k]);
        }
        uint4 v[riceInFlight];
#pragma unroll
        for (uint32_t k = 0; k < riceInFlight; k++) {
            v[k] = decode_quad(quads[k], bytes[k], blocks[k].docWidth);
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < riceInFlight; k++) {
            v[k] = rice_finish<what>(unary_numbers(numbers[k]), v[k], blocks[k].docWidth, blocks[k].first);
        }
#pragma unroll
        for (uint32_t k = 0; k < riceInFlight; k++) {
            if (from + k < t.count) {
                decode_store(t, from + k, blocks[k].n, v[k]);
            }
        }
        __syncwarp();
    }
}

// Frequencies lie behind the DocIDs, which end at their last zero bit.
__device__ __forceinline__ void rice_freqs_tile(const DecodeTile& t, UnaryNumbers& numbers) {
    unary_clear(numbers);
    __syncwarp();
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        const DecodeBytes docs = decode_bytes(t, b);
        unary_find(numbers, rice_unary(docs, b.n * b.docWidth));
        __syncwarp();
        const uint32_t docBits = b.n * (b.docWidth + 1) + numbers.zeros[b.n - 1];
        __syncwarp();
        const DecodeBytes src = docs.behind((docBits + 7) / 8);
        const uint4 low = decode_unpack(src, b.freqWidth);
        unary_find(numbers, rice_unary(src, b.n * b.freqWidth));
        __syncwarp();
        const uint4 high = unary_numbers(numbers);
        decode_store(t, i, b.n, rice_finish<decodeFreqs>(high, low, b.freqWidth, 0));
        __syncwarp();
    }
}

/* Grid: a warp for each tile. Block: decodeThreads threads. Static shared memory: riceInFlight * 384 bytes per warp,
 * for frequencies 384. Lane l of the tile's warp writes values 4l to 4l+3 of each block. CPU reference: codec.Rice. */
#define DECODE_RICE_KERNEL(name, inFlight, tile)                                            \
    GRIFFIN_KERNEL_BLOCKS(decode_rice_##name, DecodeParams, decodeThreads, 10) {            \
        __shared__ UnaryNumbers numbers[decodeWarps][inFlight];                             \
        decode_tiles(p, [&](const DecodeTile& t) { tile(t, *numbers[threadIdx.x / 32]); }); \
    }

DECODE_RICE_KERNEL(docids, riceInFlight, rice_tile<decodeDocIDs>)
DECODE_RICE_KERNEL(gaps, riceInFlight, rice_tile<decodeGaps>)
DECODE_RICE_KERNEL(freqs, 1, rice_freqs_tile)
