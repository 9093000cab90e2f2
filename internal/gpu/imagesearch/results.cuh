#pragma once

#include "key.cuh"

/* Writes the answer of a single query from keys [0, count) in b.keys. The host checks each word for arrival, so the
 * writes need no order. By all threads. */
__device__ __forceinline__ void imagesearch_answer(const ImageBlock& b, uint32_t count, bool sorted) {
    const uint64_t tag = static_cast<uint64_t>(b.search->launch) << 32;
    uint64_t* answer = b.search->answer;
    if (threadIdx.x < kNumWork) {
        st_relaxed_system(answer + 1 + threadIdx.x, tag | b.shared->work[threadIdx.x]);
    }
    const uint32_t k = min(count, b.shared->query.k);
    if (threadIdx.x == 0) {
        st_relaxed_system(answer, tag | k);
    }
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        const uint64_t key = b.keys[i];
        uint32_t rank = i;
        if (!sorted) {
            rank = 0;
            for (uint32_t j = 0; j < count; j++) {
                rank += b.keys[j] > key ? 1 : 0;
            }
        }
        if (rank < k) {
            st_relaxed_system(answer + kAnswerHead + 2 * rank, tag | key >> 32);
            st_relaxed_system(answer + kAnswerHead + 2 * rank + 1, tag | static_cast<uint32_t>(key));
        }
    }
}

/* If blocks send their keys: clears the other one of states 1 and 2, which the launch before has used, and the next one
 * will use. By all threads. */
template <class Params>
__device__ __forceinline__ void imagesearch_clear_other(const Params& p, uint32_t split) {
    if (p.search.sends != 0 && split == p.query.splits - 1) {
        block_clear(p.search.states + (3 - p.query.result));
    }
}

/* Sends the block's keys to the host, which keeps the best k of all blocks: neither a barrier nor another block's
 * memory is waited for. The last block sends the number of keys. The work is not counted. By all threads, after a
 * barrier. */
__device__ __forceinline__ void imagesearch_send(const ImageBlock& b) {
    BlockTopK& top = b.shared->top;
    const uint32_t theta = imagesearch_theta(b);
    if (top.count > kSentHits) {
        uint32_t numGood = 0;
        for (uint32_t from = 0; from < top.count; from += blockDim.x) {
            const uint32_t i = from + threadIdx.x;
            numGood +=
                static_cast<uint32_t>(__syncthreads_count(i < top.count && hit_score(top.keys[i]) >= theta ? 1 : 0));
        }
        if (numGood > kSentHits) {
            block_topk_compact(top);
        }
    }
    if (b.warp != 0) {
        return;
    }
    const uint32_t count = top.count, lower = (1U << b.lane) - 1;
    uint32_t numGood = 0;
    for (uint32_t from = 0; from < count; from += 32) {
        const uint32_t i = from + b.lane;
        numGood += static_cast<uint32_t>(__popc(__ballot_sync(kAll, i < count && hit_score(top.keys[i]) >= theta)));
    }
    uint64_t before = 0;
    if (b.lane == 0 && b.state != nullptr) {
        before = atomicAdd(&b.state->joined, static_cast<uint64_t>(numGood) << 32 | 1);
    }
    uint32_t at = __shfl_sync(kAll, static_cast<uint32_t>(before >> 32), 0);
    const uint64_t tag = static_cast<uint64_t>(b.search->launch) << 32;
    uint64_t* answer = b.search->answer;
    if (b.lane == 0 && static_cast<uint32_t>(before) + 1 == b.splits) {
        st_relaxed_system(answer, tag | (at + numGood));
    }
    for (uint32_t from = 0; from < count; from += 32) {
        const uint32_t i = from + b.lane;
        const uint64_t key = i < count ? top.keys[i] : 0;
        const bool good = key != 0 && hit_score(key) >= theta;
        const uint32_t lanes = __ballot_sync(kAll, good);
        if (good) {
            uint64_t* to = answer + kAnswerHead + 2 * (at + static_cast<uint32_t>(__popc(lanes & lower)));
            st_relaxed_system(to, tag | key >> 32);
            st_relaxed_system(to + 1, tag | static_cast<uint32_t>(key));
        }
        at += static_cast<uint32_t>(__popc(lanes));
    }
}

