/* The best hits of a query, by all blocks of a launch: each keeps its own, and they share a histogram of scores from
 * which the threshold follows. */
#pragma once

#include "../device/warp_scan.cuh"
#include "direct.cuh"

/* Numbers that the threads of a block share. Those that are written and read between two barriers are only touched by
 * atomics and ld_relaxed. */
struct DirectShared {
    DirectSearch search; /* without the lists that there are not */
    BlockTopK top;
    unsigned long long work[kNumWork];
    uint32_t theta;
    uint32_t count;
    uint32_t last;                 /* whether this is the launch's last block */
    uint32_t buckets[kNumBuckets]; /* scores that the other blocks do not know of. Invariant: all 0 between searches */
    DirectStaging staging[kNumWarps];
};

/* A block's view of its query. */
struct DirectBlock {
    DirectShared* shared;
    DirectState* state;
    uint64_t* keys; /* [capacity], shared memory */
    uint32_t lane, warp;
};

/* Begins a block: keys lie at the start of the dynamic shared memory. By all threads; ends with a barrier. */
__device__ __forceinline__ void direct_begin(DirectBlock& b, DirectShared& shared, const DirectSearch& p) {
    b.shared = &shared;
    b.lane = threadIdx.x % 32;
    b.warp = threadIdx.x / 32;
    b.keys = griffin_dynamic_shared<uint64_t>();
    direct_unpack(p, &shared.search);
    b.state = shared.search.state;
    direct_clear(shared.staging[b.warp]);
    if (threadIdx.x == 0) {
        shared.theta = shared.search.threshold;
        shared.count = 0;
        for (uint32_t i = 0; i < kNumWork; i++) {
            shared.work[i] = 0;
        }
    }
    for (uint32_t i = threadIdx.x; i < kNumBuckets; i += kThreads) {
        shared.buckets[i] = 0;
    }
    block_topk_init(shared.top, b.keys, shared.search.capacity, shared.search.k, 0);
}

/* The threshold, as far as this block knows; lanes may see different ones. */
__device__ __forceinline__ uint32_t direct_theta(const DirectBlock& b) {
    return ld_relaxed(&b.shared->theta);
}

/* The threshold, the same for all lanes, as far as any block has come. By a warp. */
__device__ __forceinline__ uint32_t direct_hear(const DirectBlock& b) {
    return __shfl_sync(kAll, warp_hear(&b.shared->theta, direct_theta(b), b.state->thetas[b.warp], b.lane), 0);
}

/* The greatest bucket border that k of the scores in buckets reach, or 0; the same in all lanes. By a warp. */
__device__ __forceinline__ uint32_t direct_border(const DirectBlock& b, const uint32_t* buckets) {
    constexpr uint32_t perLane = kNumBuckets / 32;
    const DirectSearch& q = b.shared->search;
    const uint32_t first = kNumBuckets - (b.lane + 1) * perLane;
    uint32_t counts[perLane];
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < perLane; i++) {
        counts[i] = ld_relaxed(buckets + first + i);
        sum += counts[i];
    }
    const uint32_t upTo = warp_inclusive_sum(sum);
    uint32_t above = upTo - sum;
    const uint32_t found = __ballot_sync(kAll, above < q.k && q.k <= upTo);
    if (found == 0) {
        return 0;
    }
    uint32_t border = 0;
    if ((found >> b.lane & 1) != 0) {
        uint32_t bucket = first + perLane - 1;
#pragma unroll
        for (uint32_t i = perLane; i-- > 0;) {
            above += counts[i];
            bucket -= above < q.k ? 1 : 0;
        }
        border = q.threshold + (bucket << q.bucketShift);
    }
    return __shfl_sync(kAll, border, __ffs(found) - 1);
}

/* The bucket of a score of at least the query's threshold. */
__device__ __forceinline__ uint32_t direct_bucket(const DirectSearch& q, uint32_t score) {
    return score_bucket<kNumBuckets>(score - q.threshold, q.bucketShift);
}

/* Counts a score in the block's own buckets, if it reaches the threshold. Returns whether it does. */
__device__ __forceinline__ bool direct_count_score(const DirectBlock& b, uint32_t score) {
    if (score < direct_theta(b)) {
        return false;
    }
    atomicAdd(b.shared->buckets + direct_bucket(b.shared->search, score), 1U);
    return true;
}

/* Raises the threshold by the scores that the block has counted, and gives those to the other blocks. By all threads,
 * behind a barrier; ends with one. */
__device__ __forceinline__ void direct_raise(const DirectBlock& b) {
    DirectShared& s = *b.shared;
    if (b.warp == 0) {
        const uint32_t border = direct_border(b, s.buckets);
        if (b.lane == 0) {
            atomicMax(&s.theta, border);
        }
    }
    __syncthreads();
    const uint32_t least = direct_bucket(s.search, direct_theta(b));
    for (uint32_t i = threadIdx.x; i < kNumBuckets; i += kThreads) {
        const uint32_t count = s.buckets[i];
        if (count > 0) {
            s.buckets[i] = 0;
            if (i >= least) {
                atomicAdd(b.state->buckets + i, count);
            }
        }
    }
    __syncthreads();
    if (b.warp == kNumWarps - 1) { /* while the other warps go on */
        const uint32_t border = direct_border(b, b.state->buckets);
        if (border > direct_theta(b)) {
            if (b.lane == 0) {
                atomicMax(&s.theta, border);
            }
            if (b.lane < kNumWarps) {
                atomicMax(b.state->thetas[b.lane], border);
            }
        }
    }
}

