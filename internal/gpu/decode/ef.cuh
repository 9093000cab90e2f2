// Para-EF.

#pragma once

#include "decode.cuh"
#include "unary.cuh"

// Blocks whose loads are in flight together.
constexpr uint32_t efInFlight = 2;

// Prefetch distance in a long tile.
constexpr uint32_t efAhead = 2;

constexpr uint32_t efTileBlocks = 16;

// Maximum low bits for which four DocIDs, at any position, lie in two words.
constexpr uint32_t efNarrow = 8;

// Payload words whose bits have 32-bit numbers.
constexpr uint32_t efBitWords = 1u << 27;

// Words read behind the low bits of a block: the unary part, which begins in mid-word, and words that are not used.
constexpr uint32_t efBehindWords = unaryBits / 32 + 2;

struct __align__(16) EfBlock {
    uint32_t offset;  // bytes
    uint32_t width;   // low bits per DocID
    uint32_t first;   // DocID before the block plus 1: the smallest possible first DocID
    uint32_t unit;    // value of a zero bit: 1 << width, or 0 if the block has no missing DocIDs
};

struct EfRoom {
    DecodeList list;  // of a batch, for ef_any; in registers it would use too many
    EfBlock blocks[efTileBlocks];
    UnaryNumbers numbers[efInFlight];
};

struct EfTile {
    uint32_t inside;  // number of leading blocks that are full, have valid widths and satisfy DecodeInside
    bool narrow;      // all have at most efNarrow low bits
};

__device__ __forceinline__ uint4 ef_join(uint4 high, uint4 low, uint32_t width) {
    return make_uint4(high.x << width | low.x, high.y << width | low.y, high.z << width | low.z,
                      high.w << width | low.w);
}

// One less than the width byte, or 0 if the block has no missing DocIDs.
__device__ __forceinline__ uint32_t ef_low_width(uint32_t docWidth) {
    return docWidth == 0 ? 0 : docWidth - 1;
}

// In the list.
__device__ __forceinline__ uint32_t ef_number(const DecodeTile& t, uint32_t i) {
    return t.list.selected == nullptr ? t.slot + i : __ldg(t.list.selected + t.slot + i);
}

// One lane per block. The caller must call __syncwarp afterwards.
__device__ __forceinline__ EfTile ef_load(const DecodeTile& t, EfBlock* blocks) {
    const uint32_t lane = decode_lane();
    bool inside = true;
    bool narrow = true;
    if (lane < t.count) {
        const uint32_t number = ef_number(t, lane);
        const uint32_t* entry = t.list.directory + size_t{4} * number;
        const uint32_t first = number == 0 ? 0 : __ldg(entry - 3) + 1;
        const uint32_t offset = __ldg(entry + 2);
        const uint32_t docWidth = __ldg(entry + 3) >> 16 & 0xff;
        blocks[lane] = EfBlock{offset, ef_low_width(docWidth), first, shift_left(1, docWidth - 1)};
        constexpr uint32_t widest = 33;
        const uint32_t words = min(t.list.payloadWords, efBitWords);
        const uint32_t end = (offset >> 2) + decodeBlockLen / 32 * docWidth + efBehindWords;
        inside = docWidth <= widest && t.list.numPostings - number * decodeBlockLen >= decodeBlockLen && end <= words;
        narrow = docWidth <= efNarrow + 1;
    }
    const uint32_t outside = __ballot_sync(decodeAllLanes, !inside);
    return EfTile{outside == 0 ? t.count : __ffs(outside) - 1u, __all_sync(decodeAllLanes, narrow) != 0};
}

// Prefetches blocks i and i+1: half a warp for each, a sector per lane. count is at least 1: the number of inside
// blocks.
__device__ __forceinline__ void ef_prefetch([[maybe_unused]] const uint32_t* payload,
                                            [[maybe_unused]] const EfBlock* blocks, [[maybe_unused]] uint32_t i,
                                            [[maybe_unused]] uint32_t count) {
#ifndef GRIFFIN_EMULATOR
    const uint32_t lane = decode_lane();
    const EfBlock& b = blocks[min(i + lane / 16, count - 1)];
    const uint32_t at = decodeSectorWords * (lane & 15);
    asm volatile(
        "{ .reg .pred p;\n\t"
        "setp.lt.u32 p, %1, %2;\n\t"
        "@p prefetch.global.L1 [%0]; }" ::"l"(payload + at + (b.offset >> 2)),
        "r"(at), "r"(decodeBlockLen / 32 * b.width + unaryBits / 32 + decodeSectorWords));
#endif
}

// sum + unit * byte k of bytes. narrow: unit has at most 16 bits; one instruction does it.
template <uint32_t k, bool narrow>
__device__ __forceinline__ uint32_t ef_plus(uint32_t sum, uint32_t unit, uint32_t bytes) {
#ifndef GRIFFIN_EMULATOR
    if constexpr (narrow) {  // the other factor of each product is 0
        const uint32_t factors = k % 2 == 0 ? unit : unit << 16;
        uint32_t v;
        if constexpr (k < 2) {
            asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(factors), "r"(bytes), "r"(sum));
        } else {
            asm("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(factors), "r"(bytes), "r"(sum));
        }
        return v;
    }
#endif
    return sum + unit * (bytes >> 8 * k & 0xff);
}

