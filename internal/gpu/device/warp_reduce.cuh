// Over all 32 lanes of a warp, returned in every lane, for 64 bits; 32 bits have single instructions (__reduce_add_sync
// and others).
#pragma once

#include "cuda.cuh"

template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(0xffffffffu, value, d);
    return value;
}

template <class T>
__device__ __forceinline__ T warp_min(T value) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) value = min(value, __shfl_xor_sync(0xffffffffu, value, d));
    return value;
}

template <class T>
__device__ __forceinline__ T warp_max(T value) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) value = max(value, __shfl_xor_sync(0xffffffffu, value, d));
    return value;
}
