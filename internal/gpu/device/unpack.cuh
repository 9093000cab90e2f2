#pragma once

#include "bits.cuh"

// The number of width bits, 0 to 32, at bit of words. Reads the word with the first bit, and the next only if the
// number extends into it; none if width is 0.
__device__ __forceinline__ uint32_t unpack_at(const uint32_t* words, uint64_t bit, uint32_t width) {
    if (width == 0) return 0;
    const uint32_t* word = words + (bit >> 5);
    const uint32_t shift = static_cast<uint32_t>(bit) & 31;
    const uint32_t low = __ldg(word);
    const uint32_t high = shift + width > 32 ? __ldg(word + 1) : 0;
    return __funnelshift_r(low, high, shift) & low_bits(width);
}
