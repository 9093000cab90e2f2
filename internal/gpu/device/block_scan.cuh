#pragma once

#include "warp_scan.cuh"

// Returns the sum of value over the threads before this one, and adds the sum over all threads to total, in every
// thread. Called by all threads of a one-dimensional block whose size is a multiple of 32. sums is shared memory, [32],
// and may be reused at once: a barrier precedes the first access here and in the next call.
template <class T>
__device__ __forceinline__ T block_exclusive_sum(T value, T& total, T* sums) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, numWarps = blockDim.x >> 5;
    const T upTo = warp_inclusive_sum(value);
    __syncthreads();
    if (lane == 31) sums[warp] = upTo;
    __syncthreads();
    const T ofWarps = warp_inclusive_sum(lane < numWarps ? sums[lane] : T{0});
    const T before = __shfl_up_sync(0xffffffffu, ofWarps, 1);
    total += __shfl_sync(0xffffffffu, ofWarps, 31);
    return __shfl_sync(0xffffffffu, lane == 0 ? T{0} : before, static_cast<int>(warp)) + upTo - value;
}
