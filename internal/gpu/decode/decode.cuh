// Finding lists, blocks and bytes, and writing the output. doc.go describes the shapes.

#pragma once

#include "../device/cuda.cuh"
#include "../device/warp_scan.cuh"

// Mirror of List.
struct DecodeList {
    const uint32_t* payload;    // the list's blocks, 16-byte aligned
    const uint32_t* directory;  // 4 words for each block of the list, 4-byte aligned
    const uint32_t* selected;   // [numBlocks] numbers of the blocks to decode; null: all
    uint32_t* out;              // [numBlocks][128], 16-byte aligned
    const uint32_t* side;       // additional input of the codec, or null
    const uint32_t* count;      // device-side limit of numBlocks, or null
    uint32_t numPostings;
    uint32_t numBlocks;     // blocks to decode
    uint32_t firstTile;     // number of tiles of all earlier lists
    uint32_t payloadWords;  // readable words at payload, at least 1
};

// Mirror of params.
struct DecodeParams {
    const DecodeList* lists;  // [numLists]; null: use single
    DecodeList single;
    uint32_t numLists;
    uint32_t numTiles;
    uint32_t
        tileBlocks;   // blocks per tile, 1 to decodeTileBlocks; for a single list of Para-EF, even, up to efTileBlocks
    uint32_t option;  // parameter of the codec
    uint32_t longerTiles;  // the first longerTiles tiles of a single list of Para-EF have decodeLonger more blocks
};

constexpr uint32_t decodeThreads = 128;
constexpr uint32_t decodeWarps = decodeThreads / 32;
constexpr uint32_t decodeBlockLen = 128;
constexpr uint32_t decodeTileBlocks = 8;  // 8 entries of 4 words give a word per lane
constexpr uint32_t decodeLonger = 2;      // additional blocks of a longer tile
constexpr uint32_t decodeNoBase = 0xffffffffu;
constexpr uint32_t decodeAllLanes = 0xffffffffu;
constexpr uint32_t decodeSectorWords = 8;    // the smallest unit of a load
constexpr uint32_t decodeInsideWords = 288;  // two arrays of 33 bits per value, and a unary part

enum DecodeWhat { decodeDocIDs, decodeGaps, decodeFreqs };

__device__ __forceinline__ uint32_t decode_lane() {
    return threadIdx.x & 31;
}

// The low 32 bits of high:low >> shift, at most 63.
__device__ __forceinline__ uint32_t decode_funnel(uint32_t low, uint32_t high, uint32_t shift) {
    return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) >> shift);
}

// The low width bits, at most 32.
__device__ __forceinline__ uint32_t decode_mask(uint32_t width) {
    return static_cast<uint32_t>((uint64_t{1} << width) - 1);
}

// A position in a payload; bit b from it is in word b / 32. A read beyond the payload, for a block that ends in
// mid-word, returns the payload's last word, whose bits are not used.
struct DecodeBytes {
    static constexpr bool inside = false;
    const uint32_t* words;
    uint32_t last;
    uint32_t first;  // word that contains the position
    uint32_t bit;    // bit in that word, a multiple of 8 below 32

    __device__ __forceinline__ uint32_t word(uint32_t i) const { return __ldg(words + min(first + i, last)); }
    // That many bytes further on.
    __device__ __forceinline__ DecodeBytes behind(uint32_t bytes) const {
        const uint32_t at = bit + 8 * bytes;
        return DecodeBytes{words, last, first + (at >> 5), at & 31};
    }
    // The number of width bits, at most 32, at a bit.
    __device__ __forceinline__ uint32_t number(uint32_t at, uint32_t width) const {
        at += bit;
        return decode_funnel(word(at >> 5), word((at >> 5) + 1), at & 31) & decode_mask(width);
    }
    __device__ __forceinline__ uint32_t byte(uint32_t i) const {
        const uint32_t at = bit + 8 * i;
        return word(at >> 5) >> (at & 31) & 0xff;
    }
};

// A position from which all reads stay inside the payload (decode_inside), without comparisons.
struct DecodeInside {
    static constexpr bool inside = true;
    const uint32_t* words;
    uint32_t bit;  // in the first word, a multiple of 8 below 32

    __device__ __forceinline__ uint32_t word(uint32_t i) const { return __ldg(words + i); }
    __device__ __forceinline__ DecodeInside behind(uint32_t bytes) const {
        const uint32_t at = bit + 8 * bytes;
        return DecodeInside{words + (at >> 5), at & 31};
    }
};

// The blocks that one warp decodes: up to decodeTileBlocks of one list. Lane 4i + j holds word j of the directory entry
// of block i, except that word 1 is the last DocID of the previous block, decodeNoBase before the first, and word 3 the
// number of postings.
struct DecodeTile {
    DecodeList list;
    uint32_t slot;    // index of the first block among the blocks to decode
    uint32_t count;   // blocks
    uint32_t number;  // lane 4i + j: number of block i in the list
    uint32_t entry;
};

