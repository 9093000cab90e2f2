/* What the blocks of the search kernels have in common: parameters, shared memory, thresholds, results. */
#pragma once

#include "../device/warp_scan.cuh"
#include "fastpath.cuh"

/* Mirrored by queryParams in params.go. */
struct FastpathQuery {
    const uint32_t* filter; /* bitmap of the documents that may match, or null */
    uint32_t* docIDs;       /* of kFlagEmit */
    uint32_t firstTerm, numTerms;
    uint32_t k;
    uint32_t flags;
    uint32_t threshold;   /* scores below do not matter */
    uint32_t bucketShift; /* buckets of scores are of 2^bucketShift, from threshold up */
    uint32_t firstHit;    /* in hits */
    uint32_t result;      /* in results */
    uint32_t numDense;    /* terms [0, numDense) are dense: not of queries for fastpath_probe */
    uint32_t splits;      /* blocks that share the query */
    uint32_t firstKey;    /* in keys, if there are several */
    uint32_t numBounded;  /* terms [0, numBounded) have bounds of ranges */
};
static_assert(sizeof(FastpathQuery) == 64, "mirrored by queryParams");

/* Mirrored by result in params.go; in page-locked memory of the host. */
struct FastpathResult {
    uint32_t numHits;
    uint32_t done; /* the launch's number, written last */
    uint64_t count;
    uint32_t work[4]; /* kSupers to kRounds */
};

enum { kSupers, kRanges, kCandidates, kRounds, kNumWork };

/* What the blocks of a query share, where there are several: splitState in params.go. All 0 between launches. */
struct FastpathState {
    uint32_t buckets[kNumBuckets];
    uint32_t thetas[kNumWarps][32]; /* a copy of the threshold for each warp of a block, 128 bytes apart */
    uint64_t joined;                /* blocks that have put their keys there, and those keys << 32 */
    uint32_t done;                  /* blocks of fastpath_count */
    uint32_t count;
    uint32_t pushed; /* scores in buckets */
    uint32_t work[kNumWork];
    uint32_t padding;
};

/* Mirrored by searchParams in params.go. */
struct FastpathSearch {
    const FastpathQuery* queries;
    const FastpathTerm* terms;
    const uint2* blocks; /* [gridDim.x]: {query, part of it}: blockParams in params.go */
    FastpathResult* results;
    uint64_t* hits;
    const uint32_t* live;  /* bitmap, or null: all are */
    FastpathState* states; /* by result; only if a query has several blocks */
    uint64_t* keys;        /* of queries that have several blocks: k for each */
    /* Of a query on its own, in page-locked memory of the host, or null: kAnswerHead + 2*k words of an answer, each
     * with the launch's number above, so that the host sees of each whether it is there. */
    uint64_t* answer;
    uint32_t numDocs;
    uint32_t maxTerms; /* terms, */
    uint32_t capacity; /* keys, */
    uint32_t window;   /* superblocks that there is shared memory for */
    uint32_t padding;
    uint32_t launch; /* for FastpathResult.done, or 0: not yet done */
};

/* A launch for one query, which travels with it: oneParams and fewParams in params.go. */
template <uint32_t maxTerms>
struct __align__(16) FastpathAlone {
    FastpathSearch search;
    FastpathQuery query;
    FastpathTerm terms[maxTerms];
};
using FastpathOne = FastpathAlone<kMaxOneTerms>;
using FastpathFew = FastpathAlone<kMaxFewTerms>;

/* Numbers that the threads of a block share. Those that are written and read between two barriers are only
 * touched by atomics and ld_relaxed. */
struct FastpathShared {
    BlockTopK top;
    FastpathQuery query;
    uint32_t theta;
    uint32_t listed;  /* ranges collected; more than there is room for if some did not fit */
    uint32_t sorted;  /* what a sort found worth sorting */
    uint32_t last;    /* whether this is the query's last block */
    uint32_t numHits; /* of the query so far; in its last block, of the keys of all */
    uint32_t work[kNumWork];
    uint32_t count;
    uint32_t counts[32];                               /* of fastpath_count: by warp */
    __align__(16) uint32_t buckets[kNumBuckets];       /* scores, if there is one block */
    uint32_t positions[kNumBuckets];                   /* of a sort */
    __align__(16) uint32_t sums[kNumWarps][kWarpSums]; /* by warp. Invariant: all 0 */
    uint2 list[kListRoom];                             /* ranges with their bounds */
    uint16_t listOrder[kListRoom];
};

/* A block's view of its query and its shared memory. */
struct FastpathBlock {
    const FastpathSearch* search;
    FastpathShared* shared;
    FastpathState* state; /* null: the query has one block */
    FastpathTerm* terms;
    uint64_t* keys;
    uint16_t* order; /* [window]: superblocks */
    uint8_t* levels; /* [window]: their buckets + 1, or 0: not worth a look */
    uint32_t* sums;  /* [kWarpSums]: the warp's. Invariant: all 0 */
    uint32_t numDocs;
    uint32_t split, splits;
    uint32_t lane, warp, numWarps;
    uint32_t numTerms, numDense, numBounded;
    bool all; /* documents must hold all terms */
};

