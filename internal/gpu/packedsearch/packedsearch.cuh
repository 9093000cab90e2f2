/* Parameters, and decoding of blocks by a warp. */
#pragma once

#include "../decode/staged.cuh"
#include "../device/block_best.cuh"
#include "../device/bm25.cuh"
#include "constants.cuh"

/* listParams in params.go. */
struct PackedList {
    const uint4* payload;    /* in device or host memory */
    const uint4* directory;  /* [numBlocks]: {First, Last, Offset, Bound | DocWidth << 16 | FreqWidth << 24} */
    const uint32_t* lengths; /* [numDocs]: tokens per document; not read if linear */
    uint64_t worth;          /* see packedsearch_bound */
    Bm25Term score;
    uint32_t numBlocks, docFreq;
    uint32_t maxScore; /* bounds the contribution of each posting */
    uint32_t padding;
};
static_assert(sizeof(PackedList) == 64, "mirrored by listParams");

/* result in params.go; in page-locked host memory. */
struct PackedResult {
    uint32_t numHits;
    uint32_t done; /* number of the launch, written last */
    uint64_t count;
    uint64_t work[4]; /* kBlocks to kRanges */
};

enum { kBlocks, kQuads, kRanges, kNumWork };

/* Shared by the blocks of a launch: state in params.go. All 0 between launches. */
struct PackedState {
    uint32_t buckets[kNumBuckets];
    uint32_t thetas[kNumWarps][32]; /* [w][0]: copy of the threshold for warp w of all blocks, 128 bytes apart */
    unsigned long long work[4];
    uint32_t done; /* blocks */
    uint32_t numKeys;
    uint32_t count;
    uint32_t padding;
};

/* searchParams in params.go. */
struct __align__(16) PackedSearch {
    PackedState* state;
    PackedResult* result;
    uint64_t* hits;             /* [k] */
    uint64_t* keys;             /* [gridDim.x][k] */
    const uint32_t* live;       /* bitmap, or null: all are live */
    const uint32_t* filter;     /* bitmap of the documents that can match, or null */
    const uint32_t* fromDocIDs; /* initial candidates, or null: the postings of list 0 */
    const uint32_t* fromScores;
    uint32_t* outDocIDs; /* [numGroups][groupSize]: remaining candidates, or null */
    uint32_t* outScores;
    uint32_t* outCounts; /* [numGroups] */
    uint32_t numLists, numDocs;
    uint32_t k; /* hits; 0: none */
    uint32_t flags;
    uint32_t threshold;   /* lower scores are ignored */
    uint32_t bucketShift; /* a bucket has 2^bucketShift scores, from threshold up */
    uint32_t capacity;    /* of shared memory, in keys */
    uint32_t launch;      /* for PackedResult.done */
    uint32_t numFrom;     /* candidates, or postings of list 0 */
    uint32_t groupSize;   /* in candidates, at most kMaxGroup; for any list, ranges per block */
    uint32_t numGroups;   /* for any list, ranges */
    uint32_t padding[3];
    PackedList lists[kMaxLists];
};

/* Copies the query to shared memory, without unused lists. By all threads; ends with a barrier. */
__device__ __forceinline__ void packedsearch_unpack(const PackedSearch& p, PackedSearch* search) {
    constexpr uint32_t header = sizeof(PackedSearch) / 16 - kMaxLists * (sizeof(PackedList) / 16);
    const auto* from = reinterpret_cast<const uint4*>(&p);
    auto* to = reinterpret_cast<uint4*>(search);
    const uint32_t size = header + p.numLists * (sizeof(PackedList) / 16);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        to[i] = from[i];
    }
    __syncthreads();
}

/* An upper bound of a block's contributions. worth is 2^16 times the score of a step of a bound, rounded up. */
__device__ __forceinline__ uint32_t packedsearch_bound(const PackedList& list, uint32_t entry) {
    const uint64_t score = ((entry & 0xffff) * list.worth >> 16) + 1;
    return static_cast<uint32_t>(min(score, static_cast<uint64_t>(list.maxScore)));
}

__device__ __forceinline__ uint32_t packedsearch_size(const PackedList& list, uint32_t block) {
    return min(decodeBlockLen, list.docFreq - block * decodeBlockLen);
}

__device__ __forceinline__ uint32_t packedsearch_last(const PackedList& list, uint32_t block) {
    return __ldg(reinterpret_cast<const uint32_t*>(list.directory + block) + 1);
}

/* The first block whose last DocID is at least target, or numBlocks. Each iteration reads 32 blocks. By a warp. */
__device__ __forceinline__ uint32_t packedsearch_find(const PackedList& list, uint32_t target) {
    uint32_t from = 0, size = list.numBlocks;
    while (size > 0) { /* Invariant: block from - 1 is below; block from + size is not, or there is none */
        const uint32_t step = (size + 31) / 32;
        const uint32_t lane = threadIdx.x % 32;
        const bool below =
            lane * step < size && packedsearch_last(list, from + min((lane + 1) * step, size) - 1) < target;
        const uint32_t skipped = min(static_cast<uint32_t>(__popc(__ballot_sync(kAll, below))) * step, size);
        from += skipped;
        size = skipped == size ? 0 : min(step, size - skipped) - 1;
    }
    return from;
}