// Identical in all lanes.
struct DecodeBlock {
    uint32_t first;   // DocID
    uint32_t offset;  // bytes
    uint32_t docWidth, freqWidth;
    uint32_t n;  // postings
};

// The index of the last item with firstTile <= tile. All lanes search together: up to 32 items take one step, up to
// 1,024 two.
template <class Item>
__device__ __forceinline__ uint32_t decode_find(const Item* items, uint32_t numItems, uint32_t tile) {
    uint32_t from = 0;
    uint32_t length = numItems;
    while (length > 1) {
        const uint32_t step = (length + 31) / 32;
        const uint32_t at = decode_lane() * step;
        const bool below = at < length && __ldg(&items[from + at].firstTile) <= tile;
        const uint32_t last = __popc(__ballot_sync(decodeAllLanes, below)) - 1;  // lane 0 is always below
        from += last * step;
        length = min(step, length - last * step);
    }
    return from;
}

// Finds the list and the blocks of the warp's tile; false if it has none. one: the launch has a single list, which
// takes no registers. even: its first longerTiles tiles have decodeLonger more blocks. The last tile begins first,
// because the blocks at a payload's end take longest.
template <bool one, bool even = false>
__device__ __forceinline__ bool decode_place(const DecodeParams& p, DecodeTile& t) {
    const uint32_t warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (warp >= p.numTiles) {
        return false;
    }
    const uint32_t tile = p.numTiles - 1 - warp;
    if (one || p.lists == nullptr) {
        t.list = p.single;
    } else {
        t.list = p.lists[decode_find(p.lists, p.numLists, tile)];
    }
    uint32_t tileBlocks = p.tileBlocks;
    t.slot = (tile - t.list.firstTile) * tileBlocks;
    if constexpr (even) {
        t.slot += decodeLonger * min(tile, p.longerTiles);
        tileBlocks += tile < p.longerTiles ? decodeLonger : 0;
    }
    uint32_t numBlocks = t.list.numBlocks;
    if (t.list.count != nullptr) {
        numBlocks = min(numBlocks, __ldg(t.list.count));
        if (t.slot >= numBlocks) {
            return false;
        }
    }
    t.count = min(tileBlocks, numBlocks - t.slot);
    return true;
}

// Loads the directory entries of the warp's tile in one access of 128 bytes; false if it has none.
template <bool one>
__device__ __forceinline__ bool decode_tile(const DecodeParams& p, DecodeTile& t) {
    if (!decode_place<one>(p, t)) {
        return false;
    }
    const uint32_t i = min(decode_lane() / 4, t.count - 1);
    t.number = t.list.selected == nullptr ? t.slot + i : __ldg(t.list.selected + t.slot + i);
    const uint32_t j = decode_lane() & 3;
    t.entry = decodeNoBase;
    if (j != 1 || t.number > 0) {
        t.entry = __ldg(t.list.directory + size_t{4} * (t.number - (j == 1)) + j);
    }
    if (j == 3) {
        t.entry = (t.entry & 0xffff0000u) | min(decodeBlockLen, t.list.numPostings - t.number * decodeBlockLen);
    }
    return true;
}

// Calls each for the warp's tile, if any.
template <bool one = false, class Each>
__device__ __forceinline__ void decode_tiles(const DecodeParams& p, Each each) {
    DecodeTile t;
    if (decode_tile<one>(p, t)) {
        each(t);
    }
}

__device__ __forceinline__ DecodeBlock decode_block(const DecodeTile& t, uint32_t i) {
    DecodeBlock b;
    b.first = __shfl_sync(decodeAllLanes, t.entry, 4 * i);
    b.offset = __shfl_sync(decodeAllLanes, t.entry, 4 * i + 2);
    const uint32_t widths = __shfl_sync(decodeAllLanes, t.entry, 4 * i + 3);
    b.n = widths & 0xff;
    b.docWidth = widths >> 16 & 0xff;
    b.freqWidth = widths >> 24;
    return b;
}

// Whether all blocks of the tile are full, have valid widths, and lie far enough from the payload's end for
// DecodeInside: in all tiles of a long list except the last.
template <DecodeWhat what>
__device__ __forceinline__ bool decode_inside(const DecodeTile& t) {
    constexpr uint32_t widest = 33;  // a width byte may be the width plus one
    const uint32_t j = decode_lane() & 3;
    const bool full = (t.entry & 0xffff) == decodeBlockLen && (t.entry >> 16 & 0xff) <= widest &&
                      (what != decodeFreqs || t.entry >> 24 <= widest);
    const bool before =
        t.list.payloadWords >= decodeInsideWords && t.entry >> 2 <= t.list.payloadWords - decodeInsideWords;
    return __all_sync(decodeAllLanes, (full || j != 3) && (before || j != 2));
}