// Values 4*lane to 4*lane+3, from the zero bits before them, the low bits, and the number of preceding DocIDs.
template <bool narrow>
__device__ __forceinline__ uint4 ef_values(const EfBlock& b, const UnaryNumbers& numbers, uint4 low) {
    const uint32_t zeros = unary_bytes(numbers);
    const uint32_t at = b.first + 4 * decode_lane();
    return make_uint4(ef_plus<0, narrow>(low.x + at, b.unit, zeros), ef_plus<1, narrow>(low.y + at + 1, b.unit, zeros),
                      ef_plus<2, narrow>(low.z + at + 2, b.unit, zeros),
                      ef_plus<3, narrow>(low.w + at + 3, b.unit, zeros));
}

// Decodes two of the first count blocks of a tile, which are inside. Tiles of a single list are long and start at the
// same time: each pair prefetches the next, so that the first pair does not wait behind the prefetches of whole tiles.
template <DecodeWhat what, bool narrow, bool one>
__device__ __forceinline__ void ef_two(const DecodeTile& t, uint32_t from, uint32_t count, EfRoom& room,
                                       uint32_t* out) {
    const EfBlock* blocks = room.blocks + from;
    UnaryNumbers* numbers = room.numbers;
    EfBlock b[efInFlight];
    DecodeQuad quads[efInFlight];
    UnaryBits unary[efInFlight];
#pragma unroll
    for (uint32_t k = 0; k < efInFlight; k++) {
        b[k] = blocks[k];
        const DecodeInside src{t.list.payload, 8 * b[k].offset};
        quads[k] = decode_load_quad<narrow>(src, b[k].width, 4 * decode_lane());
        unary[k] = unary_load(src, 0, decodeBlockLen * b[k].width);
    }
    if constexpr (one) {
        ef_prefetch(t.list.payload, room.blocks, from + efAhead, count);
    }
    UnaryRank ranks[efInFlight];
    unary_rank_two(unary[0], unary[1], ranks[0], ranks[1]);
#pragma unroll
    for (uint32_t k = 0; k < efInFlight; k++) {
        unary_scatter(numbers[k], ranks[k]);
    }
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < efInFlight; k++) {
        uint4 low;
        if constexpr (narrow) {
            low = decode_quad_narrow(quads[k], b[k].width);
        } else {
            low = decode_quad_of(quads[k], b[k].width, [&](uint32_t i) { return __ldg(t.list.payload + i); });
        }
        uint4 v = ef_values<narrow>(b[k], numbers[k], low);
        if constexpr (what == decodeGaps) {
            v = decode_differences(v, b[k].first - 1);
        }
        decode_store_quad(out + k * decodeBlockLen, v);
    }
    __syncwarp();
}

// The general case.
template <DecodeWhat what>
__device__ __forceinline__ void ef_any(const DecodeTile& t, uint32_t i, const EfBlock& b, UnaryNumbers& numbers) {
    const uint32_t n = min(decodeBlockLen, t.list.numPostings - ef_number(t, i) * decodeBlockLen);
    const DecodeBytes src{t.list.payload, t.list.payloadWords - 1, b.offset >> 2, (b.offset & 3) * 8};
    unary_find(numbers, unary_load(src, 0, n * b.width));
    __syncwarp();
    uint4 v = ef_values<false>(b, numbers, decode_unpack(src, b.width));
    if constexpr (what == decodeGaps) {
        v = decode_differences(v, b.first - 1);
    }
    decode_store(t, i, n, v);
    __syncwarp();
}

// Decodes the first count blocks, which are inside, in pairs. Returns count, or count - 1 if it is odd.
template <DecodeWhat what, bool narrow, bool one>
__device__ __forceinline__ uint32_t ef_pairs(const DecodeTile& t, uint32_t count, EfRoom& room) {
    uint32_t* out = decode_out(t, 0);
    uint32_t from = 0;
#pragma unroll 1
    for (; from + efInFlight <= count; from += efInFlight) {
        ef_two<what, narrow, one>(t, from, count, room, out);
        out += efInFlight * decodeBlockLen;
    }
    return from;
}

// Para-EF: Liu, Wang and Swanson, PPoPP 2018, §3.1.1, Algorithm 1. Uses only list, slot and count of the tile.
template <DecodeWhat what, bool one>
__device__ __forceinline__ void ef_tile(const DecodeTile& t, EfRoom& room) {
    const EfTile all = ef_load(t, room.blocks);
#pragma unroll
    for (uint32_t k = 0; k < efInFlight; k++) {
        unary_clear(room.numbers[k]);
    }
    if (!one && decode_lane() == 0) {
        room.list = t.list;
    }
    __syncwarp();
    if constexpr (!one) {
        decode_prefetch(t, room.blocks[0].offset, room.blocks[t.count - 1].offset);
    }
    uint32_t from = 0;
    if (all.narrow) {
        from = ef_pairs<what, true, one>(t, all.inside, room);
    } else {
        from = ef_pairs<what, false, one>(t, all.inside, room);
    }
    if (from == t.count) {
        return;
    }
    DecodeTile rest;
    rest.list = one ? t.list : room.list;
    rest.slot = t.slot;
#pragma unroll 1
    for (; from < t.count; from++) {
        ef_any<what>(rest, from, room.blocks[from], room.numbers[0]);
    }
}
