// What all kernels of this package share: how they find their lists, blocks and bytes,
// and where they write. doc.go tells the shapes.

#pragma once

#include "../device/cuda.cuh"
#include "../device/warp_scan.cuh"

// One list of a batch. Mirror of List.
struct DecodeList {
    const uint32_t* payload;    // the list's blocks, 16-byte aligned
    const uint32_t* directory;  // 4 words for each block of the list, 4-byte aligned
    const uint32_t* selected;   // [numBlocks] numbers of the blocks to decode, or null: all
    uint32_t* out;              // [numBlocks][128], 16-byte aligned
    const uint32_t* side;       // what else the codec needs, or null
    const uint32_t* count;      // {blocks to decode}, if the device knows that they are fewer than numBlocks; or null
    uint32_t numPostings;
    uint32_t numBlocks;     // blocks to decode
    uint32_t firstTile;     // tiles of the lists before this one
    uint32_t payloadWords;  // words that can be read at payload, at least 1
};

// Mirror of params.
struct DecodeParams {
    const DecodeList* lists;  // [numLists], or null: single
    DecodeList single;
    uint32_t numLists;
    uint32_t numTiles;
    uint32_t tileBlocks;  // blocks of a tile, 1 to decodeTileBlocks
    uint32_t option;      // of the codec
};

constexpr uint32_t decodeThreads = 256;
constexpr uint32_t decodeWarps = decodeThreads / 32;
constexpr uint32_t decodeBlockLen = 128;
constexpr uint32_t decodeTileBlocks = 8;  // 8 entries of 4 words are a word a lane
constexpr uint32_t decodeNoBase = 0xffffffffu;
constexpr uint32_t decodeAllLanes = 0xffffffffu;

// What a kernel writes.
enum DecodeWhat { decodeDocIDs, decodeGaps, decodeFreqs };

__device__ __forceinline__ uint32_t decode_lane() {
    return threadIdx.x & 31;
}

// The 64 bits of two words from bit shift on, at most 63, cut to 32.
__device__ __forceinline__ uint32_t decode_funnel(uint32_t low, uint32_t high, uint32_t shift) {
    return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) >> shift);
}

// The low width bits set; width is at most 32.
__device__ __forceinline__ uint32_t decode_mask(uint32_t width) {
    return static_cast<uint32_t>((uint64_t{1} << width) - 1);
}

// A place in the words of a payload. A number that begins at bit b of it begins in word
// b / 32. Reading behind the payload gives its last word: what lies there is asked for
// where a block ends in mid-word, and not used.
struct DecodeBytes {
    const uint32_t* words;
    uint32_t last;   // last word of the payload
    uint32_t first;  // word in which the place is
    uint32_t bit;    // bit of that word, a multiple of 8 below 32

    __device__ __forceinline__ uint32_t word(uint32_t i) const { return __ldg(words + min(first + i, last)); }
    // The place so many bytes further on.
    __device__ __forceinline__ DecodeBytes behind(uint32_t bytes) const {
        const uint32_t at = bit + 8 * bytes;
        return DecodeBytes{words, last, first + (at >> 5), at & 31};
    }
    // The number of width bits, at most 32, from a bit on.
    __device__ __forceinline__ uint32_t number(uint32_t at, uint32_t width) const {
        at += bit;
        return decode_funnel(word(at >> 5), word((at >> 5) + 1), at & 31) & decode_mask(width);
    }
    __device__ __forceinline__ uint32_t byte(uint32_t i) const {
        const uint32_t at = bit + 8 * i;
        return word(at >> 5) >> (at & 31) & 0xff;
    }
};

// The blocks that one warp decodes, up to decodeTileBlocks of one list. Lane 4i + j has
// word j of the directory entry of block i, where j is 3 with the number of the block's
// postings instead of its bound.
struct DecodeTile {
    DecodeList list;
    uint32_t slot;    // number of the first block among those to decode
    uint32_t count;   // blocks
    uint32_t number;  // lane 4i + j: number of block i in the list
    uint32_t entry;
};

