#include "../../gpu/decode/decode.cuh"

// See codec/newpfd.go and codec/s16.go.
constexpr uint32_t newpfdWidthBits = 63;
constexpr uint32_t newpfdExceptions = 64;
constexpr uint32_t s16Cases = 16;

// The widths of a case, as up to three runs of equal widths.
struct S16Case {
    uint32_t counts[3];
    uint32_t widths[3];
};

__constant__ const S16Case s16[s16Cases] = {
    {{28, 0, 0}, {1, 0, 0}}, {{7, 14, 0}, {2, 1, 0}}, {{7, 7, 7}, {1, 2, 1}},  {{14, 7, 0}, {1, 2, 0}},
    {{14, 0, 0}, {2, 0, 0}}, {{1, 8, 0}, {4, 3, 0}},  {{1, 4, 3}, {3, 4, 3}},  {{7, 0, 0}, {4, 0, 0}},
    {{4, 2, 0}, {5, 4, 0}},  {{2, 4, 0}, {4, 5, 0}},  {{3, 2, 0}, {6, 5, 0}},  {{2, 3, 0}, {5, 6, 0}},
    {{4, 0, 0}, {7, 0, 0}},  {{1, 2, 0}, {10, 9, 0}}, {{2, 0, 0}, {14, 0, 0}}, {{1, 0, 0}, {28, 0, 0}},
};

// Memory of a warp for the exceptions of a segment: their positions, then their upper bits.
struct NewpfdMemory {
    uint32_t values[decodeBlockLen];  // upper bits by index in the block
    uint32_t arrays[2 * decodeBlockLen];
};

// Unpacks n numbers, at most 2 * decodeBlockLen, from Simple-16 words at src to shared memory, and returns the number
// of words. A lane unpacks a word. The cases of the words before it give the number of earlier values.
__device__ __forceinline__ uint32_t s16_unpack(const DecodeBytes& src, uint32_t n, uint32_t* out) {
    uint32_t done = 0;
    for (uint32_t from = 0;; from += 32) {
        const uint32_t word = src.number(32 * (from + decode_lane()), 32);
        const S16Case& c = s16[word % s16Cases];
        const uint32_t count = c.counts[0] + c.counts[1] + c.counts[2];
        uint32_t total;
        uint32_t at = done + warp_exclusive_sum(count, total);
        const bool needed = at < n;
        uint32_t bit = 4;
        for (uint32_t run = 0; needed && run < 3; run++) {
            for (uint32_t i = 0; i < c.counts[run] && at < n; i++, at++) {
                out[at] = word >> bit & decode_mask(c.widths[run]);
                bit += c.widths[run];
            }
        }
        const uint32_t words = __popc(__ballot_sync(decodeAllLanes, needed));
        done += total;
        if (done >= n) {
            __syncwarp();
            return from + words;
        }
    }
}

// Adds the upper bits of the exceptions of a segment to memory.values: segment of n values from index from in the
// block, with slots of width bits, exceptions at src. Returns the bytes of the exceptions.
__device__ __forceinline__ uint32_t newpfd_patch(const DecodeBytes& src, uint32_t from, uint32_t n, uint32_t width,
                                                 NewpfdMemory& memory) {
    const uint32_t count = min(src.byte(0) + 1, n);
    const uint32_t words = s16_unpack(src.behind(1), 2 * count, memory.arrays);
    uint32_t before = 0;  // positions are gaps: the index behind the last exception
    for (uint32_t k = 0; k < count; k += 32) {
        const uint32_t i = k + decode_lane();
        uint32_t total;
        const uint32_t gap = i < count ? memory.arrays[i] + 1 : 0;
        const uint32_t upTo = before + warp_exclusive_sum(gap, total) + gap;
        if (i < count) {
            const uint32_t upper = memory.arrays[count + i] + 1;
            atomicOr(memory.values + (from + upTo - 1) % decodeBlockLen, upper << (width & 31));
        }
        before += total;
    }
    __syncwarp();
    return 1 + 4 * words;
}

// The values of a block, four for each lane. 1 << shift is the segment length; if a segment is a whole block, its width
// byte is the block's.
__device__ __forceinline__ uint4 newpfd_values(DecodeBytes src, uint32_t n, uint32_t blockWidth, uint32_t shift,
                                               NewpfdMemory& memory) {
    uint4* mine = reinterpret_cast<uint4*>(memory.values + 4 * decode_lane());
    *mine = make_uint4(0, 0, 0, 0);
    __syncwarp();
    const bool whole = shift == 7;
    DecodeBytes slots = src;
    uint32_t width = 0;
    for (uint32_t from = 0; from < n; from += 1u << shift) {
        const uint32_t widthByte = whole ? blockWidth : src.byte(0);
        const DecodeBytes at = src.behind(whole ? 0 : 1);
        const uint32_t length = min(1u << shift, n - from);
        const uint32_t slotWidth = widthByte & newpfdWidthBits;
        if (4 * decode_lane() >= from) {  // the last segment that begins here or before
            slots = at;
            width = slotWidth;
        }
        src = at.behind(decode_packed_size(length, slotWidth));
        if (widthByte & newpfdExceptions) {
            src = src.behind(newpfd_patch(src, from, length, slotWidth, memory));
        }
    }
    const uint32_t i = 4 * decode_lane() & ((1u << shift) - 1);
    const uint4 low = decode_unpack(slots, min(width, 32u), i);
    __syncwarp();
    const uint4 upper = *mine;
    __syncwarp();
    return make_uint4(low.x | upper.x, low.y | upper.y, low.z | upper.z, low.w | upper.w);
}

/* DocIDs of codec newpfd (ao11, Fig. 8). Grid: a warp for each tile. Block: decodeThreads threads. Static shared
 * memory: 1,536 bytes per warp. DecodeParams.option is the logarithm of the segment length. CPU reference:
 * codec.NewPFD. */
GRIFFIN_KERNEL(decode_newpfd_docids, DecodeParams, decodeThreads) {
    __shared__ __align__(16) NewpfdMemory memory[decodeWarps];
    decode_tiles(p, [&](const DecodeTile& t) {
        for (uint32_t i = 0; i < t.count; i++) {
            const DecodeBlock b = decode_block(t, i);
            const uint4 v = newpfd_values(decode_bytes(t, b), b.n, b.docWidth, p.option, memory[threadIdx.x / 32]);
            decode_store(t, i, b.n, decode_sum(v, b.first));
        }
    });
}
