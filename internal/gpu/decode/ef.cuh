// DocIDs of codec ef: Para-EF.

#pragma once

#include "decode.cuh"
#include "unary.cuh"

// Blocks whose loads are all asked for before the first is waited for.
constexpr uint32_t efInFlight = 2;

// How many blocks further on a long tile's bytes are asked for.
constexpr uint32_t efAhead = 2;

// The most blocks of a tile of DocIDs.
constexpr uint32_t efTileBlocks = 16;

// Low bits of a DocID of which four, wherever they begin, are in two words.
constexpr uint32_t efNarrow = 8;

// Words of a payload of which every bit has a number of 32 bits.
constexpr uint32_t efBitWords = 1u << 27;

// Words that are read behind the low bits of a block: the unary part, which begins in
// mid-word, and what a lane reads more than it takes.
constexpr uint32_t efBehindWords = unaryBits / 32 + 2;

// What the lanes that decode a block want to know of it.
struct __align__(16) EfBlock {
    uint32_t offset;  // bytes
    uint32_t width;   // low bits of a DocID
    uint32_t first;   // one above the DocID before the block: the least that it can begin with
    uint32_t unit;    // what a zero bit counts: 1 << width, or 0 where no DocID is left out
};

// Shared memory of a warp.
struct EfRoom {
    DecodeList list;  // of a batch, for ef_any: in registers, it would leave too few
    EfBlock blocks[efTileBlocks];
    UnaryNumbers numbers[efInFlight];
};

// What holds for the blocks of a tile.
struct EfTile {
    uint32_t inside;  // as many, from the first on, are full, of widths that there are, and as DecodeInside wants them
    bool narrow;      // all have at most efNarrow low bits
};

__device__ __forceinline__ uint4 ef_join(uint4 high, uint4 low, uint32_t width) {
    return make_uint4(high.x << width | low.x, high.y << width | low.y, high.z << width | low.z,
                      high.w << width | low.w);
}

// Low bits of a width byte of DocIDs: it is one more, or 0 where no DocID is left out.
__device__ __forceinline__ uint32_t ef_low_width(uint32_t docWidth) {
    return docWidth == 0 ? 0 : docWidth - 1;
}

// Returns the number in the list of block i of a tile.
__device__ __forceinline__ uint32_t ef_number(const DecodeTile& t, uint32_t i) {
    return t.list.selected == nullptr ? t.slot + i : __ldg(t.list.selected + t.slot + i);
}

// Fills blocks, a lane each. A __syncwarp must follow.
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

// Asks for the bytes of two blocks to come nearer, block i and the one behind it: half a
// warp each, a sector a lane. count is at least 1: blocks before it are inside.
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

// Returns sum + unit * byte k of bytes. narrow says that unit has at most 16 bits, where
// one instruction takes the byte, multiplies and adds.
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

// Values 4*lane to 4*lane+3 of a block: the zero bits before them, low bits, and how
// many DocIDs there were before.
template <bool narrow>
__device__ __forceinline__ uint4 ef_values(const EfBlock& b, const UnaryNumbers& numbers, uint4 low) {
    const uint32_t zeros = unary_bytes(numbers);
    const uint32_t at = b.first + 4 * decode_lane();
    return make_uint4(ef_plus<0, narrow>(low.x + at, b.unit, zeros), ef_plus<1, narrow>(low.y + at + 1, b.unit, zeros),
                      ef_plus<2, narrow>(low.z + at + 2, b.unit, zeros),
                      ef_plus<3, narrow>(low.w + at + 3, b.unit, zeros));
}

// Decodes two blocks of the first count of a tile, which are inside. Blocks do not wait
// for those before, because the directory has the DocIDs on which they go on. Tiles of a
// single list are long, and all of them are begun at a time: each pair asks for the bytes
// of the next, so that the first is not behind those of all.
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

// Decodes block i of a tile, whatever there is around it.
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

// Decodes the first count blocks of a tile, which are inside, and returns how many: one
// less if that is odd.
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

// Para-EF: Liu, Wang and Swanson, PPoPP 2018, §3.1.1, Algorithm 1. Only list, slot and
// count of the tile are used.
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
