#pragma once

#include "cuda.cuh"

// n: 0 to 32.
__device__ __forceinline__ uint32_t low_bits(uint32_t n) {
    return shift_right(0xffffffffu, 32 - n);
}

// As in __ballot_sync. Blocks are one-dimensional.
__device__ __forceinline__ uint32_t lanes_before() {
    return (1u << (threadIdx.x & 31)) - 1;
}

// 0 for 0.
__device__ __forceinline__ uint32_t bit_width(uint32_t x) {
    return 32 - static_cast<uint32_t>(__clz(x));
}

// The position of the set bit of x that has rank set bits below it; it must exist.
__device__ __forceinline__ uint32_t select_bit(uint32_t x, uint32_t rank) {
    uint32_t place = 0;
#pragma unroll
    for (uint32_t half = 16; half > 0; half /= 2) {
        const uint32_t below = static_cast<uint32_t>(__popc(x >> place & low_bits(half)));
        if (rank >= below) {
            rank -= below;
            place += half;
        }
    }
    return place;
}
