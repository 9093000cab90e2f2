/* Each block keeps its best hits; all blocks share a histogram of scores, which determines the threshold. */
#pragma once

#include "../device/warp_scan.cuh"
#include "packedsearch.cuh"

/* Values that are both written and read between two barriers are only accessed by atomics and ld_relaxed. */
struct PackedShared {
    PackedSearch search; /* without unused lists */
    BlockTopK top;
    unsigned long long work[kNumWork];
    uint32_t theta;
    uint32_t count;
    uint32_t last;                 /* 1: this is the launch's last block */
    uint32_t buckets[kNumBuckets]; /* scores not yet in the shared histogram. Invariant: all 0 between searches */
    DecodeStaging staging[kNumWarps];
};

struct PackedBlock {
    PackedShared* shared;
    PackedState* state;
    uint64_t* keys; /* [capacity], shared memory */
    uint32_t lane, warp;
};

/* The keys are at the start of dynamic shared memory. By all threads; ends with a barrier. */
__device__ __forceinline__ void packedsearch_begin(PackedBlock& b, PackedShared& shared, const PackedSearch& p) {
    b.shared = &shared;
    b.lane = threadIdx.x % 32;
    b.warp = threadIdx.x / 32;
    b.keys = griffin_dynamic_shared<uint64_t>();
    packedsearch_unpack(p, &shared.search);
    b.state = shared.search.state;
    decode_clear_staging(shared.staging[b.warp]);
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

/* Lanes may get different values. */
__device__ __forceinline__ uint32_t packedsearch_theta(const PackedBlock& b) {
    return ld_relaxed(&b.shared->theta);
}

/* The latest threshold of all blocks, the same for all lanes. By a warp. */
__device__ __forceinline__ uint32_t packedsearch_hear(const PackedBlock& b) {
    return __shfl_sync(kAll, warp_hear(&b.shared->theta, packedsearch_theta(b), b.state->thetas[b.warp], b.lane), 0);
}

/* The highest bucket border that k scores reach, or 0; the same in all lanes. By a warp. */
__device__ __forceinline__ uint32_t packedsearch_border(const PackedBlock& b, const uint32_t* buckets) {
    constexpr uint32_t perLane = kNumBuckets / 32;
    const PackedSearch& q = b.shared->search;
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

/* Of a score that is at least the query's threshold. */
__device__ __forceinline__ uint32_t packedsearch_bucket(const PackedSearch& q, uint32_t score) {
    return score_bucket<kNumBuckets>(score - q.threshold, q.bucketShift);
}

/* Counts a score in the block's buckets if it reaches the threshold, and returns whether it does. */
__device__ __forceinline__ bool packedsearch_count_score(const PackedBlock& b, uint32_t score) {
    if (score < packedsearch_theta(b)) {
        return false;
    }
    atomicAdd(b.shared->buckets + packedsearch_bucket(b.shared->search, score), 1U);
    return true;
}

/* Raises the threshold from the block's scores and adds the scores that reach it to the shared histogram. By all
 * threads, after a barrier; ends with one. */
__device__ __forceinline__ void packedsearch_raise(const PackedBlock& b) {
    PackedShared& s = *b.shared;
    if (b.warp == 0) {
        const uint32_t border = packedsearch_border(b, s.buckets);
        if (b.lane == 0) {
            atomicMax(&s.theta, border);
        }
    }
    __syncthreads();
    const uint32_t least = packedsearch_bucket(s.search, packedsearch_theta(b));
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
        const uint32_t border = packedsearch_border(b, b.state->buckets);
        if (border > packedsearch_theta(b)) {
            if (b.lane == 0) {
                atomicMax(&s.theta, border);
            }
            if (b.lane < kNumWarps) {
                atomicMax(b.state->thetas[b.lane], border);
            }
        }
    }
}

/* Offers the lanes' keys (0: none) to the block's top k. Returns the key if it did not fit; offer it again after the
 * next compaction. By a warp. */
__device__ __forceinline__ uint64_t packedsearch_offer(const PackedBlock& b, uint64_t key) {
    if (key != 0 &&
        (hit_score(key) < packedsearch_theta(b) || block_topk_push(b.shared->top, key) <= b.shared->search.capacity)) {
        key = 0;
    }
    return key;
}

/* Compacts the top k if any key was refused, and returns whether it did. By all threads. */
__device__ __forceinline__ bool packedsearch_make_room(const PackedBlock& b, uint64_t refused) {
    return block_make_room(b.shared->top, &b.shared->theta, refused);
}

/* Offers the keys that next() returns, until it returns 0 in all lanes; some: the thread has counted scores of these
 * keys. By all threads; ends with a barrier. */
template <class Next>
__device__ __forceinline__ void packedsearch_offer_all(const PackedBlock& b, bool some, Next next) {
    if (__syncthreads_or(some) == 0) {
        return;
    }
    packedsearch_raise(b);
    uint64_t key = next();
    do {
        while (__ballot_sync(kAll, key != 0) != 0) {
            key = packedsearch_offer(b, key);
            if (__ballot_sync(kAll, key != 0) != 0) {
                break;
            }
            key = next();
        }
    } while (packedsearch_make_room(b, key));
}

__device__ __forceinline__ void packedsearch_worked(const PackedBlock& b, uint32_t kind, uint32_t n) {
    warp_count_work(b.shared->work + kind, n, b.lane);
}

/* Stores the block's keys. Returns true in the launch's last block, which then has the best keys of all blocks in top.
 * By all threads. */
__device__ __forceinline__ bool packedsearch_join(const PackedBlock& b) {
    BlockTopK& top = b.shared->top;
    const PackedSearch& q = b.shared->search;
    __syncthreads();
    if (q.k > 0) {
        const uint32_t theta = max(ld_relaxed(b.state->thetas[0]), packedsearch_theta(b));
        uint32_t numGood = 0;
        for (uint32_t from = 0; from < top.count; from += blockDim.x) {
            const uint32_t i = from + threadIdx.x;
            numGood += static_cast<uint32_t>(__syncthreads_count(i < top.count && hit_score(top.keys[i]) >= theta));
        }
        if (numGood > top.k) { /* a block has room for k keys */
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
    if (q.outDocIDs != nullptr) { /* the host reads this block's candidates */
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

/* Best first. By all threads of the last block. */
__device__ __forceinline__ void packedsearch_write_hits(const PackedBlock& b) {
    const PackedSearch& q = b.shared->search;
    __syncthreads();
    const uint32_t count =
        block_write_hits(b.shared->top, b.keys, q.k, [&](uint32_t i, uint64_t key) { q.hits[i] = key; });
    if (threadIdx.x == 0) {
        q.result->numHits = count;
    }
}

/* The last block of the launch writes the result. done, for which the host waits, is written last, after a system
 * fence, which takes microseconds. By all threads. */
__device__ __forceinline__ void packedsearch_end(const PackedBlock& b) {
    if (!packedsearch_join(b)) {
        return;
    }
    const PackedSearch& q = b.shared->search;
    if (q.k > 0) {
        packedsearch_write_hits(b);
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
