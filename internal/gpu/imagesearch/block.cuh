#pragma once

#include "../device/warp_scan.cuh"
#include "imagesearch.cuh"

/* queryParams in params.go. */
struct ImageQuery {
    const uint32_t* filter;        /* bitmap of the documents that can match, of whole quads, or null */
    uint32_t keyShift, scoreShift; /* of a wide query: key.cuh */
    uint32_t firstTerm, numTerms;
    uint32_t k;
    uint32_t flags;
    uint32_t threshold;   /* lower scores are ignored */
    uint32_t bucketShift; /* a bucket has 2^bucketShift scores, from threshold up */
    uint32_t firstHit;    /* in hits */
    uint32_t result;      /* in results */
    uint32_t numDense;    /* terms [0, numDense) are dense, except for imagesearch_probe */
    uint32_t splits;      /* blocks that share the query */
    uint32_t firstKey;    /* in keys, if splits > 1 */
    uint32_t numBounded;  /* terms [0, numBounded) have bounds of ranges */
};
static_assert(sizeof(ImageQuery) == 64, "mirrored by queryParams");

/* result in params.go; in page-locked host memory. */
struct ImageResult {
    uint32_t numHits;
    uint32_t done; /* number of the launch, written last */
    uint64_t count;
    uint32_t work[4]; /* kSupers to kRounds */
};

enum { kSupers, kRanges, kCandidates, kRounds, kNumWork };

/* partWords in params.go: stands before the terms of a query of imagesearch_words.cu. Bits are of terms. */
struct ImageParts {
    uint32_t required;   /* terms that a document must have */
    uint32_t numClauses; /* of each of which a document must have a term */
    uint32_t clauses[kMaxClauses];
};
static_assert(sizeof(ImageParts) == sizeof(ImageTerm), "takes the place of a term");

/* Shared by the blocks of a query that has several: splitState in params.go. All 0 between launches. */
struct ImageState {
    uint32_t buckets[kNumBuckets];
    uint32_t thetas[kNumWarps][32]; /* [w][0]: copy of the threshold for warp w of all blocks, 128 bytes apart */
    uint64_t joined;                /* blocks that have stored their keys, and the number of these keys << 32 */
    uint32_t done;                  /* blocks of imagesearch_count */
    uint32_t count;
    uint32_t pushed; /* scores in buckets */
    uint32_t work[kNumWork];
    uint32_t padding;
};

/* searchParams in params.go. */
struct ImageSearch {
    const ImageQuery* queries;
    const ImageTerm* terms;
    const uint2* blocks; /* [gridDim.x]: {query, split}: blockParams in params.go */
    ImageResult* results;
    uint64_t* hits;
    const uint32_t* live; /* bitmap, or null: all are live */
    ImageState* states;   /* by result, of queries with several blocks */
    uint64_t* keys;       /* of queries with several blocks: k per block */
    /* Answer of a single query, or null: kAnswerHead words and two of each hit, in page-locked host memory, each with
     * the number of the launch in its high half, by which the host detects arrival. */
    uint64_t* answer;
    uint32_t numDocs;
    uint32_t maxTerms; /* capacity of shared memory in terms, */
    uint32_t capacity; /* in keys, */
    uint32_t window;   /* and in superblocks */
    uint32_t sends;    /* 1: each block sends its hits to the host (imagesearch_send) */
    uint32_t launch;   /* for ImageResult.done; 0: batch, or another job follows */
};

/* oneParams and fewParams in params.go. */
template <uint32_t maxTerms>
struct __align__(16) ImageAlone {
    ImageSearch search;
    ImageQuery query;
    ImageTerm terms[maxTerms];
};
using ImageOne = ImageAlone<kMaxOneTerms>;
using ImageFew = ImageAlone<kMaxFewTerms>;

/* Values that are both written and read between two barriers are only accessed by atomics and ld_relaxed. */
struct ImageShared {
    BlockTopK top;
    ImageQuery query;
    uint32_t theta;
    uint32_t listed;  /* ranges collected, including those that did not fit */
    uint32_t sorted;  /* number of sorted elements */
    uint32_t last;    /* 1: this is the query's last block */
    uint32_t numHits; /* in the query's last block, the number of keys of all blocks */
    uint32_t work[kNumWork];
    uint32_t count;
    __align__(16) uint32_t buckets[kNumBuckets];       /* scores, if the query has one block */
    uint32_t positions[kNumBuckets];                   /* of a sort */
    __align__(16) uint32_t sums[kNumWarps][kWarpSums]; /* by warp. Invariant: all 0 between uses */
    uint2 list[kListRoom];                             /* {range, bound} */
    uint16_t listOrder[kListRoom];
};

