// The best hits of a search by many thread blocks. Each block keeps its own best keys (block_topk.cuh), all blocks
// share a histogram of scores that gives a threshold, and the last block merges the results.
//
// The threshold theta is a score that at least k documents reach. Each block has it in a word of shared memory that
// only increases, by atomics, and is read with ld_relaxed. Blocks publish their thresholds in device memory, one word
// for each warp of a block, because thousands of loads of one address would be serialised.
//
// blockDim.x is a multiple of 32, the other dimensions are 1.
#pragma once

#include "block_topk.cuh"
#include "hit_key.cuh"

constexpr uint32_t kAll = 0xffffffffU;  // all lanes of a warp

// The bucket of a distance above the lowest bucket. Monotonic. Buckets are 2^shift scores wide; the last one has no
// upper end.
template <uint32_t numBuckets>
__device__ __forceinline__ uint32_t score_bucket(uint32_t above, uint32_t shift) {
    return min(above >> shift, numBuckets - 1);
}

// Raises the block's theta, last read as own, to the value published by other blocks, and returns the maximum. Lanes
// may get different values. Called by a whole warp.
__device__ __forceinline__ uint32_t warp_hear(uint32_t* theta, uint32_t own, const uint32_t* told, uint32_t lane) {
    const uint32_t heard = ld_relaxed(told);
    if (heard > own) {
        if (lane == 0) {
            atomicMax(theta, heard);
        }
        own = heard;
    }
    return own;
}

// Of a key of hit_key.cuh.
struct HitScore {
    __device__ __forceinline__ uint32_t operator()(uint64_t key) const { return hit_score(key); }
};

// If any thread's key was refused: compacts the block's best keys and raises theta to the score of the k-th. Returns
// whether it did, identical in all threads. Called by all threads; ends with a barrier.
template <class Score = HitScore>
__device__ __forceinline__ bool block_make_room(BlockTopK& top, uint32_t* theta, uint64_t refused, Score score = {}) {
    if (__syncthreads_or(refused != 0) == 0) {
        return false;
    }
    block_topk_compact(top);
    if (threadIdx.x == 0) {
        atomicMax(theta, score(top.threshold));
    }
    __syncthreads();
    return true;
}

// Pushes load(i) for numKeys keys. Called by all threads; ends with a barrier.
template <class Load, class Score = HitScore>
__device__ __forceinline__ void block_take(BlockTopK& top, uint32_t* theta, uint32_t numKeys, Load load,
                                           Score score = {}) {
    for (uint32_t from = 0; from < numKeys; from += blockDim.x) {
        const uint32_t i = from + threadIdx.x;
        uint64_t key = i < numKeys ? load(i) : 0;
        do {
            if (key != 0 && block_topk_push(top, key) <= top.capacity) {
                key = 0;
            }
        } while (block_make_room(top, theta, key, score));
    }
}

// Calls write(rank, key) for each of the block's best k keys, and returns their number in all threads. keys is
// top.keys. Called by all threads, after a barrier.
template <class Write>
__device__ __forceinline__ uint32_t block_write_hits(BlockTopK& top, const uint64_t* keys, const uint32_t& k,
                                                     Write write) {
    uint32_t count = top.count;
    if (count <= blockDim.x) {  // each key counts the greater ones
        const uint64_t key = threadIdx.x < count ? keys[threadIdx.x] : 0;
        uint32_t rank = 0;
        for (uint32_t i = 0; i < count; i++) {
            rank += keys[i] > key ? 1 : 0;
        }
        if (threadIdx.x < count && rank < k) {
            write(rank, key);
        }
        count = min(count, k);
    } else {
        block_topk_sort(top);
        count = top.count;
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
            write(i, keys[i]);
        }
    }
    return count;
}

// Adds n to a work counter. Called by a whole warp.
template <class T>
__device__ __forceinline__ void warp_count_work(T* count, uint32_t n, uint32_t lane) {
    if (lane == 0 && n > 0) {
        atomicAdd(count, n);
    }
}

// Called by all threads.
template <class T>
__device__ __forceinline__ void block_clear(T* shared) {
    auto* words = reinterpret_cast<uint32_t*>(shared);
    for (uint32_t i = threadIdx.x; i < sizeof(T) / 4; i += blockDim.x) {
        words[i] = 0;
    }
}
