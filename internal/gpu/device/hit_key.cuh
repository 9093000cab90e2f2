// A hit as one number that increases with its rank in the total order of
// results, score descending, then DocID ascending, as in package topk:
//
//	63            32 31             0
//	+---------------+---------------+
//	|     score     |    ~DocID     |
//	+---------------+---------------+
//
// No document has DocID 2^32-1, so no hit has key 0, which stands for "none".
// Keys of different documents differ. Scores must be below 2^32.
#pragma once

#include "cuda.cuh"

__device__ __forceinline__ uint64_t hit_key(uint32_t score, uint32_t docID) {
    return static_cast<uint64_t>(score) << 32 | static_cast<uint32_t>(~docID);
}

__device__ __forceinline__ uint32_t hit_score(uint64_t key) {
    return static_cast<uint32_t>(key >> 32);
}

__device__ __forceinline__ uint32_t hit_docID(uint64_t key) {
    return ~static_cast<uint32_t>(key);
}