/* How a kernel uses the filter of a query: kLate on candidates only, without a register or branch for queries without
 * a filter; kEarly, for queries with one, also before bounds are read; kEither as the query needs. */
enum ImageFilters { kLate, kEarly, kEither };

struct ImageBlock {
    const ImageSearch* search;
    ImageShared* shared;
    ImageState* state; /* null if the query has one block */
    ImageTerm* terms;
    uint64_t* keys;
    uint16_t* order; /* [window]: superblocks */
    uint8_t* levels; /* [window]: their buckets + 1, or 0: skipped */
    uint32_t* sums;  /* [kWarpSums]: the warp's. Invariant: all 0 between uses */
    uint32_t numDocs;
    uint32_t split, splits;
    uint32_t lane, warp, numWarps;
    uint32_t numTerms, numDense, numBounded;
    bool all; /* And */
    /* A query of imagesearch_words.cu; in other kernels false, which the compiler knows. */
    bool words;
    uint32_t numExcluded; /* terms [numTerms, numTerms + numExcluded): their documents do not match */
    uint32_t required;    /* bit i: term i */
    const ImageParts* parts;
    bool filtered; /* uses the filter early */
};

/* Behind the keys in shared memory. */
__device__ __forceinline__ ImageTerm* imagesearch_terms(const ImageSearch& search) {
    return reinterpret_cast<ImageTerm*>(griffin_dynamic_shared<uint64_t>() + search.capacity);
}

/* By all threads. */
__device__ __forceinline__ void imagesearch_copy_terms(ImageTerm* to, const ImageTerm* from, uint32_t n) {
    for (uint32_t i = threadIdx.x; i < n * (sizeof(ImageTerm) / 16); i += blockDim.x) {
        reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    }
}

/* Copies the query and its terms (null: already copied) to shared memory. By all threads; ends with a barrier. */
template <bool words = false, ImageFilters filters = kLate>
__device__ __forceinline__ void imagesearch_begin(ImageBlock& b, ImageShared& shared, const ImageSearch& search,
                                                  const ImageQuery* query, const ImageTerm* terms, uint32_t split) {
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
    b.terms = imagesearch_terms(search) + (words ? 1 : 0);
    b.words = words;
    b.numExcluded = 0;
    b.required = 0;
    b.parts = nullptr;
    memory += search.maxTerms * sizeof(ImageTerm);
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
        shared.numHits = 0;
    }
    for (uint32_t i = threadIdx.x; i < kNumBuckets; i += blockDim.x) {
        shared.buckets[i] = 0;
    }
    for (uint32_t i = b.lane; i < kWarpSums; i += 32) {
        shared.sums[b.warp][i] = 0;
    }
    __syncthreads();
    const ImageQuery& q = shared.query;
    b.numTerms = q.numTerms;
    b.numDense = q.numDense;
    b.numBounded = q.numBounded;
    b.all = (q.flags & kFlagAll) != 0;
    b.filtered = filters == kEarly || (filters == kEither && q.filter != nullptr);
    b.splits = q.splits;
    b.state = q.splits > 1 ? search.states + q.result : nullptr;
    if (words) {
        b.numExcluded = q.flags >> kExcludedShift;
        imagesearch_copy_terms(b.terms - 1, terms + q.firstTerm - 1, 1 + q.numTerms + b.numExcluded);
        b.parts = reinterpret_cast<const ImageParts*>(b.terms - 1);
    } else if (terms != nullptr) {
        imagesearch_copy_terms(b.terms, terms + q.firstTerm, q.numTerms);
    }
    block_topk_init(shared.top, b.keys, search.capacity, q.k, 0); /* a barrier */
    if (words) {
        b.required = b.parts->required;
    }
}

/* Whether every match has term i. */
__device__ __forceinline__ bool imagesearch_needs(const ImageBlock& b, uint32_t i) {
    return b.all || (b.words && i < 32 && (b.required >> i & 1) != 0);
}

/* Whether a document, or a part of the segment, that has the terms in present can match. */
__device__ __forceinline__ bool imagesearch_meets(const ImageBlock& b, uint32_t present) {
    bool meets = (present & b.required) == b.required;
    for (uint32_t i = 0; i < b.parts->numClauses; i++) {
        meets = meets && (present & b.parts->clauses[i]) != 0;
    }
    return meets;
}

/* Lanes may get different values. */
__device__ __forceinline__ uint32_t imagesearch_theta(const ImageBlock& b) {
    return ld_relaxed(&b.shared->theta);
}

