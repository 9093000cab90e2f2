// Finding the one bits of a unary part: of n numbers, each as many zero bits as it is
// above the one before, then a one bit. Codecs ef and rice keep such parts below 3n
// bits (package eliasfano says why), which for 128 numbers is 12 bits a lane.

#pragma once

#include "decode.cuh"

constexpr uint32_t unaryLaneBits = 12;
constexpr uint32_t unaryBits = 32 * unaryLaneBits;

// Where a warp turns the bits of a unary part into numbers: the place in the part of
// each one bit, in order. Bits behind the part make places behind its own.
struct __align__(16) UnaryNumbers {
    uint16_t at[unaryBits];
};

// Makes the numbers of a whole block known, so that lanes behind a shorter one may read
// theirs. A __syncwarp must follow before unary_scatter.
__device__ __forceinline__ void unary_clear(UnaryNumbers& numbers) {
    *reinterpret_cast<uint2*>(numbers.at + 4 * decode_lane()) = make_uint2(0, 0);
}

// Two words that this lane's bits are in.
struct UnaryBits {
    uint32_t low, high, shift;
};

// Loads the lane's bits of the unary part that begins at a bit of src.
__device__ __forceinline__ UnaryBits unary_load(const DecodeBytes& src, uint32_t bit) {
    const uint32_t at = src.bit + bit + unaryLaneBits * decode_lane();
    return UnaryBits{src.word(at >> 5), src.word((at >> 5) + 1), at & 31};
}

// The lane's bits, and how many one bits come before them. Popcount and prefix sum are
// lines 2 and 3 of Algorithm 1 (griffin18, §3.1.1).
struct UnaryRank {
    uint32_t bits, before;
};

__device__ __forceinline__ UnaryRank unary_rank(const UnaryBits& bits) {
    const uint32_t x = decode_funnel(bits.low, bits.high, bits.shift) & decode_mask(unaryLaneBits);
    const uint32_t ones = __popc(x);
    return UnaryRank{x, warp_inclusive_sum(ones) - ones};
}

// Writes the places of the one bits to numbers. Lines 4 to 9 of Algorithm 1 let a thread
// look for the word and the bit of its value; here each lane takes its own 12 bits apart,
// which needs no search and no table, and takes as long on any bits.
__device__ __forceinline__ void unary_scatter(UnaryNumbers& numbers, const UnaryRank& rank) {
    uint16_t* out = numbers.at + rank.before;
#pragma unroll
    for (uint32_t k = 0; k < unaryLaneBits; k++) {
        if ((rank.bits & 1u << k) != 0) {
            *out = static_cast<uint16_t>(unaryLaneBits * decode_lane() + k);
            out++;
        }
    }
}

__device__ __forceinline__ void unary_find(UnaryNumbers& numbers, const UnaryBits& bits) {
    unary_scatter(numbers, unary_rank(bits));
}

// Returns numbers 4*lane to 4*lane+3: the zero bits before the one bits of these
// numbers. All lanes have been through unary_find and a __syncwarp since.
__device__ __forceinline__ uint4 unary_numbers(const UnaryNumbers& numbers) {
    const uint32_t i = 4 * decode_lane();
    const uint2 four = *reinterpret_cast<const uint2*>(numbers.at + i);
    return make_uint4((four.x & 0xffff) - i, (four.x >> 16) - (i + 1), (four.y & 0xffff) - (i + 2),
                      (four.y >> 16) - (i + 3));
}
