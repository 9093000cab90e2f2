// The best k of the keys that the threads of a block produce, in shared memory.
//
// Keys (hit_key.cuh, or any distinct numbers except 0) are pushed to an
// unsorted buffer. When it is nearly full, the whole block compacts it to the
// best k by radix selection. The k-th key becomes the threshold: lower keys are
// not stored any more. At the end the block sorts the buffer.
//
//	__shared__ BlockTopK top;
//	uint64_t* keys = griffin_dynamic_shared<uint64_t>();  // [capacity]
//	block_topk_init(top, keys, capacity, k, 0);
//	while (...) {                                         // the same for all threads
//	  uint32_t pushed = has ? block_topk_push(top, key) : 0;
//	  if (__syncthreads_or(pushed > top.capacity - blockDim.x)) block_topk_compact(top);
//	}
//	block_topk_sort(top);                                 // top.keys[0, top.count), best first
//
// Contract:
//   - blockDim.x is a multiple of 32, the other dimensions are 1. capacity is a power
//     of two greater than k, which is below 2^31. 8 bytes of shared memory per key.
//   - All threads call init, compact and sort together. Each begins and ends with a
//     barrier. Any threads may call push, in any branch, between them.
//   - push (and push_warp, called by all lanes of a warp together) returns 0 if the
//     key is not above the threshold. Otherwise it returns the number of pushed keys,
//     including this one. If this exceeds capacity, the key was NOT stored: the caller
//     keeps it and pushes it again after the next compact. Some thread gets the
//     largest of these numbers, so the barrier in the example makes all threads agree
//     whether to compact. If k plus the number of pushes between two barriers (at
//     most blockDim.x in the example) does not exceed capacity, no push fails.
//   - Between two calls of the block all threads may read threshold; only these
//     calls write it. It is 0, or the argument of init, until a compact finds k keys.
//     An external threshold may be used too: keys below k keys of other blocks need
//     not be pushed.
//   - After sort, keys[0, count) are the best min(k, pushed) keys in descending order.
//     Further pushes are allowed.
//
// The result does not depend on the order of pushes. The selection is the radix
// select of Alabi, Blanchard, Gordon and Steinbach, "Fast k-selection
// algorithms for graphics processing units", JEA 17, 2012, §3.2; we start at
// the first bit in which the keys differ. The sort is bitonic (Batcher, AFIPS
// 1968).
#pragma once

#include "warp_reduce.cuh"

constexpr uint32_t kTopKDigitBits = 8;
constexpr uint32_t kTopKBuckets = 1U << kTopKDigitBits;

struct BlockTopK {
    uint64_t* keys;      // [capacity], shared memory
    uint64_t threshold;  // only keys above it are stored
    uint64_t lowest;     // compact: the smallest key kept
    uint32_t capacity;
    uint32_t k;
    uint32_t count;   // keys stored, plus failed pushes
    uint32_t kept;    // compact: keys already stored
    uint32_t bucket;  // compact: the bucket of the k-th key,
    uint32_t need;    // number of its keys that are among the best k,
    uint32_t holds;   // and its total number of keys
    uint32_t differ[2];
    uint32_t buckets[kTopKBuckets];
};

// Keys that are not above threshold are not stored; for a score that k documents reach, pass score << 32.
__device__ inline void block_topk_init(BlockTopK& top, uint64_t* keys, uint32_t capacity, uint32_t k,
                                       uint64_t threshold) {
    __syncthreads();
    if (threadIdx.x == 0) {
        top.keys = keys;
        top.threshold = k > 0 ? threshold : ~static_cast<uint64_t>(0);
        top.capacity = capacity;
        top.k = k;
        top.count = 0;
    }
    __syncthreads();
}

__device__ __forceinline__ uint32_t block_topk_push(BlockTopK& top, uint64_t key) {
    if (key <= top.threshold) return 0;
    uint32_t slot = atomicAdd(&top.count, 1U);
    if (slot < top.capacity) top.keys[slot] = key;
    return slot + 1;
}

// block_topk_push for all lanes of a warp together; a lane without a key passes
// 0. It needs one atomic addition, which is faster if several lanes have keys
// above the threshold.
__device__ __forceinline__ uint32_t block_topk_push_warp(BlockTopK& top, uint64_t key) {
    bool has = key > top.threshold;
    uint32_t lanes = __ballot_sync(0xFFFFFFFFU, has);
    if (lanes == 0) return 0;
    uint32_t lane = threadIdx.x % 32, slot = 0;
    if (lane == 0) slot = atomicAdd(&top.count, static_cast<uint32_t>(__popc(lanes)));
    slot = __shfl_sync(0xFFFFFFFFU, slot, 0) + __popc(lanes & ((1U << lane) - 1));
    if (!has) return 0;
    if (slot < top.capacity) top.keys[slot] = key;
    return slot + 1;
}

// The number of low bits that differ among the first n > 0 keys, in all threads.
__device__ inline uint32_t block_topk_differing(BlockTopK& top, uint32_t n) {
    if (threadIdx.x < 2) top.differ[threadIdx.x] = 0;
    __syncthreads();
    uint64_t first = top.keys[0], differ = 0;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) differ |= top.keys[i] ^ first;
    uint32_t low = __reduce_or_sync(0xFFFFFFFFU, static_cast<uint32_t>(differ));
    uint32_t high = __reduce_or_sync(0xFFFFFFFFU, static_cast<uint32_t>(differ >> 32));
    if (threadIdx.x % 32 == 0) {
        if (low) atomicOr(&top.differ[0], low);
        if (high) atomicOr(&top.differ[1], high);
    }
    __syncthreads();
    return top.differ[1] ? 64 - __clz(top.differ[1]) : 32 - __clz(top.differ[0]);
}