// Prefetches all blocks of a tile, between the byte offsets of two blocks. Blocks of a selection can lie anywhere and
// are not prefetched.
__device__ __forceinline__ void decode_prefetch([[maybe_unused]] const DecodeTile& t, [[maybe_unused]] uint32_t first,
                                                [[maybe_unused]] uint32_t last) {
#ifndef GRIFFIN_EMULATOR
    if (t.list.selected == nullptr) {
        const uint32_t begin = first >> 2;
        const uint32_t end = (last >> 2) + 32;  // covers a short last block
        const uint32_t stop = min(min(end, begin + decodeTileBlocks * decodeInsideWords), t.list.payloadWords);
#pragma unroll 1
        for (uint32_t at = begin + decodeSectorWords * decode_lane(); at < stop; at += 32 * decodeSectorWords) {
            asm volatile("prefetch.global.L1 [%0];" ::"l"(t.list.payload + at));
        }
    }
#endif
}

__device__ __forceinline__ void decode_prefetch(const DecodeTile& t) {
    decode_prefetch(t, __shfl_sync(decodeAllLanes, t.entry, 2), __shfl_sync(decodeAllLanes, t.entry, 30));
}

// In the list.
__device__ __forceinline__ uint32_t decode_number(const DecodeTile& t, uint32_t i) {
    return __shfl_sync(decodeAllLanes, t.number, 4 * i);
}

// decodeNoBase before the first.
__device__ __forceinline__ uint32_t decode_base(const DecodeTile& t, uint32_t i) {
    return __shfl_sync(decodeAllLanes, t.entry, 4 * i + 1);
}

__device__ __forceinline__ uint32_t decode_last(const DecodeTile& t, uint32_t i) {
    return __ldg(t.list.directory + size_t{4} * decode_number(t, i) + 1);
}

__device__ __forceinline__ DecodeBytes decode_bytes(const DecodeTile& t, const DecodeBlock& b) {
    return DecodeBytes{t.list.payload, t.list.payloadWords - 1, b.offset >> 2, (b.offset & 3) * 8};
}

__device__ __forceinline__ DecodeInside decode_bytes_inside(const DecodeTile& t, const DecodeBlock& b) {
    return DecodeInside{t.list.payload + (b.offset >> 2), (b.offset & 3) * 8};
}

// Writes four values in one store. The explicit address space lets the compiler reorder it with accesses to shared
// memory.
__device__ __forceinline__ void decode_store_quad(uint32_t* out, uint4 v) {
#ifdef GRIFFIN_EMULATOR
    *reinterpret_cast<uint4*>(out) = v;
#else
    typedef uint32_t Quad __attribute__((ext_vector_type(4)));
    typedef __attribute__((address_space(1))) Quad GlobalQuad;
    *(GlobalQuad*)out = Quad{v.x, v.y, v.z, v.w};  // only a C-style cast reaches an address space
#endif
}

// For values 4*lane to 4*lane+3.
__device__ __forceinline__ uint32_t* decode_out(const DecodeTile& t, uint32_t i) {
    return t.list.out + size_t{decodeBlockLen} * (t.slot + i) + 4 * decode_lane();
}

// Values 4*lane to 4*lane+3 of block i, which has n values.
__device__ __forceinline__ void decode_store(const DecodeTile& t, uint32_t i, uint32_t n, uint4 v) {
    const uint32_t at = 4 * decode_lane();
    uint32_t* out = decode_out(t, i);
    if (at + 4 <= n) {
        decode_store_quad(out, v);
        return;
    }
    if (at < n) {
        out[0] = v.x;
    }
    if (at + 1 < n) {
        out[1] = v.y;
    }
    if (at + 2 < n) {
        out[2] = v.z;
    }
}

// The first 64 bits of a lane's four adjacent numbers.
struct DecodeQuad {
    uint32_t word[3];
    uint32_t bit;  // position of the first number, relative to src
};

// Loads the first words of numbers first to first+3, separately from unpacking, so that the loads of several blocks are
// in flight together. narrow: the width is at most 8, so two words suffice.
template <bool narrow = false, class Bytes>
__device__ __forceinline__ DecodeQuad decode_load_quad(const Bytes& src, uint32_t width, uint32_t first) {
    DecodeQuad q;
    q.bit = src.bit + first * width;
    const uint32_t at = q.bit >> 5;
    q.word[0] = src.word(at);
    q.word[1] = src.word(at + 1);
    q.word[2] = !narrow && (Bytes::inside || width > 8) ? src.word(at + 2) : 0;
    return q;
}

