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
template <DecodeWhat what>
__device__ __forceinline__ void ef_tile(const DecodeTile& t, UnaryNumbers* numbers) {
    for (uint32_t k = 0; k < efInFlight; k++) {
        unary_clear(numbers[k]);
    }
    __syncwarp();
    for (uint32_t from = 0; from < t.count; from += efInFlight) {
        DecodeBlock blocks[efInFlight];
        DecodeBytes bytes[efInFlight];
        DecodeQuad quads[efInFlight];
        UnaryBits unary[efInFlight];
#pragma unroll
        for (uint32_t k = 0; k < efInFlight; k++) {
            DecodeBlock& b = blocks[k];
            b = decode_block(t, min(from + k, t.count - 1));
            bytes[k] = decode_bytes(t, b);
            const uint32_t width = ef_low_width(b.docWidth);
            quads[k] = decode_load_quad(bytes[k], width);
            unary[k] = unary_load(bytes[k], b.n * width);
        }
        // One after another, so that the sums of all blocks advance side by side.
        UnaryRank ranks[efInFlight];
#pragma unroll
        for (uint32_t k = 0; k < efInFlight; k++) {
            ranks[k] = unary_rank(unary[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < efInFlight; k++) {
            unary_scatter(numbers[k], ranks[k]);
        }
        uint4 v[efInFlight];
#pragma unroll
        for (uint32_t k = 0; k < efInFlight; k++) {
            v[k] = decode_quad(quads[k], bytes[k], ef_low_width(blocks[k].docWidth));
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < efInFlight; k++) {
            const DecodeBlock& b = blocks[k];
            v[k] = ef_join(unary_numbers(numbers[k]), v[k], ef_low_width(b.docWidth));
            if (b.docWidth == 0) {
                v[k] = make_uint4(0, 0, 0, 0);
            }
            v[k] = ef_finish<what>(v[k], b.first);
        }
#pragma unroll
        for (uint32_t k = 0; k < efInFlight; k++) {
            if (from + k < t.count) {
                decode_store(t, from + k, blocks[k].n, v[k]);
            }
        }
        __syncwarp();
    }
}

// Forms of the frequencies of a block, by the width byte: see ef_freqs.go.
constexpr uint32_t efSums = 1;
constexpr uint32_t efPacked = 32;
constexpr uint32_t efExcess = 128;

// Decodes n numbers that do not fall, with width low bits each.
__device__ __forceinline__ uint4 ef_numbers(const DecodeBytes& src, uint32_t n, uint32_t width, UnaryNumbers& numbers) {
    const uint4 low = decode_unpack(src, width);
    unary_find(numbers, unary_load(src, n * width));
    __syncwarp();
    const uint4 all = ef_join(unary_numbers(numbers), low, width);
    __syncwarp();
    return all;
}

// Frequencies whose n - units are 1: each of the units above that is the number of the
// frequency that has it.
__device__ __forceinline__ uint4 ef_excess(const DecodeBytes& src, uint32_t n, uint32_t units, UnaryNumbers& numbers,
                                           uint32_t* counts) {
    const uint32_t at = 4 * decode_lane();
    uint32_t width = __clz(units) - __clz(n);  // floor(log2(n / units))
    if (units << width > n) {
        width--;
    }
    const uint4 owner = ef_numbers(src, units, width, numbers);
    *reinterpret_cast<uint4*>(counts + at) = make_uint4(1, 1, 1, 1);
    __syncwarp();
    const uint32_t owners[4] = {owner.x, owner.y, owner.z, owner.w};
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        if (at + k < units) {
            atomicAdd(counts + owners[k] % decodeBlockLen, 1u);
        }
    }
    __syncwarp();
    const uint4 freqs = *reinterpret_cast<const uint4*>(counts + at);
    __syncwarp();
    return freqs;
}

__device__ __forceinline__ uint4 ef_freqs(const DecodeBytes& src, uint32_t n, uint32_t form, UnaryNumbers& numbers,
                                          uint32_t* counts) {
    if (form == 0) {
        return make_uint4(1, 1, 1, 1);
    }
    if (form > efExcess) {
        return ef_excess(src, n, form - efExcess, numbers, counts);
    }
    if (form > efPacked) {
        return decode_plus(decode_unpack(src, form - efPacked), 1);
    }
    const uint4 sums = ef_numbers(src, n, form - efSums, numbers);
    return decode_plus(decode_differences(sums, 0), 1);
}

// The bytes that the DocIDs of a block take, of which the last is range above the one
// before the block: that says how many zero bits the unary part has.
__device__ __forceinline__ uint32_t ef_docs_size(const DecodeBlock& b, uint32_t range) {
    if (b.docWidth == 0) {
        return 0;
    }
    const uint32_t width = ef_low_width(b.docWidth);
    return (b.n * width + b.n + ((range - b.n) >> width) + 7) / 8;
}

/*
 * Kernels of this file. Grid: a warp for each tile. Block: decodeThreads threads. Static
 * shared memory: efInFlight * 768 bytes a warp, for frequencies 768 + 512. Lane l of
 * the tile's warp writes values 4l to 4l+3 of each block. CPU reference: codec.EF.
 */
GRIFFIN_KERNEL(decode_ef_docids, DecodeParams, 256) {
    __shared__ UnaryNumbers numbers[decodeWarps][efInFlight];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL(decode_ef_gaps, DecodeParams, 256) {
    __shared__ UnaryNumbers numbers[decodeWarps][efInFlight];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeGaps>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL(decode_ef_freqs, DecodeParams, 256) {
    __shared__ UnaryNumbers numbers[decodeWarps];
    __shared__ __align__(16) uint32_t counts[decodeWarps][decodeBlockLen];
    const uint32_t warp = threadIdx.x / 32;
    DecodeTile t;
    if (!decode_tile(p, t)) {
        return;
    }
    unary_clear(numbers[warp]);
    __syncwarp();
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        const DecodeBytes src = decode_bytes(t, b).behind(ef_docs_size(b, decode_last(t, i) - decode_base(t, i)));
        decode_store(t, i, b.n, ef_freqs(src, b.n, b.freqWidth, numbers[warp], counts[warp]));
    }
}
