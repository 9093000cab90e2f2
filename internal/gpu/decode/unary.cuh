// Finds the one bits of a unary part, which has for each of n numbers a run of zero bits, one per increment over the
// previous number, then a one bit. Codecs ef and rice keep such parts below 3n bits (package eliasfano): 12 bits per
// lane for 128 numbers.

#pragma once

#include "decode.cuh"

constexpr uint32_t unaryLaneBits = 12;
constexpr uint32_t unaryBits = 32 * unaryLaneBits;

// The number of zero bits before each one bit: a byte, since parts of less than 3n bits have less than 2n zero bits.
// Bits behind the part give numbers behind the valid ones.
struct __align__(16) UnaryNumbers {
    uint8_t zeros[unaryBits];
};

// For lanes beyond a shorter block. Call __syncwarp before unary_scatter.
__device__ __forceinline__ void unary_clear(UnaryNumbers& numbers) {
    *reinterpret_cast<uint32_t*>(numbers.zeros + 4 * decode_lane()) = 0;
}

struct UnaryBits {
    uint32_t low, high, shift;  // the bits begin at bit shift of low, modulo 32
};

// From bit 32 * word + bit of src.
template <class Bytes>
__device__ __forceinline__ UnaryBits unary_load(const Bytes& src, uint32_t word, uint32_t bit) {
    const uint32_t at = src.bit + bit + unaryLaneBits * decode_lane();
    return UnaryBits{src.word(word + (at >> 5)), src.word(word + (at >> 5) + 1), at};
}

// The lane's bits, and the one bits before them: lines 2 and 3 of Algorithm 1 (griffin18, §3.1.1).
struct UnaryRank {
    uint32_t bits, before;
};

__device__ __forceinline__ uint32_t unary_lane_bits(const UnaryBits& bits) {
    return __funnelshift_r(bits.low, bits.high, bits.shift) & decode_mask(unaryLaneBits);
}

// Without bits behind the last number: these would be written 128 bytes after addresses that other lanes write, which
// causes bank conflicts.
__device__ __forceinline__ UnaryRank unary_ranked(uint32_t bits, uint32_t before) {
    return UnaryRank{before < decodeBlockLen ? bits : 0, before};
}

__device__ __forceinline__ UnaryRank unary_rank(const UnaryBits& bits) {
    const uint32_t x = unary_lane_bits(bits);
    const uint32_t ones = __popc(x);
    return unary_ranked(x, decode_inclusive_sum(ones) - ones);
}

// One prefix sum for two blocks: neither sum exceeds 384.
__device__ __forceinline__ void unary_rank_two(const UnaryBits& a, const UnaryBits& b, UnaryRank& ra, UnaryRank& rb) {
    const uint32_t x = unary_lane_bits(a);
    const uint32_t y = unary_lane_bits(b);
    const uint32_t ones = __popc(x) + (__popc(y) << 16);
    const uint32_t before = decode_inclusive_sum(ones) - ones;
    ra = unary_ranked(x, before & 0xffff);
    rb = unary_ranked(y, before >> 16);
}

// Writes the number of zero bits before each of the lane's one bits. In lines 4 to 9 of Algorithm 1 a thread searches
// the word and the bit of its value. Here each lane decodes its own 12 bits without a search or a table: three
// instructions per bit, no branch.
#ifdef GRIFFIN_EMULATOR
__device__ __forceinline__ void unary_scatter(UnaryNumbers& numbers, const UnaryRank& rank) {
    uint32_t zeros = unaryLaneBits * decode_lane() - rank.before;
    uint8_t* out = numbers.zeros + rank.before;
    for (uint32_t k = 0; k < unaryLaneBits; k++) {
        if ((rank.bits & 1u << k) != 0) {
            *out++ = static_cast<uint8_t>(zeros);
        } else {
            zeros++;
        }
    }
}
#else
// clang-format off
#define UNARY_TEST(i, bit)                   \
    "and.b32 t, %1, " #bit ";\n\t"           \
    "setp.ne.u32 p" #i ", t, 0;\n\t"
#define UNARY_STEP(i, k)                     \
    "sub.u32 z, %2, %0;\n\t"                 \
    "add.u32 z, z, " #k ";\n\t"              \
    "@p" #i " st.shared.u8 [%0], z;\n\t"     \
    "@p" #i " add.u32 %0, %0, 1;\n\t"
__device__ __forceinline__ void unary_scatter(UnaryNumbers& numbers, const UnaryRank& rank) {
    typedef __attribute__((address_space(3))) uint8_t SharedByte;
    const uint32_t begin = static_cast<uint32_t>(reinterpret_cast<uintptr_t>((SharedByte*)numbers.zeros));
    uint32_t out = begin + rank.before;
    // A bit's position less the one bits before it.
    asm volatile("{ .reg .b32 t, z; .reg .pred p<6>;\n\t"
                 UNARY_TEST(0, 1) UNARY_TEST(1, 2) UNARY_TEST(2, 4)
                 UNARY_TEST(3, 8) UNARY_TEST(4, 16) UNARY_TEST(5, 32)
                 UNARY_STEP(0, 0) UNARY_STEP(1, 1) UNARY_STEP(2, 2)
                 UNARY_STEP(3, 3) UNARY_STEP(4, 4) UNARY_STEP(5, 5)
                 UNARY_TEST(0, 64) UNARY_TEST(1, 128) UNARY_TEST(2, 256)
                 UNARY_TEST(3, 512) UNARY_TEST(4, 1024) UNARY_TEST(5, 2048)
                 UNARY_STEP(0, 6) UNARY_STEP(1, 7) UNARY_STEP(2, 8)
                 UNARY_STEP(3, 9) UNARY_STEP(4, 10) UNARY_STEP(5, 11)
                 "}"
                 : "+r"(out)
                 : "r"(rank.bits), "r"(begin + unaryLaneBits * decode_lane())
                 : "memory");
}
#undef UNARY_TEST
#undef UNARY_STEP
// clang-format on
#endif

__device__ __forceinline__ void unary_find(UnaryNumbers& numbers, const UnaryBits& bits) {
    unary_scatter(numbers, unary_rank(bits));
}

// Numbers 4*lane to 4*lane+3, a byte each.
__device__ __forceinline__ uint32_t unary_bytes(const UnaryNumbers& numbers) {
    return *reinterpret_cast<const uint32_t*>(numbers.zeros + 4 * decode_lane());
}

// Numbers 4*lane to 4*lane+3. All lanes have called unary_find, then __syncwarp.
__device__ __forceinline__ uint4 unary_numbers(const UnaryNumbers& numbers) {
    const uint32_t zeros = unary_bytes(numbers);
    return make_uint4(zeros & 0xff, zeros >> 8 & 0xff, zeros >> 16 & 0xff, zeros >> 24);
}