/* Where the terms are in shared memory: behind the keys. */
__device__ __forceinline__ FastpathTerm* fastpath_terms(const FastpathSearch& search) {
    return reinterpret_cast<FastpathTerm*>(griffin_dynamic_shared<uint64_t>() + search.capacity);
}

/* Copies the query and its terms (null: they are there already) to shared memory. Returns false if there is nothing to
 * do for it. */
__device__ __forceinline__ bool fastpath_begin(FastpathBlock& b, FastpathShared& shared, const FastpathSearch& search,
                                               const FastpathQuery* query, const FastpathTerm* terms, uint32_t split) {
    b.search = &search;
    b.shared = &shared;
    b.lane = threadIdx.x % 32;
    b.warp = threadIdx.x / 32;
    b.numWarps = blockDim.x / 32;
    b.split = split;
    b.sums = shared.sums[b.warp];
    b.numDocs = search.numDocs;
    auto* memory = griffin_dynamic_shared<unsigned char>();
    b.keys = reinterpret_cast<uint64_t*>(memory);
    memory += search.capacity * 8;
    b.terms = fastpath_terms(search);
    memory += search.maxTerms * sizeof(FastpathTerm);
    b.order = reinterpret_cast<uint16_t*>(memory);
    memory += search.window * 2;
    b.levels = memory;

    if (threadIdx.x == 0) {
        shared.query = *query;
        shared.theta = query->threshold;
        shared.listed = 0;
        shared.sorted = 0;
        shared.count = 0;
        for (uint32_t i = 0; i < kNumWork; i++) {
            shared.work[i] = 0;
        }
        shared.numHits = (query->flags & kFlagRetry) != 0 ? ld_relaxed(&search.results[query->result].numHits) : 0;
    }
    for (uint32_t i = threadIdx.x; i < kNumBuckets; i += blockDim.x) {
        shared.buckets[i] = 0;
    }
    for (uint32_t i = b.lane; i < kWarpSums; i += 32) {
        shared.sums[b.warp][i] = 0;
    }
    __syncthreads();
    const FastpathQuery& q = shared.query;
    b.numTerms = q.numTerms;
    b.numDense = q.numDense;
    b.numBounded = q.numBounded;
    b.all = (q.flags & kFlagAll) != 0;
    b.splits = q.splits;
    b.state = q.splits > 1 ? search.states + q.result : nullptr;
    if (terms != nullptr) {
        const auto* from = reinterpret_cast<const uint4*>(terms + q.firstTerm);
        auto* to = reinterpret_cast<uint4*>(b.terms);
        for (uint32_t i = threadIdx.x; i < q.numTerms * (sizeof(FastpathTerm) / 16); i += blockDim.x) {
            to[i] = from[i];
        }
    }
    block_topk_init(shared.top, b.keys, search.capacity, q.k, 0); /* a barrier */
    return shared.numHits < q.k || (q.flags & kFlagRetry) == 0;
}

/* The threshold, as far as this block knows; lanes may see different ones. */
__device__ __forceinline__ uint32_t fastpath_theta(const FastpathBlock& b) {
    return ld_relaxed(&b.shared->theta);
}

/* The threshold, the same for all lanes, as far as any block of the query has come. By a warp. */
__device__ __forceinline__ uint32_t fastpath_hear(const FastpathBlock& b) {
    uint32_t theta = fastpath_theta(b);
    if (b.state != nullptr) {
        theta = warp_hear(&b.shared->theta, theta, b.state->thetas[b.warp], b.lane);
    }
    return __shfl_sync(kAll, theta, 0);
}

/* The bucket of a score or a bound of at least the query's threshold: greater for greater ones. */
__device__ __forceinline__ uint32_t fastpath_bucket_of(const FastpathQuery& q, uint32_t score) {
    return score_bucket<kNumBuckets>(score - q.threshold, q.bucketShift);
}

/* Raises the threshold to the greatest bucket border that k scores reach. By a warp. (A lane has two buckets of each
 * quarter: neighbours read neighbouring words. Hundreds of blocks that read the same lines wait for each other, by what
 * they touch of them.) */
