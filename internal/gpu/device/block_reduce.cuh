// Over the threads of a block, returned in every thread.
#pragma once

#include "warp_reduce.cuh"

// The block is one-dimensional, its size a multiple of 32. combine maps a lane's value to the result of its warp; none
// is the neutral element; words is shared memory, [32], and may be reused at once.
template <class T, class Combine>
__device__ __forceinline__ T block_reduce(T value, T none, T* words, Combine combine) {
    const uint32_t lane = threadIdx.x & 31;
    value = combine(value);
    __syncthreads();
    if (lane == 0) words[threadIdx.x >> 5] = value;
    __syncthreads();
    return combine(lane < blockDim.x >> 5 ? words[lane] : none);
}

template <class T>
__device__ __forceinline__ T block_sum(T value, T* words) {
    return block_reduce(value, T{0}, words, [](T v) { return warp_sum(v); });
}

template <class T>
__device__ __forceinline__ T block_max(T value, T least, T* words) {
    return block_reduce(value, least, words, [](T v) { return warp_max(v); });
}

template <class T>
__device__ __forceinline__ T block_min(T value, T greatest, T* words) {
    return block_reduce(value, greatest, words, [](T v) { return warp_min(v); });
}
