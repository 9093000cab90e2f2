#include "../../gpu/device/block_topk.cuh"
#include "../../gpu/device/cuda.cuh"
#include "selection.cuh"

constexpr uint32_t kBucketBits = 10;
constexpr uint32_t kNumBuckets = 1U << kBucketBits;

// Keys in [low, low + 2^bits) are undecided, higher keys are among the best k, lower keys are not.
template <typename Key>
struct BucketState {
    Key low;
    uint32_t bits;
    uint32_t need;         // number of undecided keys among the best k
    uint32_t isDone;       // all undecided keys are among the best k
    uint32_t numSelected;  // gather: keys already written
    uint32_t numBlocks;    // blocks that have completed the launch
    uint32_t bucket;       // scratch of the last block
    uint32_t holds;
    uint32_t numKeys;  // number of keys that are hits
    uint32_t counts[kNumBuckets];
};

template <typename Key>
struct SelectionBucketParams {
    SelectionSource source;
    BucketState<Key>* state;  // all 0 before the first launch
    Key* extremes;            // [2 * gridDim.x] of the first launch: maxima and minima of its blocks
    Key* selected;            // [k]
    uint32_t k;
    uint32_t reserved;
};

GRIFFIN_DEVICE uint32_t num_bits(uint64_t key) {
    return 64 - __clzll(key);
}

GRIFFIN_DEVICE uint32_t num_bits(uint128_t key) {
    uint64_t high = static_cast<uint64_t>(key >> 64);
    return high ? 64 + num_bits(high) : num_bits(static_cast<uint64_t>(key));
}

// Of a block's 256 threads, in all threads of its first warp.
template <typename Key>
GRIFFIN_DEVICE void block_extremes(Key* greatest, Key* least) {
    __shared__ Key warps[2][8];
    *greatest = warp_max_key(*greatest);
    *least = warp_min_key(*least);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        warps[0][threadIdx.x / 32] = *greatest;
        warps[1][threadIdx.x / 32] = *least;
    }
    __syncthreads();
    *greatest = warp_max_key(warps[0][threadIdx.x % 8]);
    *least = warp_min_key(warps[1][threadIdx.x % 8]);
}

template <typename Key>
GRIFFIN_DEVICE void find_range(const SelectionBucketParams<Key>& p) {
    if (is_skipped(p.source)) return;
    uint32_t numKeys = 0;
    Key greatest = 0, least = ~static_cast<Key>(0);
    each_key<Key>(p.source, num_scores(p.source), [&](Key key) {
        numKeys++;
        greatest = max(greatest, key);
        least = min(least, key);
    });
    numKeys = __reduce_add_sync(0xFFFFFFFFU, numKeys);
    if (threadIdx.x % 32 == 0 && numKeys > 0) atomicAdd(&p.state->numKeys, numKeys);
    block_extremes(&greatest, &least);
    if (threadIdx.x == 0) {
        store_key(p.extremes + 2 * blockIdx.x, greatest);
        store_key(p.extremes + 2 * blockIdx.x + 1, least);
    }
    if (!is_last_block(&p.state->numBlocks)) return;
    greatest = 0;
    least = ~static_cast<Key>(0);
    for (uint32_t b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
        greatest = max(greatest, load_key(p.extremes + 2 * b));
        least = min(least, load_key(p.extremes + 2 * b + 1));
    }
    block_extremes(&greatest, &least);
    if (threadIdx.x > 0) return;
    uint32_t total = ld_relaxed(&p.state->numKeys);
    p.state->numKeys = 0;
    p.state->numSelected = 0;
    p.state->low = least;  // greater than every key if there is none
    p.state->bits = total > 0 ? num_bits(greatest - least) : 0;
    p.state->need = min(p.k, total);
    p.state->isDone = total <= p.k || p.k == 0;
    if (p.k == 0) p.state->low = ~static_cast<Key>(0);
}