/* The latest threshold of all blocks, the same for all lanes. By a warp. */
__device__ __forceinline__ uint32_t imagesearch_hear(const ImageBlock& b) {
    uint32_t theta = imagesearch_theta(b);
    if (b.state != nullptr) {
        theta = warp_hear(&b.shared->theta, theta, b.state->thetas[b.warp], b.lane);
    }
    return __shfl_sync(kAll, theta, 0);
}

/* Of a score or bound that is at least the query's threshold; monotonic. */
__device__ __forceinline__ uint32_t imagesearch_bucket_of(const ImageQuery& q, uint32_t score) {
    return score_bucket<kNumBuckets>(score - q.threshold, q.bucketShift);
}

/* Raises the threshold to the highest bucket border that k scores reach. By a warp. (A lane has two buckets of each
 * quarter, so that loads coalesce: hundreds of blocks wait for these lines.) */
__device__ __forceinline__ void imagesearch_raise(const ImageBlock& b) {
    constexpr uint32_t numParts = kNumBuckets / 64;
    const ImageQuery& q = b.shared->query;
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
    /* In falling order: lane 31 has the quarter's last two buckets. */
    const auto low = static_cast<uint32_t>(own), high = static_cast<uint32_t>(own >> 32);
    const uint32_t mirrored = __shfl_sync(kAll, low + high, static_cast<int>(31 - b.lane));
    const uint32_t upTo = above + warp_inclusive_sum(mirrored);
    const uint32_t l = 31 - (static_cast<uint32_t>(__ffs(__ballot_sync(kAll, upTo >= q.k))) - 1);
    const uint32_t before = __shfl_sync(kAll, upTo - mirrored, static_cast<int>(31 - l));
    const uint32_t bucket = part * 64 + l * 2 + (before + __shfl_sync(kAll, high, static_cast<int>(l)) >= q.k ? 1 : 0);
    const uint32_t theta = q.threshold + (bucket << q.bucketShift);
    if (theta > imagesearch_theta(b)) {
        if (b.lane == 0) {
            atomicMax(&b.shared->theta, theta);
        }
        if (b.state != nullptr && theta > published && b.lane < kNumWarps) {
            atomicMax(b.state->thetas[b.lane], theta);
        }
    }
}

/* Whether to raise the threshold after n more scores. Several blocks do it only every max(k/2, 4) scores, because all
 * read the same words. By a warp. */
__device__ __forceinline__ bool imagesearch_worth_raising(const ImageBlock& b, uint32_t n) {
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

__device__ __forceinline__ void imagesearch_worked(const ImageBlock& b, uint32_t kind, uint32_t n) {
    warp_count_work(b.shared->work + kind, n, b.lane);
}

/* Exclusive sums of positions in place, from the last bucket down; the total in shared.sorted. By all threads, after a
 * barrier; ends with one. */
__device__ __forceinline__ void imagesearch_scan(const ImageBlock& b) {
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

/* Whether imagesearch_allowed can have less than all documents. */
__device__ __forceinline__ bool imagesearch_restricts(const ImageBlock& b) {
    return b.search->live != nullptr || b.shared->query.filter != nullptr || b.words;
}

/* Of ranges [4*four, 4*four + 4) that are open, those with a document that passes the filter if it is used early: bit i
 * is of range 4*four + i. */
__device__ __forceinline__ uint32_t imagesearch_passing(const ImageBlock& b, uint32_t four, uint32_t open) {
    if (!b.filtered || open == 0) {
        return open;
    }
    const uint4 words = __ldg(reinterpret_cast<const uint4*>(b.shared->query.filter) + four);
    return open &
           ((words.x != 0 ? 1U : 0U) | (words.y != 0 ? 2U : 0U) | (words.z != 0 ? 4U : 0U) | (words.w != 0 ? 8U : 0U));
}

/* The documents of a range that are live, pass the filter, and are in no excluded list. */
__device__ __forceinline__ uint32_t imagesearch_allowed(const ImageBlock& b, uint32_t range) {
    const uint32_t* filter = b.shared->query.filter;
    uint32_t bits = kAll;
    if (b.search->live != nullptr) {
        bits = b.search->live[range];
    }
    if (filter != nullptr) {
        bits &= filter[range];
    }
    if (b.words) {
        for (uint32_t i = 0; i < b.numExcluded && bits != 0; i++) {
            bits &= ~imagesearch_range(b.terms[b.numTerms + i], range).bits;
        }
    }
    return bits;
}
