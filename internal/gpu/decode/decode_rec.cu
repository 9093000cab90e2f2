#include "decode.cuh"

// An array inside a list of codec pfordelta-rec: the list's gaps, or the offsets or uppers of another array's
// exceptions. Mirror of RecArray; positions are bytes of payload.
struct RecArray {
    const uint32_t* payload;
    const uint32_t* offsets;  // [exceptions], already decoded; null: plain numbers in the payload
    const uint32_t* uppers;   // same as offsets
    uint32_t* out;            // [n], 16-byte aligned; null for the list's gaps
    uint64_t slots, starts;   // starts: the entry of block 1; further entries follow every startStride bytes
    uint64_t wholeOffsets, wholeUppers;
    uint32_t n, exceptions;
    uint32_t width;       // bits per slot
    uint32_t blockTiles;  // units of 128 values per block
    uint32_t startStride;
    uint32_t wholeSizes;  // bytes per plain offset; shifted by 8 bits, bytes per plain upper number
    uint32_t firstTile;
    uint32_t payloadWords;
};

// Mirror of recParams.
struct DecodeRecParams {
    const RecArray* arrays;
    uint32_t numArrays;
    uint32_t numTiles;
};

__device__ __forceinline__ DecodeBytes rec_bytes(const RecArray& a, uint64_t at) {
    return DecodeBytes{a.payload, a.payloadWords - 1, static_cast<uint32_t>(at >> 2),
                       static_cast<uint32_t>(at & 3) * 8};
}

// Exceptions before a block.
__device__ __forceinline__ uint32_t rec_start(const RecArray& a, uint32_t block) {
    if (block == 0) {
        return 0;
    }
    if (block * a.blockTiles * uint64_t{decodeBlockLen} >= a.n) {
        return a.exceptions;
    }
    return min(rec_bytes(a, a.starts + uint64_t{a.startStride} * (block - 1)).number(0, 32), a.exceptions);
}

// Of an array that is decoded or stored as plain numbers.
__device__ __forceinline__ uint32_t rec_number(const RecArray& a, const uint32_t* decoded, uint64_t whole,
                                               uint32_t size, uint32_t i) {
    if (decoded != nullptr) {
        return decoded[i];
    }
    return rec_bytes(a, whole + uint64_t{size} * i).number(0, 8 * size);
}

// Returns values 4*lane to 4*lane+3 of a tile; values is the warp's memory. Ding et al., WWW 2009, §6.2: the lower bits
// of all values, plus the upper bits of the exceptions at the positions given by the offsets. A position is the sum of
// all preceding offsets of the block; a warp sums 32 at a time.
__device__ __forceinline__ uint4 rec_values(const RecArray& a, uint32_t tile, uint32_t* values) {
    const uint4 low = decode_unpack(rec_bytes(a, a.slots + uint64_t{decodeBlockLen / 8} * a.width * tile), a.width);
    const uint32_t block = tile / a.blockTiles;
    const uint32_t begin = a.exceptions == 0 ? 0 : rec_start(a, block);
    const uint32_t end = a.exceptions == 0 ? 0 : rec_start(a, block + 1);
    if (begin >= end) {
        return low;
    }
    uint4* mine = reinterpret_cast<uint4*>(values + 4 * decode_lane());
    *mine = make_uint4(0, 0, 0, 0);
    __syncwarp();
    const uint32_t from = (tile - block * a.blockTiles) * decodeBlockLen;
    uint32_t before = 0;  // position behind the previous exception, in the block
    for (uint32_t e = begin; e < end && before < from + decodeBlockLen; e += 32) {
        const uint32_t i = e + decode_lane();
        const uint32_t step = i < end ? rec_number(a, a.offsets, a.wholeOffsets, a.wholeSizes & 0xff, i) + 1 : 0;
        const uint32_t behind = before + warp_inclusive_sum(step);
        const uint32_t place = behind - 1 - from;
        if (i < end && place < decodeBlockLen) {
            atomicOr(values + place, (rec_number(a, a.uppers, a.wholeUppers, a.wholeSizes >> 8, i) + 1) << a.width);
        }
        before = __shfl_sync(decodeAllLanes, behind, 31);
    }
    __syncwarp();
    const uint4 upper = *mine;
    __syncwarp();
    return make_uint4(low.x + upper.x, low.y + upper.y, low.z + upper.z, low.w + upper.w);
}

