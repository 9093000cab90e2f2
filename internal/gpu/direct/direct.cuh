/* Lists and queries as the kernels of package direct read them, and how a warp decodes blocks. */
#pragma once

#include "../decode/decode.cuh"
#include "../device/block_best.cuh"
#include "../device/bm25.cuh"
#include "constants.cuh"

/* A list of a query: listParams in params.go. */
struct DirectList {
    const uint4* payload;    /* where it lies */
    const uint4* directory;  /* [numBlocks]: {First, Last, Offset, Bound | DocWidth << 16 | FreqWidth << 24} */
    const uint32_t* lengths; /* [numDocs]: tokens by document; not read if linear */
    uint64_t worth;          /* of a bound, as direct_bound takes it */
    Bm25Term score;
    uint32_t numBlocks, docFreq;
    uint32_t maxScore; /* bounds the contribution of each posting */
    uint32_t padding;
};
static_assert(sizeof(DirectList) == 64, "mirrored by listParams");

/* Mirrored by result in params.go; in page-locked memory of the host. */
struct DirectResult {
    uint32_t numHits;
    uint32_t done; /* the launch's number, written last */
    uint64_t count;
    uint64_t work[4]; /* kBlocks to kRanges */
};

enum { kBlocks, kQuads, kRanges, kNumWork };

/* What the blocks of a launch share: state in params.go. All 0 between launches. */
struct DirectState {
    uint32_t buckets[kNumBuckets];
    uint32_t thetas[kNumWarps][32]; /* a copy of the threshold for each warp of a block, 128 bytes apart */
    unsigned long long work[4];
    uint32_t done; /* blocks */
    uint32_t numKeys;
    uint32_t count;
    uint32_t padding;
};

/* A query, which travels with the launch: searchParams in params.go. */
struct __align__(16) DirectSearch {
    DirectState* state;
    DirectResult* result;
    uint64_t* hits;             /* [k] */
    uint64_t* keys;             /* [gridDim.x][k] */
    const uint32_t* live;       /* bitmap, or null: all are */
    const uint32_t* fromDocIDs; /* candidates to begin with, or null: the postings of list 0 */
    const uint32_t* fromScores;
    uint32_t* outDocIDs; /* [numGroups][groupSize] for the candidates that are left, or null: they are not wanted */
    uint32_t* outScores;
    uint32_t* outCounts; /* [numGroups] */
    uint32_t numLists, numDocs;
    uint32_t k; /* hits; 0: none */
    uint32_t flags;
    uint32_t threshold;   /* scores below do not matter */
    uint32_t bucketShift; /* buckets of scores are of 2^bucketShift, from threshold up */
    uint32_t capacity;    /* keys that there is shared memory for */
    uint32_t launch;      /* for DirectResult.done */
    uint32_t numFrom;     /* candidates, or postings of list 0 */
    uint32_t groupSize;   /* of them that a block takes at a time, at most kMaxGroup */
    uint32_t numGroups;
    uint32_t padding;
    DirectList lists[kMaxLists];
};

/* Copies the query of a launch to shared memory, as far as the block needs it there. By all threads; ends with a
 * barrier. */
__device__ __forceinline__ void direct_unpack(const DirectSearch& p, DirectSearch* search) {
    constexpr uint32_t header = sizeof(DirectSearch) / 16 - kMaxLists * (sizeof(DirectList) / 16);
    const auto* from = reinterpret_cast<const uint4*>(&p);
    auto* to = reinterpret_cast<uint4*>(search);
    const uint32_t size = header + p.numLists * (sizeof(DirectList) / 16);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        to[i] = from[i];
    }
    __syncthreads();
}

/* A score that no posting of a block exceeds: worth is 2^16 times that of a step of its bound, rounded up. */
__device__ __forceinline__ uint32_t direct_bound(const DirectList& list, uint32_t entry) {
    const uint64_t score = ((entry & 0xffff) * list.worth >> 16) + 1;
    return static_cast<uint32_t>(min(score, static_cast<uint64_t>(list.maxScore)));
}

/* The number of postings of a block. */
__device__ __forceinline__ uint32_t direct_size(const DirectList& list, uint32_t block) {
    return min(decodeBlockLen, list.docFreq - block * decodeBlockLen);
}

__device__ __forceinline__ uint32_t direct_doc_width(uint32_t entry) {
    return min(entry >> 16 & 0xff, 32U);
}

__device__ __forceinline__ uint32_t direct_freq_width(uint32_t entry) {
    return min(entry >> 24, 32U);
}

__device__ __forceinline__ uint32_t direct_last(const DirectList& list, uint32_t block) {
    return __ldg(reinterpret_cast<const uint32_t*>(list.directory + block) + 1);
}

/* The first block of a list whose last DocID is at least target; numBlocks if there is none. Each step asks 32 blocks.
 * By a warp. */
