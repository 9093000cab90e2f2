/* Packed lists (shape.go): postings of 16 bits in buckets of documents. */
#pragma once

#include "../device/cuda.cuh"
#include "constants.cuh"

/* The documents of a range in a list, one bit each, and the index of the first posting. */
struct ImageRange {
    uint32_t bits, rank;
};

constexpr uint32_t kNoPosting = 0xffffffffU;
constexpr uint32_t kRangeShift = 31 - __builtin_clz(kRangeDocs);
constexpr uint32_t kPackedLoads = 4; /* postings that are loaded at the same time */

/* Kernels of queries without packed lists need fewer registers without the code for them. */
#ifndef GRIFFIN_PACKED_LISTS
#define GRIFFIN_PACKED_LISTS 1
#endif

__device__ __forceinline__ bool image_packed(uint32_t kind) {
    return GRIFFIN_PACKED_LISTS != 0 && kind == kPacked;
}

struct PackedList {
    const uint16_t* postings; /* DocID in the bucket | contribution << 8 */
    const uint16_t* starts;
    const uint32_t* base;
    uint32_t shift; /* log2 of the documents per bucket, kMinPackedShift to 8 */

    /* The starts of the buckets of a superblock. */
    __device__ __forceinline__ const uint16_t* starts_of(uint32_t super) const {
        return starts + super * ((kSuperDocs >> shift) + 1);
    }

    /* The postings [x, y) of the bucket of a range. */
    __device__ __forceinline__ uint2 bucket(uint32_t range) const {
        const uint32_t super = range / kSuperRanges;
        const uint16_t* at = starts_of(super) + (range % kSuperRanges >> (shift - kRangeShift));
        const uint32_t first = base[super];
        return make_uint2(first + at[0], first + at[1]);
    }

    /* Calls visit(posting, its document in the bucket, its contribution) for [from, to), and behind them with documents
     * that no bucket has. */
    template <class Visit>
    __device__ __forceinline__ void each(uint32_t from, uint32_t to, Visit visit) const {
        for (uint32_t next = from; next < to; next += kPackedLoads) {
            uint32_t stored[kPackedLoads];
#pragma unroll
            for (uint32_t i = 0; i < kPackedLoads; i++) {
                stored[i] = next + i < to ? postings[next + i] : kNoPosting;
            }
#pragma unroll
            for (uint32_t i = 0; i < kPackedLoads; i++) {
                visit(next + i, stored[i] == kNoPosting ? kNoPosting : stored[i] & 0xff, stored[i] >> 8);
            }
        }
    }

    /* postings are of the range's bucket. */
    __device__ __forceinline__ ImageRange range_of(uint32_t range, uint2 bucket) const {
        const uint32_t first = (range << kRangeShift) & ((1U << shift) - 1);
        ImageRange found = {0, bucket.x};
        each(bucket.x, bucket.y, [&](uint32_t, uint32_t doc, uint32_t) {
            found.rank += doc < first ? 1 : 0;
            found.bits |= doc - first < kRangeDocs ? 1U << doc % kRangeDocs : 0;
        });
        return found;
    }

    __device__ __forceinline__ ImageRange range_of(uint32_t range) const { return range_of(range, bucket(range)); }

    /* The posting of a document and its contribution, or {kNoPosting, 0}. */
    __device__ __forceinline__ uint2 find(uint32_t docID) const {
        const uint32_t wanted = docID & ((1U << shift) - 1);
        const uint2 postings = bucket(docID / kRangeDocs);
        uint2 found = make_uint2(kNoPosting, 0);
        each(postings.x, postings.y, [&](uint32_t posting, uint32_t doc, uint32_t steps) {
            found = doc == wanted ? make_uint2(posting, steps) : found;
        });
        return found;
    }

    /* The documents of a lane's four ranges of a superblock: of one bucket or two. */
    __device__ __forceinline__ uint4 words(uint32_t super, uint32_t lane) const {
        constexpr uint32_t docs = 4 * kRangeDocs;
        static_assert(docs <= 2U << kMinPackedShift, "at most two buckets");
        const uint32_t first = lane * docs, firstBucket = first >> shift;
        const uint16_t* at = starts_of(super);
        const uint32_t from = base[super];
        const uint32_t second = from + at[firstBucket + 1], to = from + at[((first + docs - 1) >> shift) + 1];
        const uint32_t offset = (firstBucket << shift) - first;
        uint4 w = make_uint4(0, 0, 0, 0);
        each(from + at[firstBucket], to, [&](uint32_t posting, uint32_t inBucket, uint32_t) {
            const uint32_t doc = inBucket + offset + (posting >= second ? 1U << shift : 0);
            const uint32_t bit = inBucket < kSuperDocs && doc < docs ? 1U << doc % kRangeDocs : 0;
            w.x |= doc / kRangeDocs == 0 ? bit : 0;
            w.y |= doc / kRangeDocs == 1 ? bit : 0;
            w.z |= doc / kRangeDocs == 2 ? bit : 0;
            w.w |= doc / kRangeDocs == 3 ? bit : 0;
        });
        return w;
    }
};