/*
 * Decodes arrays of exceptions whose own exceptions are already decoded. Grid:
 * a warp for each tile of 128 values. Block: decodeThreads threads. Static
 * shared memory: 512 bytes per warp. Lane l of a warp writes values 4l to 4l+3
 * of its tile; the last write may exceed the array's end, up to a multiple of
 * 4. CPU reference: codec.PForDeltaRec.
 */
GRIFFIN_KERNEL(decode_rec_arrays, DecodeRecParams, decodeThreads) {
    __shared__ __align__(16) uint32_t values[decodeWarps][decodeBlockLen];
    const uint32_t tile = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (tile >= p.numTiles) {
        return;
    }
    const RecArray a = p.arrays[decode_find(p.arrays, p.numArrays, tile)];
    const uint32_t own = tile - a.firstTile;
    const uint4 v = rec_values(a, own, values[threadIdx.x / 32]);
    const uint32_t at = own * decodeBlockLen + 4 * decode_lane();
    if (at < a.n) {
        *reinterpret_cast<uint4*>(a.out + at) = v;
    }
}

// Frequencies, and lists of one block: arrays of up to 128 values whose only parameters precede them.

constexpr uint32_t recExceptions = 64;
constexpr uint32_t recMaxDepth = 4;

// A block's values, and the offsets and uppers of each level.
struct RecMemory {
    uint32_t values[decodeBlockLen];
    uint32_t exceptions[recMaxDepth][2][decodeBlockLen];
};

// Adds upper(i) at the position given by the offsets up to offset(i), for n exceptions.
template <class Offset, class Upper>
__device__ __forceinline__ void rec_patch(uint32_t* values, uint32_t n, uint32_t width, Offset offset, Upper upper) {
    uint32_t before = 0;
    for (uint32_t e = 0; e < n; e += 32) {
        const uint32_t i = e + decode_lane();
        const uint32_t behind = before + warp_inclusive_sum(i < n ? offset(i) + 1 : 0);
        if (i < n) {
            atomicAdd(values + (behind - 1) % decodeBlockLen, (upper(i) + 1) << (width & 31));
        }
        before = __shfl_sync(decodeAllLanes, behind, 31);
    }
    __syncwarp();
}

// Decodes an array of n values, after its first byte, and returns its end. memory is for deeper levels.
template <uint32_t depth>
__device__ __forceinline__ DecodeBytes rec_block(DecodeBytes src, uint32_t n, uint32_t first, uint32_t* values,
                                                 uint32_t (*memory)[2][decodeBlockLen]) {
    const uint32_t width = min(first & (recExceptions - 1), 32u);
    uint32_t exceptions = 0;
    uint32_t sizes = 0;
    if (first >= recExceptions) {
        const uint32_t head = src.number(0, 24);  // a varint of 1 or 2 bytes, and the sizes
        const bool two = (head & 0x80) != 0;
        exceptions = two ? (head & 0x7f) | (head >> 8 & 0xff) << 7 : head & 0x7f;
        sizes = two ? head >> 16 : head >> 8 & 0xff;
        exceptions = min(exceptions, n);
        src = src.behind((two ? 2 : 1) + (depth == 0 ? 1 : 0));
    }
    *reinterpret_cast<uint4*>(values + 4 * decode_lane()) = decode_unpack(src, width);
    __syncwarp();
    src = src.behind(decode_packed_size(n, width));
    if (exceptions == 0) {
        return src;
    }
    if constexpr (depth == 0) {
        const uint32_t offsetSize = 1u << min(sizes >> 2 & 3, 2u);
        const uint32_t upperSize = 1u << min(sizes & 3, 2u);
        const DecodeBytes uppers = src.behind(exceptions * offsetSize);
        rec_patch(
            values, exceptions, width, [&](uint32_t i) { return src.number(8 * offsetSize * i, 8 * offsetSize); },
            [&](uint32_t i) { return uppers.number(8 * upperSize * i, 8 * upperSize); });
        return uppers.behind(exceptions * upperSize);
    } else {
#pragma unroll 1
        for (uint32_t k = 0; k < 2; k++) {
            src = rec_block<depth - 1>(src.behind(1), exceptions, src.byte(0), memory[0][k], memory + 1);
        }
        rec_patch(
            values, exceptions, width, [&](uint32_t i) { return memory[0][0][i]; },
            [&](uint32_t i) { return memory[0][1][i]; });
        return src;
    }
}

