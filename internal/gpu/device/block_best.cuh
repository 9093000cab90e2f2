// The best hits of a search that many blocks of threads take part in: each keeps its own (block_topk.cuh), all share
// a histogram of scores from which a threshold follows, and the last block takes what the others kept.
//
// The threshold, theta, is a score that k documents are known to reach. Each block has it in a word of shared memory
// that only rises, by atomics; it is read with ld_relaxed. What a block finds out it tells the others: through a word
// of device memory for each warp of a block, because at one address thousands of loads would wait for each other.
//
// blockDim.x is a multiple of 32, the other dimensions are 1.
#pragma once

#include "block_topk.cuh"
#include "hit_key.cuh"

constexpr uint32_t kAll = 0xffffffffU;  // lanes of a warp

// The bucket, of numBuckets, of a score or a bound that is so far above those of the least bucket: greater for greater
// ones. Buckets are of 2^shift scores; the last has all that are above it, too.
template <uint32_t numBuckets>
__device__ __forceinline__ uint32_t score_bucket(uint32_t above, uint32_t shift) {
    return min(above >> shift, numBuckets - 1);
}

// Raises the block's theta, of which the lane knows own, to what other blocks have told, and returns the greater one;
// lanes may see different ones. By a warp.
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

// Compacts the block's best keys, and raises theta to the score of the k-th, if some thread's key was refused: there
// was no room for it. Returns whether it did, the same in all threads. By all threads; ends with a barrier.
__device__ __forceinline__ bool block_make_room(BlockTopK& top, uint32_t* theta, uint64_t refused) {
    if (__syncthreads_or(refused != 0) == 0) {
        return false;
    }
    block_topk_compact(top);
    if (threadIdx.x == 0) {
        atomicMax(theta, hit_score(top.threshold));
    }
    __syncthreads();
    return true;
}

// Pushes numKeys keys, of which load(i) gives one. By all threads; ends with a barrier.
template <class Load>
__device__ __forceinline__ void block_take(BlockTopK& top, uint32_t* theta, uint32_t numKeys, Load load) {
    for (uint32_t from = 0; from < numKeys; from += blockDim.x) {
        const uint32_t i = from + threadIdx.x;
        uint64_t key = i < numKeys ? load(i) : 0;
        do {
            if (key != 0 && block_topk_push(top, key) <= top.capacity) {
                key = 0;
            }
        } while (block_make_room(top, theta, key));
    }
}

// Calls write(i, key) with the i-th best of the block's keys for each of the best k, and returns their number, the
// same in all threads. keys are those of top. By all threads, behind a barrier.
template <class Write>
__device__ __forceinline__ uint32_t block_write_hits(BlockTopK& top, const uint64_t* keys, const uint32_t& k,
                                                     Write write) {
    uint32_t count = top.count;
    if (count <= blockDim.x) {  // each key finds its place by counting those before it
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

// Adds a warp's n pieces of work to a count of the block's. By a warp.
template <class T>
__device__ __forceinline__ void warp_count_work(T* count, uint32_t n, uint32_t lane) {
    if (lane == 0 && n > 0) {
        atomicAdd(count, n);
    }
}

// Clears the words of what blocks share. By all threads.
template <class T>
__device__ __forceinline__ void block_clear(T* shared) {
    auto* words = reinterpret_cast<uint32_t*>(shared);
    for (uint32_t i = threadIdx.x; i < sizeof(T) / 4; i += blockDim.x) {
        words[i] = 0;
    }
}
