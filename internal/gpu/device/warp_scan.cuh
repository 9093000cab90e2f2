// Over all 32 lanes of a warp, in one-dimensional blocks. Hillis and Steele, CACM 29(12), 1986: five shuffle steps.
#pragma once

#include "cuda.cuh"

// Up to and including this lane; 32 or 64 bits.
template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T value) {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
        const T before = __shfl_up_sync(0xffffffffu, value, d);
        value += lane >= d ? before : 0;
    }
    return value;
}

// Before this lane; total is the sum over all, in every lane.
template <class T>
__device__ __forceinline__ T warp_exclusive_sum(T value, T& total) {
    const T upTo = warp_inclusive_sum(value);
    total = __shfl_sync(0xffffffffu, upTo, 31);
    return upTo - value;
}

// Up to and including this lane.
template <class T>
__device__ __forceinline__ T warp_inclusive_max(T value) {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
        const T before = __shfl_up_sync(0xffffffffu, value, d);
        value = lane >= d ? max(value, before) : value;
    }
    return value;
}