static __device__ __noinline__ DecodeBytes rec_block_of(uint32_t depth, const DecodeBytes& src, uint32_t n,
                                                        uint32_t first, RecMemory& memory) {
    switch (depth) {
        case 0:
            return rec_block<0>(src, n, first, memory.values, memory.exceptions);
        case 1:
            return rec_block<1>(src, n, first, memory.values, memory.exceptions);
        case 2:
            return rec_block<2>(src, n, first, memory.values, memory.exceptions);
        case 3:
            return rec_block<3>(src, n, first, memory.values, memory.exceptions);
        default:
            return rec_block<4>(src, n, first, memory.values, memory.exceptions);
    }
}

__device__ __forceinline__ uint4 rec_result(RecMemory& memory) {
    const uint4 v = *reinterpret_cast<const uint4*>(memory.values + 4 * decode_lane());
    __syncwarp();
    return v;
}

// Whole lists, whose array DecodeList.side points to.
template <DecodeWhat what>
__device__ __forceinline__ void rec_tile(const DecodeTile& t, RecMemory& memory, uint32_t depth) {
    const RecArray* side = reinterpret_cast<const RecArray*>(t.list.side);
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        uint4 v;
        if (side != nullptr) {
            v = rec_values(*side, decode_number(t, i), memory.values);
        } else {  // a list of one block
            rec_block_of(depth, decode_bytes(t, b), b.n, b.docWidth, memory);
            v = rec_result(memory);
        }
        decode_store(t, i, b.n, what == decodeDocIDs ? decode_sum(v, b.first) : decode_plus(v, 1));
    }
}

// They lie behind the gaps in a list of one block.
__device__ __forceinline__ void rec_freqs_tile(const DecodeTile& t, RecMemory& memory, uint32_t depth) {
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        DecodeBytes src = decode_bytes(t, b);
        if (t.list.side == nullptr) {
            src = rec_block_of(depth, src, b.n, b.docWidth, memory);
        }
        rec_block_of(depth, src, b.n, b.freqWidth, memory);
        decode_store(t, i, b.n, decode_plus(rec_result(memory), 1));
    }
}

/* Grid: a warp for each tile. Block: decodeThreads threads. Static shared memory: 4,608 bytes per warp.
 * DecodeParams.option is the depth of blocks. Lane l of the tile's warp writes values 4l to 4l+3 of each block. CPU
 * reference: codec.PForDeltaRec. */
#define DECODE_REC_KERNEL(name, tile)                                                               \
    GRIFFIN_KERNEL_BLOCKS(decode_rec_##name, DecodeParams, decodeThreads, 8) {                      \
        __shared__ __align__(16) RecMemory memory[decodeWarps];                                     \
        decode_tiles(p, [&](const DecodeTile& t) { tile(t, memory[threadIdx.x / 32], p.option); }); \
    }

DECODE_REC_KERNEL(docids, rec_tile<decodeDocIDs>)
DECODE_REC_KERNEL(gaps, rec_tile<decodeGaps>)
DECODE_REC_KERNEL(freqs, rec_freqs_tile)