/* done, for which the host waits, is written last, after a system fence, which takes microseconds. By all threads of
 * the query's last block. */
__device__ __forceinline__ void imagesearch_write(const ImageBlock& b) {
    const ImageQuery& q = b.shared->query;
    ImageResult* r = b.search->results + q.result;
    __syncthreads();
    uint32_t count = b.shared->top.count;
    if (b.search->answer != nullptr && b.search->launch != 0) {
        const bool sorted = count > blockDim.x;
        if (sorted) {
            block_topk_sort(b.shared->top);
            count = b.shared->top.count;
        }
        imagesearch_answer(b, count, sorted);
        return;
    }
    const ImageSearch* search = b.search;
    count = block_write_hits(b.shared->top, b.keys, q.k,
                             [search, &q](uint32_t i, uint64_t key) { search->hits[q.firstHit + i] = key; });
    if (threadIdx.x < kNumWork) {
        r->work[threadIdx.x] = b.shared->work[threadIdx.x];
    }
    if (threadIdx.x == 0) {
        r->numHits = count;
    }
    if (b.search->launch == 0) {
        return;
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        st_relaxed_system(&r->done, b.search->launch);
    }
}

/* Stores the block's keys. Returns true in the query's last block, which then has the keys of all blocks in top. By all
 * threads. */
template <bool wide>
__device__ __forceinline__ bool imagesearch_join(const ImageBlock& b) {
    BlockTopK& top = b.shared->top;
    uint64_t* keys = b.search->keys + b.shared->query.firstKey;
    const uint32_t heard = ld_relaxed(b.state->thetas[b.warp]);
    __syncthreads();
    if (top.count > 0) {
        const uint32_t theta = max(__shfl_sync(kAll, heard, 0), imagesearch_theta(b));
        uint32_t numGood = 0;
        for (uint32_t from = 0; top.count > top.k && from < top.count; from += blockDim.x) {
            const uint32_t i = from + threadIdx.x;
            numGood += static_cast<uint32_t>(
                __syncthreads_count(i < top.count && ImageKeys<wide>::score(b, top.keys[i]) >= theta));
        }
        if (numGood > top.k) { /* a block has room for k keys */
            block_topk_compact(top);
        }
        for (uint32_t i = threadIdx.x; i < top.count; i += blockDim.x) {
            if (ImageKeys<wide>::score(b, top.keys[i]) >= theta) {
                keys[atomicAdd(&b.state->joined, uint64_t{1} << 32) >> 32] = top.keys[i];
            }
        }
    }
    if (threadIdx.x < kNumWork && b.shared->work[threadIdx.x] > 0) {
        atomicAdd(b.state->work + threadIdx.x, b.shared->work[threadIdx.x]);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64_t before = atomicAdd(&b.state->joined, uint64_t{1});
        b.shared->last = static_cast<uint32_t>(before) + 1 == b.splits ? 1 : 0;
        b.shared->numHits = static_cast<uint32_t>(before >> 32);
    }
    __syncthreads();
    if (b.shared->last == 0) {
        return false;
    }
    __threadfence();
    const uint32_t numKeys = b.shared->numHits;
    if (threadIdx.x < kNumWork) {
        b.shared->work[threadIdx.x] = ld_relaxed(b.state->work + threadIdx.x);
    }
    block_topk_init(top, top.keys, top.capacity, top.k, 0);
    if (numKeys <= top.capacity) {
        for (uint32_t i = threadIdx.x; i < numKeys; i += blockDim.x) {
            top.keys[i] = __ldcg(keys + i);
        }
        if (threadIdx.x == 0) {
            top.count = numKeys;
        }
        __syncthreads();
        return true;
    }
    block_take(
        top, &b.shared->theta, numKeys, [&](uint32_t i) { return __ldcg(keys + i); },
        [&b](uint64_t key) { return ImageKeys<wide>::score(b, key); });
    return true;
}

/* By all threads. */
template <bool wide = false>
__device__ __forceinline__ void imagesearch_end(const ImageBlock& b) {
    if (b.state != nullptr && !imagesearch_join<wide>(b)) {
        return;
    }
    imagesearch_write(b);
    if (b.state == nullptr) {
        return;
    }
    __syncthreads();
    block_clear(b.state);
}