__device__ __forceinline__ void fastpath_raise(const FastpathBlock& b) {
    constexpr uint32_t numParts = kNumBuckets / 64;
    const FastpathQuery& q = b.shared->query;
    const uint32_t* buckets = b.state != nullptr ? b.state->buckets : b.shared->buckets;
    const uint32_t published = b.state != nullptr ? ld_relaxed(b.state->thetas[b.warp]) : 0;
    uint64_t counts[numParts];
#pragma unroll
    for (uint32_t i = 0; i < numParts; i++) {
        counts[i] = ld_relaxed(reinterpret_cast<const uint64_t*>(buckets) + i * 32 + b.lane);
    }
    uint32_t above = 0, part = numParts;
    uint64_t own = 0;
#pragma unroll
    for (uint32_t i = numParts; i-- > 0;) {
        const uint32_t sum =
            __reduce_add_sync(kAll, static_cast<uint32_t>(counts[i]) + static_cast<uint32_t>(counts[i] >> 32));
        if (part == numParts) {
            if (above + sum >= q.k) {
                part = i;
                own = counts[i];
            } else {
                above += sum;
            }
        }
    }
    if (part == numParts) {
        return;
    }
    /* From the greatest down: lane 31 has the part's last two buckets. */
    const auto low = static_cast<uint32_t>(own), high = static_cast<uint32_t>(own >> 32);
    const uint32_t mirrored = __shfl_sync(kAll, low + high, static_cast<int>(31 - b.lane));
    const uint32_t upTo = above + warp_inclusive_sum(mirrored);
    const uint32_t l = 31 - (static_cast<uint32_t>(__ffs(__ballot_sync(kAll, upTo >= q.k))) - 1);
    const uint32_t before = __shfl_sync(kAll, upTo - mirrored, static_cast<int>(31 - l));
    const uint32_t bucket = part * 64 + l * 2 + (before + __shfl_sync(kAll, high, static_cast<int>(l)) >= q.k ? 1 : 0);
    const uint32_t theta = q.threshold + (bucket << q.bucketShift);
    if (theta > fastpath_theta(b)) {
        if (b.lane == 0) {
            atomicMax(&b.shared->theta, theta);
        }
        if (b.state != nullptr && theta > published && b.lane < kNumWarps) {
            atomicMax(b.state->thetas[b.lane], theta);
        }
    }
}

/* Whether n more scores are a reason to raise the threshold. Where there are several blocks, not always: they would
 * all read the same words. By a warp. */
__device__ __forceinline__ bool fastpath_worth_raising(const FastpathBlock& b, uint32_t n) {
    if (n == 0 || b.state == nullptr) {
        return n > 0;
    }
    uint32_t before = 0;
    if (b.lane == 0) {
        before = atomicAdd(&b.state->pushed, n);
    }
    before = __shfl_sync(kAll, before, 0);
    const uint32_t k = b.shared->query.k, after = before + n;
    const uint32_t stride = max(k / 2, 4U);
    return after >= k && (before < k || before / stride != after / stride);
}

/* Offers the keys of a warp's lanes (0: none) to the block's best. Returns the key if there was no room for it:
 * it is to be offered again after the next compaction. By a warp. */
__device__ __forceinline__ uint64_t fastpath_offer(const FastpathBlock& b, uint64_t key, bool raises = true) {
    if (__ballot_sync(kAll, key != 0) == 0) {
        return 0;
    }
    bool counted = false;
    if (key != 0 && hit_score(key) >= fastpath_theta(b)) {
        const uint32_t pushed = block_topk_push(b.shared->top, key);
        if (pushed <= b.search->capacity) {
            counted = pushed > 0;
            if (counted) {
                uint32_t* buckets = b.state != nullptr ? b.state->buckets : b.shared->buckets;
                atomicAdd(buckets + fastpath_bucket_of(b.shared->query, hit_score(key)), 1U);
            }
            key = 0;
        }
    } else {
        key = 0;
    }
    if (raises && fastpath_worth_raising(b, static_cast<uint32_t>(__popc(__ballot_sync(kAll, counted))))) {
        fastpath_raise(b);
    }
    return key;
}

/* Compacts the block's best keys, if some did not fit. By all threads. */
__device__ __forceinline__ bool fastpath_make_room(const FastpathBlock& b, uint64_t refused) {
    return block_make_room(b.shared->top, &b.shared->theta, refused);
}

/* Adds a warp's counts of work to the block's. */
__device__ __forceinline__ void fastpath_worked(const FastpathBlock& b, uint32_t kind, uint32_t n) {
    warp_count_work(b.shared->work + kind, n, b.lane);
}

/* Exclusive sums of positions, from the last bucket down, in place; their total in shared.sorted. By all threads,
 * behind a barrier; ends with one. */
__device__ __forceinline__ void fastpath_scan(const FastpathBlock& b) {
    constexpr uint32_t perLane = kNumBuckets / 32;
    if (b.warp == 0) {
        const uint32_t top = kNumBuckets - 1 - b.lane * perLane;
        uint32_t counts[perLane];
        uint32_t sum = 0;
#pragma unroll
        for (uint32_t i = 0; i < perLane; i++) {
            counts[i] = b.shared->positions[top - i];
            sum += counts[i];
        }
        const uint32_t upTo = warp_inclusive_sum(sum);
        uint32_t at = upTo - sum;
#pragma unroll
        for (uint32_t i = 0; i < perLane; i++) {
            b.shared->positions[top - i] = at;
            at += counts[i];
        }
        if (b.lane == 31) {
            b.shared->sorted = upTo;
        }
    }
    __syncthreads();
}

/* Which of the documents of a range may be in an answer. */
__device__ __forceinline__ uint32_t fastpath_allowed(const FastpathBlock& b, uint32_t range) {
    const uint32_t* filter = b.shared->query.filter;
    uint32_t bits = kAll;
    if (b.search->live != nullptr) {
        bits = b.search->live[range];
    }
    if (filter != nullptr) {
        bits &= filter[range];
    }
    return bits;
}