// Finds the bucket that contains the wanted-th largest key; counts add up to at least wanted. One lane writes the
// bucket, how many of its keys are among those wanted (need), and its count (holds). Called by all lanes of one warp,
// after a barrier that follows the counting.
template <uint32_t numBuckets>
__device__ inline void warp_find_bucket(const uint32_t* counts, uint32_t wanted, uint32_t* bucket, uint32_t* need,
                                        uint32_t* holds) {
    constexpr uint32_t perLane = numBuckets / 32;
    uint32_t lane = threadIdx.x % 32;
    uint32_t top = numBuckets - 1 - lane * perLane;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < perLane; i++) sum += counts[top - i];
    uint32_t upTo = sum;
    for (uint32_t d = 1; d < 32; d *= 2) {
        uint32_t other = __shfl_up_sync(0xFFFFFFFFU, upTo, d);
        if (lane >= d) upTo += other;
    }
    uint32_t above = upTo - sum;
    if (above < wanted && wanted <= upTo) {
        uint32_t i = 0;
        while (above + counts[top - i] < wanted) above += counts[top - i++];
        *bucket = top - i;
        *need = wanted - above;
        *holds = counts[top - i];
    }
}

// In all threads a number that exactly top.k of the first n > k keys reach.
__device__ inline uint64_t block_topk_bound(BlockTopK& top, uint32_t n) {
    uint32_t bits = block_topk_differing(top, n);  // undecided low bits of the keys
    uint64_t prefix = bits < 64 ? top.keys[0] >> bits : 0;
    uint32_t wanted = top.k;
    while (bits > 0) {
        uint32_t width = min(bits, kTopKDigitBits);
        uint32_t shift = bits - width;
        for (uint32_t i = threadIdx.x; i < kTopKBuckets; i += blockDim.x) top.buckets[i] = 0;
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
            uint64_t key = top.keys[i];
            if (bits == 64 || key >> bits == prefix) {
                atomicAdd(&top.buckets[static_cast<uint32_t>(key >> shift) & ((1U << width) - 1)], 1U);
            }
        }
        __syncthreads();
        if (threadIdx.x < 32) {
            warp_find_bucket<kTopKBuckets>(top.buckets, wanted, &top.bucket, &top.need, &top.holds);
        }
        __syncthreads();
        prefix = prefix << width | top.bucket;
        bits = shift;
        wanted = top.need;
        if (wanted == top.holds) break;  // the whole bucket is selected
    }
    return prefix << bits;
}

// Keeps the best k of the stored keys, in undefined order. If there are k, the threshold becomes the k-th.
__device__ inline void block_topk_compact(BlockTopK& top) {
    __syncthreads();
    uint32_t n = min(top.count, top.capacity);
    __syncthreads();
    if (n < top.k || n == 0) return;  // all are kept: no push has failed
    uint64_t bound = n > top.k ? block_topk_bound(top, n) : 0;
    if (threadIdx.x == 0) {
        top.kept = 0;
        top.lowest = ~static_cast<uint64_t>(0);
    }
    uint64_t lowest = ~static_cast<uint64_t>(0);
    for (uint32_t from = 0; from < n; from += blockDim.x) {
        uint32_t i = from + threadIdx.x;
        uint64_t key = i < n ? top.keys[i] : 0;
        __syncthreads();  // slots below from + blockDim.x have been read
        if (i < n && key >= bound) {
            top.keys[atomicAdd(&top.kept, 1U)] = key;
            lowest = min(lowest, key);
        }
    }
    lowest = warp_min(lowest);
    if (threadIdx.x % 32 == 0) atomicMin(&top.lowest, lowest);
    __syncthreads();
    if (threadIdx.x == 0) {
        top.count = top.kept;
        top.threshold = max(top.threshold, top.lowest);
    }
    __syncthreads();
}

// Sorts n keys in descending order. The buffer has space for n rounded up to a power of two; keys behind n are
// overwritten. Called by all threads; begins and ends with a barrier.
template <typename Key>
__device__ inline void block_sort_descending(Key* keys, uint32_t n) {
    if (n < 2) {
        __syncthreads();
        return;
    }
    uint32_t padded = 2U << (31 - __clz(n - 1));
    __syncthreads();
    for (uint32_t i = n + threadIdx.x; i < padded; i += blockDim.x) keys[i] = 0;
    __syncthreads();
    // With strides up to 32, a warp's 32 pairs lie in 64 keys of its own. Only
    // a step with a longer stride, and the step after it, wait for other warps.
    uint32_t before = 64;
    for (uint32_t size = 2; size <= padded; size *= 2) {
        for (uint32_t stride = size / 2; stride > 0; stride /= 2) {
            if (stride > 32 || before > 32) {
                __syncthreads();
            } else {
                __syncwarp(0xFFFFFFFFU);
            }
            before = stride;
            for (uint32_t i = threadIdx.x; i < padded / 2; i += blockDim.x) {
                uint32_t at = 2 * i - (i & (stride - 1));
                Key a = keys[at], b = keys[at + stride];
                if ((a < b) == ((at & size) == 0)) {
                    keys[at] = b;
                    keys[at + stride] = a;
                }
            }
        }
    }
    __syncthreads();
}

__device__ inline void block_topk_sort(BlockTopK& top) {
    block_topk_compact(top);
    block_sort_descending(top.keys, top.count);
}
