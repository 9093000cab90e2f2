/* Hits as 64-bit keys; a better hit has a greater key, and none is 0.
 *
 * A narrow query has scores below 2^32 and the keys of hit_key.cuh. The keys of a wide query are score << keyShift |
 * (complement of the DocID, keyShift bits), where numDocs < 2^keyShift and all scores are below 2^(64 - keyShift). Keys
 * have exact scores. Bounds and thresholds have 32 bits; in a wide query they are in units of 2^(scoreShift -
 * keyShift). Bounds round up and thresholds down, so that a pruned document scores less than the k-th hit. */
#pragma once

#include "block.cuh"

template <bool wide>
struct ImageKeys {
    using Sum = uint32_t; /* of contributions */

    static __device__ __forceinline__ uint64_t key(const ImageBlock& b, uint32_t score, uint32_t docID) {
        static_cast<void>(b);
        return hit_key(score, docID);
    }

    /* The score of a key in units of bounds, rounded down. */
    static __device__ __forceinline__ uint32_t score(const ImageBlock& b, uint64_t key) {
        static_cast<void>(b);
        return hit_score(key);
    }
};

template <>
struct ImageKeys<true> {
    using Sum = uint64_t;

    static __device__ __forceinline__ uint64_t key(const ImageBlock& b, uint64_t score, uint32_t docID) {
        const uint32_t shift = b.shared->query.keyShift;
        return score << shift | (~docID & ((uint64_t{1} << shift) - 1));
    }

    static __device__ __forceinline__ uint32_t score(const ImageBlock& b, uint64_t key) {
        return static_cast<uint32_t>(key >> b.shared->query.scoreShift);
    }
};

/* Offers the lanes' keys (0: none) to the block's top k. Returns the key if it did not fit; offer it again after the
 * next compaction. By a warp. */
template <bool wide = false>
__device__ __forceinline__ uint64_t imagesearch_offer(const ImageBlock& b, uint64_t key, bool raises = true) {
    if (__ballot_sync(kAll, key != 0) == 0) {
        return 0;
    }
    bool counted = false;
    if (key != 0 && ImageKeys<wide>::score(b, key) >= imagesearch_theta(b)) {
        const uint32_t pushed = block_topk_push(b.shared->top, key);
        if (pushed <= b.search->capacity) {
            counted = pushed > 0;
            if (counted) {
                uint32_t* buckets = b.state != nullptr ? b.state->buckets : b.shared->buckets;
                atomicAdd(buckets + imagesearch_bucket_of(b.shared->query, ImageKeys<wide>::score(b, key)), 1U);
            }
            key = 0;
        }
    } else {
        key = 0;
    }
    if (raises && imagesearch_worth_raising(b, static_cast<uint32_t>(__popc(__ballot_sync(kAll, counted))))) {
        imagesearch_raise(b);
    }
    return key;
}

/* Compacts the top k if any key was refused, and returns whether it did. By all threads. */
template <bool wide = false>
__device__ __forceinline__ bool imagesearch_make_room(const ImageBlock& b, uint64_t refused) {
    return block_make_room(b.shared->top, &b.shared->theta, refused,
                           [&b](uint64_t key) { return ImageKeys<wide>::score(b, key); });
}