// One block of a tile: what its directory entry says, the same in all lanes.
struct DecodeBlock {
    uint32_t first;   // DocID
    uint32_t offset;  // bytes
    uint32_t docWidth, freqWidth;
    uint32_t n;  // postings
};

// Returns the element of items, lists or what else has tiles, of which the tile is: the
// last one with firstTile <= tile. All lanes look at once, so that up to 32 items take
// one step and up to 1,024 two.
template <class Item>
__device__ __forceinline__ uint32_t decode_find(const Item* items, uint32_t numItems, uint32_t tile) {
    uint32_t from = 0;
    uint32_t length = numItems;
    while (length > 1) {
        const uint32_t step = (length + 31) / 32;
        const uint32_t at = decode_lane() * step;
        const bool below = at < length && __ldg(&items[from + at].firstTile) <= tile;
        const uint32_t last = __popc(__ballot_sync(decodeAllLanes, below)) - 1;  // lane 0 is below
        from += last * step;
        length = min(step, length - last * step);
    }
    return from;
}

// Finds the warp's tile, and loads its directory entries, which it does in one access
// of 128 bytes. False if the warp has none.
__device__ __forceinline__ bool decode_tile(const DecodeParams& p, DecodeTile& t) {
    const uint32_t tile = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (tile >= p.numTiles) {
        return false;
    }
    if (p.lists == nullptr) {
        t.list = p.single;
    } else {
        t.list = p.lists[decode_find(p.lists, p.numLists, tile)];
    }
    t.slot = (tile - t.list.firstTile) * p.tileBlocks;
    uint32_t numBlocks = t.list.numBlocks;
    if (t.list.count != nullptr) {
        numBlocks = min(numBlocks, __ldg(t.list.count));
        if (t.slot >= numBlocks) {
            return false;
        }
    }
    t.count = min(p.tileBlocks, numBlocks - t.slot);
    const uint32_t i = min(decode_lane() / 4, t.count - 1);
    t.number = t.list.selected == nullptr ? t.slot + i : __ldg(t.list.selected + t.slot + i);
    const uint32_t j = decode_lane() & 3;
    t.entry = __ldg(t.list.directory + size_t{4} * t.number + j);
    if (j == 3) {
        t.entry = (t.entry & 0xffff0000u) | min(decodeBlockLen, t.list.numPostings - t.number * decodeBlockLen);
    }
    return true;
}

// Returns block i of a tile.
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

// Returns the last DocID of block i of a tile.
__device__ __forceinline__ uint32_t decode_last(const DecodeTile& t, uint32_t i) {
    return __shfl_sync(decodeAllLanes, t.entry, 4 * i + 1);
}

// Returns the number in the list of block i of a tile.
__device__ __forceinline__ uint32_t decode_number(const DecodeTile& t, uint32_t i) {
    return __shfl_sync(decodeAllLanes, t.number, 4 * i);
}

// Returns the last DocID before block i of a tile, decodeNoBase before the first.
__device__ __forceinline__ uint32_t decode_base(const DecodeTile& t, uint32_t i) {
    const uint32_t number = decode_number(t, i);
    return number == 0 ? decodeNoBase : __ldg(t.list.directory + size_t{4} * (number - 1) + 1);
}

// Returns where a block begins.
__device__ __forceinline__ DecodeBytes decode_bytes(const DecodeTile& t, const DecodeBlock& b) {
    return DecodeBytes{t.list.payload, t.list.payloadWords - 1, b.offset >> 2, (b.offset & 3) * 8};
}

// Writes four values to global memory, in one store. Saying that it is global keeps
// the store apart from accesses to shared memory, so that those can pass it.
__device__ __forceinline__ void decode_store_quad(uint32_t* out, uint4 v) {
#ifdef GRIFFIN_EMULATOR
    *reinterpret_cast<uint4*>(out) = v;
#else
    typedef uint32_t Quad __attribute__((ext_vector_type(4)));
    typedef __attribute__((address_space(1))) Quad GlobalQuad;
    *(GlobalQuad*)out = Quad{v.x, v.y, v.z, v.w};  // no other cast leads to an address space
#endif
}