/* Offers the keys of a warp's lanes (0: none) to the block's best. Returns the key if there was no room for it: it is
 * to be offered again after the next compaction. By a warp. */
__device__ __forceinline__ uint64_t direct_offer(const DirectBlock& b, uint64_t key) {
    if (key != 0 &&
        (hit_score(key) < direct_theta(b) || block_topk_push(b.shared->top, key) <= b.shared->search.capacity)) {
        key = 0;
    }
    return key;
}

/* Compacts the block's best keys, if some did not fit. By all threads. */
__device__ __forceinline__ bool direct_make_room(const DirectBlock& b, uint64_t refused) {
    return block_make_room(b.shared->top, &b.shared->theta, refused);
}

/* Offers the keys that next() gives, one by one, until it gives 0; some says whether a thread has counted their scores
 * with direct_count_score. By all threads; ends with a barrier. */
template <class Next>
__device__ __forceinline__ void direct_offer_all(const DirectBlock& b, bool some, Next next) {
    if (__syncthreads_or(some) == 0) {
        return;
    }
    direct_raise(b);
    uint64_t key = next();
    do {
        while (__ballot_sync(kAll, key != 0) != 0) {
            key = direct_offer(b, key);
            if (__ballot_sync(kAll, key != 0) != 0) {
                break;
            }
            key = next();
        }
    } while (direct_make_room(b, key));
}

/* Adds a warp's counts of work to the block's. */
__device__ __forceinline__ void direct_worked(const DirectBlock& b, uint32_t kind, uint32_t n) {
    warp_count_work(b.shared->work + kind, n, b.lane);
}

/* Gives what a block found to the launch's last block: true in that one, which then has the best of all in top. */
__device__ __forceinline__ bool direct_join(const DirectBlock& b) {
    BlockTopK& top = b.shared->top;
    const DirectSearch& q = b.shared->search;
    __syncthreads();
    if (q.k > 0) {
        const uint32_t theta = max(ld_relaxed(b.state->thetas[0]), direct_theta(b));
        uint32_t numGood = 0;
        for (uint32_t from = 0; from < top.count; from += blockDim.x) {
            const uint32_t i = from + threadIdx.x;
            numGood += static_cast<uint32_t>(__syncthreads_count(i < top.count && hit_score(top.keys[i]) >= theta));
        }
        if (numGood > top.k) { /* there is room for k keys of each block */
            block_topk_compact(top);
        }
        for (uint32_t i = threadIdx.x; i < top.count; i += blockDim.x) {
            if (hit_score(top.keys[i]) >= theta) {
                q.keys[atomicAdd(&b.state->numKeys, 1U)] = top.keys[i];
            }
        }
    }
    if (threadIdx.x < kNumWork) {
        atomicAdd(b.state->work + threadIdx.x, b.shared->work[threadIdx.x]);
    }
    if (threadIdx.x == 0) {
        atomicAdd(&b.state->count, b.shared->count);
    }
    if (q.outDocIDs != nullptr) { /* the host reads what this block wrote */
        __threadfence_system();
    } else {
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        b.shared->last = atomicAdd(&b.state->done, 1U) + 1 == gridDim.x ? 1 : 0;
    }
    __syncthreads();
    if (b.shared->last == 0) {
        return false;
    }
    __threadfence();
    const uint32_t numKeys = ld_relaxed(&b.state->numKeys);
    block_topk_init(top, top.keys, top.capacity, top.k, 0);
    block_take(top, &b.shared->theta, numKeys, [&](uint32_t i) { return __ldcg(q.keys + i); });
    return true;
}

/* Writes the hits, best first, and their number. By all threads of the last block. */
__device__ __forceinline__ void direct_write_hits(const DirectBlock& b) {
    const DirectSearch& q = b.shared->search;
    __syncthreads();
    const uint32_t count =
        block_write_hits(b.shared->top, b.keys, q.k, [&](uint32_t i, uint64_t key) { q.hits[i] = key; });
    if (threadIdx.x == 0) {
        q.result->numHits = count;
    }
}

/* Ends a block; the last one of the launch writes the result, and what the host waits for last: one fence of the
 * system, which takes microseconds, lies before it. By all threads. */
__device__ __forceinline__ void direct_end(const DirectBlock& b) {
    if (!direct_join(b)) {
        return;
    }
    const DirectSearch& q = b.shared->search;
    if (q.k > 0) {
        direct_write_hits(b);
    }
    if (threadIdx.x < kNumWork) {
        q.result->work[threadIdx.x] = ld_relaxed(b.state->work + threadIdx.x);
    }
    if (threadIdx.x == 0) {
        q.result->count = ld_relaxed(&b.state->count);
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        st_relaxed_system(&q.result->done, q.launch);
    }
    block_clear(b.state);
}