__device__ __forceinline__ uint32_t direct_find(const DirectList& list, uint32_t target) {
    uint32_t from = 0, size = list.numBlocks;
    while (size > 0) { /* Invariant: block from - 1 is below; block from + size is not, or there is none */
        const uint32_t step = (size + 31) / 32;
        const uint32_t lane = threadIdx.x % 32;
        const bool below = lane * step < size && direct_last(list, from + min((lane + 1) * step, size) - 1) < target;
        const uint32_t skipped = min(static_cast<uint32_t>(__popc(__ballot_sync(kAll, below))) * step, size);
        from += skipped;
        size = skipped == size ? 0 : min(step, size - skipped) - 1;
    }
    return from;
}

/* A warp's own shared memory: the bytes of a block, with room for what is read behind them. */
constexpr uint32_t kStagingQuads = 64 + 2;

struct DirectStaging {
    uint4 quads[kStagingQuads];
};

/* Makes sure that all of a staging has been written. By a warp. */
__device__ __forceinline__ void direct_clear(DirectStaging& s) {
    for (uint32_t i = threadIdx.x % 32; i < kStagingQuads; i += 32) {
        s.quads[i] = make_uint4(0, 0, 0, 0);
    }
    __syncwarp();
}

/* Numbers 4*lane to 4*lane+3 of those of width bits that begin at a bit of the staging. */
__device__ __forceinline__ uint4 direct_unpack_quad(const DirectStaging& s, uint32_t bit, uint32_t width) {
    const auto* words = reinterpret_cast<const uint32_t*>(s.quads);
    DecodeQuad q;
    q.bit = bit + 4 * decode_lane() * width;
    const uint32_t at = q.bit >> 5;
    q.word[0] = words[at];
    q.word[1] = words[at + 1];
    q.word[2] = words[at + 2];
    return decode_quad_of(q, width, [&](uint32_t i) { return words[i]; });
}

/* A block that a lane has found worth decoding. */
struct DirectWork {
    uint64_t payload; /* of its list */
    uint4 entry;
    uint32_t n; /* postings */
};

/* How many 16-byte quads a block takes, with its frequencies or without. */
template <bool withFreqs>
__device__ __forceinline__ uint32_t direct_quads(uint32_t entry, uint32_t n) {
    uint32_t bytes = decode_packed_size(n, direct_doc_width(entry));
    if constexpr (withFreqs) {
        bytes += decode_packed_size(n, direct_freq_width(entry));
    }
    return (bytes + 15) / 16;
}

/* Decodes the blocks of the lanes in mask, one after the other, and calls each(lane, docIDs, freqs, n) with postings
 * 4*lane to 4*lane+3 of those n that there are. The bytes of kInFlight blocks are on their way at a time, each asked
 * for once, 16 bytes a lane. Returns how many quads were read. By a warp. */
template <bool withFreqs, class Each>
__device__ __forceinline__ uint32_t direct_blocks(DirectStaging& s, uint32_t mask, const DirectWork& work, Each each) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t numRead = 0;
    while (mask != 0) {
        uint32_t batch = mask;
        uint4 quads[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            quads[i] = make_uint4(0, 0, 0, 0);
            if (mask != 0) {
                const int owner = __ffs(mask) - 1;
                mask &= mask - 1;
                const auto* from = reinterpret_cast<const uint4*>(__shfl_sync(kAll, work.payload, owner));
                const uint32_t first = __shfl_sync(kAll, work.entry.z, owner) / 16;
                const uint32_t entry = __shfl_sync(kAll, work.entry.w, owner);
                const uint32_t size = direct_quads<withFreqs>(entry, __shfl_sync(kAll, work.n, owner));
                if (lane < size) {
                    quads[i] = __ldg(from + first + lane);
                }
                numRead += size;
            }
        }
        batch ^= mask;
#pragma unroll 1
        for (uint32_t i = 0; batch != 0; i++) { /* once in the code: what each does is long */
            const int owner = __ffs(batch) - 1;
            batch &= batch - 1;
            uint4 quad = quads[0];
#pragma unroll
            for (uint32_t j = 1; j < kInFlight; j++) {
                quad = i == j ? quads[j] : quad;
            }
            const uint32_t entry = __shfl_sync(kAll, work.entry.w, owner), n = __shfl_sync(kAll, work.n, owner);
            const uint32_t docID = __shfl_sync(kAll, work.entry.x, owner);
            const uint32_t size = direct_quads<withFreqs>(entry, n), docWidth = direct_doc_width(entry);
            if (lane < size) {
                s.quads[lane] = quad;
            }
            if (size > 32) { /* rare: DocIDs far apart */
                const auto* from = reinterpret_cast<const uint4*>(__shfl_sync(kAll, work.payload, owner));
                const uint32_t first = __shfl_sync(kAll, work.entry.z, owner) / 16;
                if (lane + 32 < size) {
                    s.quads[lane + 32] = __ldg(from + first + 32 + lane);
                }
            }
            __syncwarp();
            const uint4 docIDs = decode_sum(direct_unpack_quad(s, 0, docWidth), docID);
            uint4 freqs = make_uint4(0, 0, 0, 0);
            if constexpr (withFreqs) {
                const uint32_t bit = 8 * decode_packed_size(n, docWidth);
                freqs = decode_plus(direct_unpack_quad(s, bit, direct_freq_width(entry)), 1);
            }
            __syncwarp();
            each(owner, docIDs, freqs, n);
        }
    }
    return numRead;
}