// Writes values 4*lane to 4*lane+3 of the n of block i of the tile.
__device__ __forceinline__ void decode_store(const DecodeTile& t, uint32_t i, uint32_t n, uint4 v) {
    const uint32_t at = 4 * decode_lane();
    uint32_t* out = t.list.out + size_t{decodeBlockLen} * (t.slot + i) + at;
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

// Four numbers of width bits that lie side by side, in the lane that they belong to:
// the words that the first 64 bits are in.
struct DecodeQuad {
    uint32_t word[3];
    uint32_t bit;  // at which they begin, from src on
};

// Loads the first words of numbers 4*lane to 4*lane+3 of those at src. All loads of
// several blocks can be asked for before the first is waited for.
__device__ __forceinline__ DecodeQuad decode_load_quad(const DecodeBytes& src, uint32_t width) {
    DecodeQuad q;
    q.bit = src.bit + 4 * decode_lane() * width;
    const uint32_t at = q.bit >> 5;
    q.word[0] = src.word(at);
    q.word[1] = src.word(at + 1);
    q.word[2] = width > 8 ? src.word(at + 2) : 0;
    return q;
}

// Takes the four numbers out of the words. The width is the same in all lanes, so that
// the branches do not part them.
__device__ __forceinline__ uint4 decode_quad(const DecodeQuad& q, const DecodeBytes& src, uint32_t width) {
    const uint32_t mask = decode_mask(width);
    const uint32_t shift = q.bit & 31;
    const uint32_t w0 = decode_funnel(q.word[0], q.word[1], shift);
    if (width <= 8) {  // 4 numbers in 32 bits
        const uint32_t two = w0 >> (2 * width & 31);
        return make_uint4(w0 & mask, w0 >> width & mask, two & mask, two >> width & mask);
    }
    const uint32_t w1 = decode_funnel(q.word[1], q.word[2], shift);
    if (width <= 16) {  // in 64
        return make_uint4(w0 & mask, decode_funnel(w0, w1, width) & mask, decode_funnel(w0, w1, 2 * width) & mask,
                          decode_funnel(w0, w1, 3 * width) & mask);
    }
    const uint32_t at = q.bit >> 5;
    const uint32_t word3 = src.word(at + 3);
    const uint32_t w2 = decode_funnel(q.word[2], word3, shift);
    const uint32_t w3 = decode_funnel(word3, src.word(at + 4), shift);
    const uint32_t third = 3 * width - 32;  // 19 to 64 behind w1
    return make_uint4(w0 & mask, decode_funnel(w0, w1, width) & mask, decode_funnel(w1, w2, 2 * width - 32) & mask,
                      (third < 32 ? decode_funnel(w1, w2, third) : decode_funnel(w2, w3, third - 32)) & mask);
}

// Numbers 4*lane to 4*lane+3 of those at src, of width bits each.
__device__ __forceinline__ uint4 decode_unpack(const DecodeBytes& src, uint32_t width) {
    return decode_quad(decode_load_quad(src, width), src, width);
}

// Makes DocIDs of gaps less one: the localised prefix sum of ding09, §6.1. The first
// gap of a block plays no part, because the directory has its first DocID.
__device__ __forceinline__ uint4 decode_sum(uint4 gaps, uint32_t first) {
    const uint32_t lane = decode_lane();
    const uint32_t x = lane == 0 ? 0 : gaps.x;
    const uint32_t xy = x + gaps.y;
    const uint32_t xyz = xy + gaps.z;
    const uint32_t all = xyz + gaps.w;
    const uint32_t before = warp_inclusive_sum(all) - all + first + 4 * lane;
    return make_uint4(before + x, before + xy + 1, before + xyz + 2, before + all + 3);
}

// Makes gaps of DocIDs. base is the DocID before the block.
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

// The bytes that n numbers of width bits take.
__device__ __forceinline__ uint32_t decode_packed_size(uint32_t n, uint32_t width) {
    return (n * width + 7) / 8;
}