// At most 8 bits each.
__device__ __forceinline__ uint4 decode_quad_narrow(const DecodeQuad& q, uint32_t width) {
    const uint32_t mask = decode_mask(width);
    const uint32_t w = __funnelshift_r(q.word[0], q.word[1], q.bit);
    const uint32_t two = w >> 2 * width;
    return make_uint4(w & mask, w >> width & mask, two & mask, two >> width & mask);
}

// word returns further words at src and is called by all lanes or by none. If the width is the same in all lanes, the
// branches do not diverge.
template <class Word>
__device__ __forceinline__ uint4 decode_quad_of(const DecodeQuad& q, uint32_t width, Word word) {
    const uint32_t mask = decode_mask(width);
    const uint32_t shift = q.bit;
    const uint32_t w0 = __funnelshift_r(q.word[0], q.word[1], shift);
    if (width <= 8) {  // 4 numbers in 32 bits
        const uint32_t two = w0 >> (2 * width & 31);
        return make_uint4(w0 & mask, w0 >> width & mask, two & mask, two >> width & mask);
    }
    const uint32_t w1 = __funnelshift_r(q.word[1], q.word[2], shift);
    if (width <= 16) {  // 4 numbers in 64 bits
        return make_uint4(w0 & mask, decode_funnel(w0, w1, width) & mask, decode_funnel(w0, w1, 2 * width) & mask,
                          decode_funnel(w0, w1, 3 * width) & mask);
    }
    const uint32_t at = q.bit >> 5;
    const uint32_t word3 = word(at + 3);
    const uint32_t w2 = __funnelshift_r(q.word[2], word3, shift);
    const uint32_t w3 = __funnelshift_r(word3, word(at + 4), shift);
    const uint32_t third = 3 * width - 32;  // 19 to 64 bits behind w1
    return make_uint4(w0 & mask, decode_funnel(w0, w1, width) & mask, decode_funnel(w1, w2, 2 * width - 32) & mask,
                      (third < 32 ? decode_funnel(w1, w2, third) : decode_funnel(w2, w3, third - 32)) & mask);
}

template <class Bytes>
__device__ __forceinline__ uint4 decode_quad(const DecodeQuad& q, const Bytes& src, uint32_t width) {
    return decode_quad_of(q, width, [&](uint32_t i) { return src.word(i); });
}

template <class Bytes>
__device__ __forceinline__ uint4 decode_unpack(const Bytes& src, uint32_t width, uint32_t first) {
    return decode_quad(decode_load_quad(src, width, first), src, width);
}

template <class Bytes>
__device__ __forceinline__ uint4 decode_unpack(const Bytes& src, uint32_t width) {
    return decode_unpack(src, width, 4 * decode_lane());
}

// Like warp_inclusive_sum, with the shuffle's own predicate for the range of lanes, which saves a comparison and a
// select in each step.
__device__ __forceinline__ uint32_t decode_inclusive_sum(uint32_t value) {
#ifdef GRIFFIN_EMULATOR
    return warp_inclusive_sum(value);
#else
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
        asm volatile(
            "{ .reg .b32 below; .reg .pred is;\n\t"
            "shfl.sync.up.b32 below|is, %0, %1, 0, 0xffffffff;\n\t"
            "@is add.u32 %0, %0, below; }"
            : "+r"(value)
            : "r"(d));
    }
    return value;
#endif
}

// Gaps less one to DocIDs: the localised prefix sum of ding09, §6.1. The first gap is ignored: the directory has the
// first DocID.
__device__ __forceinline__ uint4 decode_sum(uint4 gaps, uint32_t first) {
    const uint32_t lane = decode_lane();
    const uint32_t x = lane == 0 ? 0 : gaps.x;
    const uint32_t xy = x + gaps.y;
    const uint32_t xyz = xy + gaps.z;
    const uint32_t all = xyz + gaps.w;
    const uint32_t before = decode_inclusive_sum(all) - all + first + 4 * lane;
    return make_uint4(before + x, before + xy + 1, before + xyz + 2, before + all + 3);
}

// DocIDs to gaps; base is the DocID before the block.
__device__ __forceinline__ uint4 decode_differences(uint4 docIDs, uint32_t base) {
    uint32_t before = __shfl_up_sync(decodeAllLanes, docIDs.w, 1);
    if (decode_lane() == 0) {
        before = base;
    }
    return make_uint4(docIDs.x - before, docIDs.y - docIDs.x, docIDs.z - docIDs.y, docIDs.w - docIDs.z);
}

__device__ __forceinline__ uint4 decode_plus(uint4 v, uint32_t add) {
    return make_uint4(v.x + add, v.y + add, v.z + add, v.w + add);
}

// Bytes of n numbers of width bits.
__device__ __forceinline__ uint32_t decode_packed_size(uint32_t n, uint32_t width) {
    return (n * width + 7) / 8;
}