template <typename Key>
GRIFFIN_DEVICE void count_buckets(const SelectionBucketParams<Key>& p) {
    if (is_skipped(p.source) || p.state->isDone) return;
    __shared__ uint32_t counts[kNumBuckets];
    for (uint32_t b = threadIdx.x; b < kNumBuckets; b += blockDim.x) counts[b] = 0;
    __syncthreads();
    const Key low = p.state->low;
    const uint32_t bits = p.state->bits, shift = bits - min(bits, kBucketBits);
    each_key<Key>(p.source, num_scores(p.source), [&](Key key) {
        Key above = key - low;
        if (key >= low && num_bits(above) <= bits) atomicAdd(&counts[static_cast<uint32_t>(above >> shift)], 1U);
    });
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < kNumBuckets; b += blockDim.x) {
        if (counts[b] > 0) atomicAdd(&p.state->counts[b], counts[b]);
    }
    if (!is_last_block(&p.state->numBlocks)) return;
    for (uint32_t b = threadIdx.x; b < kNumBuckets; b += blockDim.x) {
        counts[b] = ld_relaxed(&p.state->counts[b]);
        st_relaxed(&p.state->counts[b], 0U);
    }
    __shared__ uint32_t bucket, need, holds;
    __syncthreads();
    if (threadIdx.x < 32) warp_find_bucket<kNumBuckets>(counts, p.state->need, &bucket, &need, &holds);
    __syncthreads();
    if (threadIdx.x > 0) return;
    p.state->low = low + (static_cast<Key>(bucket) << shift);
    p.state->bits = shift;
    p.state->need = need;
    p.state->isDone = need == holds;
}

template <typename Key>
GRIFFIN_DEVICE void gather_selected(const SelectionBucketParams<Key>& p) {
    if (is_skipped(p.source)) return;
    const Key low = p.state->low;
    each_key<Key>(p.source, num_scores(p.source), [&](Key key) {
        if (key >= low) p.selected[atomicAdd(&p.state->numSelected, 1U)] = key;
    });
}

// In dynamic shared memory, with room for k keys rounded up to a power of two.
template <typename Key>
GRIFFIN_DEVICE void sort_selected(const SelectionBucketParams<Key>& p) {
    if (is_skipped(p.source)) return;
    Key* keys = griffin_dynamic_shared<Key>();
    uint32_t n = p.state->numSelected;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) keys[i] = p.selected[i];
    block_sort_descending(keys, n);
    for (uint32_t i = threadIdx.x; i < p.k; i += blockDim.x) p.selected[i] = i < n ? keys[i] : 0;
}

// Bucket select, for keys of 64 bits and, named _wide, for scores of 48. After the range of the keys, each pass counts
// the keys that may be the k-th best in each of 1024 buckets, until all keys of the bucket of the k-th are among the
// best k. All keys from there up are written and sorted (griffin18 §3.1.3 after Alabi, Blanchard, Gordon and Steinbach,
// "Fast k-selection algorithms for graphics processing units", JEA 17, 2012, §3.1). Launches, on one stream: range,
// count 7 times (8 if wide: 10 bits of a key each; unnecessary ones return at once), gather, sort. Grid: any, the same
// for all, sort 1; block: 256; shared memory of sort: k keys, rounded up to a power of two. selected[0, k) are the best
// keys in descending order, padded with 0.
GRIFFIN_KERNEL(selection_bucket_range, SelectionBucketParams<uint64_t>, 256) {
    find_range(p);
}

GRIFFIN_KERNEL(selection_bucket_count, SelectionBucketParams<uint64_t>, 256) {
    count_buckets(p);
}

GRIFFIN_KERNEL(selection_bucket_gather, SelectionBucketParams<uint64_t>, 256) {
    gather_selected(p);
}

GRIFFIN_KERNEL(selection_bucket_sort, SelectionBucketParams<uint64_t>, 256) {
    sort_selected(p);
}

GRIFFIN_KERNEL(selection_bucket_range_wide, SelectionBucketParams<uint128_t>, 256) {
    find_range(p);
}

GRIFFIN_KERNEL(selection_bucket_count_wide, SelectionBucketParams<uint128_t>, 256) {
    count_buckets(p);
}

GRIFFIN_KERNEL(selection_bucket_gather_wide, SelectionBucketParams<uint128_t>, 256) {
    gather_selected(p);
}

GRIFFIN_KERNEL(selection_bucket_sort_wide, SelectionBucketParams<uint128_t>, 256) {
    sort_selected(p);
}
