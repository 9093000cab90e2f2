#include "decode.cuh"
#include "ef.cuh"
#include "unary.cuh"

// Forms of the frequencies of a block, from the width byte: see ef_freqs.go.
constexpr uint32_t efSums = 1;
constexpr uint32_t efPacked = 32;
constexpr uint32_t efExcess = 128;

// Non-decreasing numbers with width low bits each.
__device__ __forceinline__ uint4 ef_numbers(const DecodeBytes& src, uint32_t n, uint32_t width, UnaryNumbers& numbers) {
    const uint4 low = decode_unpack(src, width);
    unary_find(numbers, unary_load(src, 0, n * width));
    __syncwarp();
    const uint4 all = ef_join(unary_numbers(numbers), low, width);
    __syncwarp();
    return all;
}

// Frequencies of a block in which n - units are 1; each of the units above that is stored as the index of its posting.
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

// Bytes of a block's DocIDs. range, its last DocID minus the DocID before the block, gives the number of zero bits.
__device__ __forceinline__ uint32_t ef_docs_size(const DecodeBlock& b, uint32_t range) {
    if (b.docWidth == 0) {
        return 0;
    }
    const uint32_t width = ef_low_width(b.docWidth);
    return (b.n * width + b.n + ((range - b.n) >> width) + 7) / 8;
}

// Frequencies lie behind the DocIDs.
__device__ __forceinline__ void ef_freqs_tile(const DecodeTile& t, UnaryNumbers& numbers, uint32_t* counts) {
    unary_clear(numbers);
    __syncwarp();
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        const DecodeBytes src = decode_bytes(t, b).behind(ef_docs_size(b, decode_last(t, i) - decode_base(t, i)));
        decode_store(t, i, b.n, ef_freqs(src, b.n, b.freqWidth, numbers, counts));
    }
}

/* decode_ef_*_one are for a single list. Grid: a warp for each tile. Block: decodeThreads threads, 10 blocks per
 * multiprocessor, which allows 48 registers per thread. Static shared memory: 1,088 bytes per warp, for frequencies 384
 * + 512. Lane l of the tile's warp writes values 4l to 4l+3 of each block. CPU reference: codec.EF. */
#define DECODE_EF_KERNEL(name, one, what)                                      \
    GRIFFIN_KERNEL_BLOCKS(decode_ef_##name, DecodeParams, decodeThreads, 10) { \
        __shared__ EfRoom rooms[decodeWarps];                                  \
        DecodeTile t;                                                          \
        if (decode_place<one, one>(p, t)) {                                    \
            ef_tile<what, one>(t, rooms[threadIdx.x / 32]);                    \
        }                                                                      \
    }
#define DECODE_EF_FREQS(name, one)                                                                         \
    GRIFFIN_KERNEL_BLOCKS(decode_ef_##name, DecodeParams, decodeThreads, 10) {                             \
        __shared__ UnaryNumbers numbers[decodeWarps];                                                      \
        __shared__ __align__(16) uint32_t counts[decodeWarps][decodeBlockLen];                             \
        const uint32_t warp = threadIdx.x / 32;                                                            \
        decode_tiles<one>(p, [&](const DecodeTile& t) { ef_freqs_tile(t, numbers[warp], counts[warp]); }); \
    }

DECODE_EF_KERNEL(docids, false, decodeDocIDs)
DECODE_EF_KERNEL(gaps, false, decodeGaps)
DECODE_EF_FREQS(freqs, false)
DECODE_EF_KERNEL(docids_one, true, decodeDocIDs)
DECODE_EF_KERNEL(gaps_one, true, decodeGaps)
DECODE_EF_FREQS(freqs_one, true)
