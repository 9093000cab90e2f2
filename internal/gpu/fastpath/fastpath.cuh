/* List images and queries as the kernels of package fastpath read them. */
#pragma once

#include "../device/block_best.cuh"
#include "../device/bm25.cuh"
#include "constants.cuh"

/* A term of a query: termParams in params.go. */
struct FastpathTerm {
    /* What is read most, as 16 bytes each; steps are worth as much as step. */
    const uint8_t* satAt;
    uint32_t satStep, padding1;
    const uint8_t* maxAt; /* rangeMax */
    uint32_t maxStep, padding2;
    const uint8_t* image;
    const uint32_t* lengths; /* [numDocs]: tokens by document; not read if linear */
    Bm25Term score;
    uint32_t step;                             /* worth of a step of sat */
    uint32_t docFreq;                          /* postings */
    uint32_t dense;                            /* 1, or 0: sparse */
    uint32_t shift;                            /* log2 of the documents of a bucket of the directory */
    uint32_t superMax, rangeMax, bitmap, rank; /* parts of the image, in units of kLayoutUnit bytes */
    uint32_t starts, docIDs, sat, freq, escapes;
    uint32_t escapeMask; /* slots of escapes less 1, or 0: none */
    uint32_t freqBytes;  /* 0: sat holds frequencies */
    uint32_t bounded;    /* 1 if there is rangeMax */
};
static_assert(sizeof(FastpathTerm) == 128, "mirrored by termParams");

template <class T>
__device__ __forceinline__ const T* fastpath_part(const FastpathTerm& t, uint32_t part) {
    return reinterpret_cast<const T*>(t.image + static_cast<uint64_t>(part) * kLayoutUnit);
}

/* A pointer and the worth of a step, read at once. */
template <class T>
struct FastpathHot {
    const T* at;
    uint32_t step;
};

template <class T>
__device__ __forceinline__ FastpathHot<T> fastpath_hot(const uint8_t* const* entry) {
    const uint4 v = *reinterpret_cast<const uint4*>(entry);
    return {reinterpret_cast<const T*>(static_cast<uint64_t>(v.y) << 32 | v.x), v.z};
}

/* Where the hash table of long frequencies begins to look for a posting: hash in encode.go. */
__device__ __forceinline__ uint32_t fastpath_hash(uint32_t posting, uint32_t mask) {
    return (posting * 2654435761U >> 7) & mask;
}

/* A posting's frequency as it is stored, and the length of its document: what a contribution needs of memory. */
struct FastpathStored {
    uint32_t freq, length;
};

__device__ __forceinline__ FastpathStored fastpath_stored(const FastpathTerm& t, uint32_t posting, uint32_t docID) {
    FastpathStored s;
    if (t.freqBytes == 1) {
        s.freq = fastpath_part<uint8_t>(t, t.freq)[posting];
    } else if (t.freqBytes == 0) {
        s.freq = t.satAt[posting];
    } else {
        s.freq = fastpath_part<uint16_t>(t, t.freq)[posting];
    }
    s.length = t.score.linear != 0 ? 0 : t.lengths[docID];
    return s;
}

/* The frequency of a posting of which the table of long ones must tell it. */
__device__ __forceinline__ uint32_t fastpath_long_freq(const FastpathTerm& t, uint32_t posting) {
    const auto* slots = fastpath_part<uint2>(t, t.escapes); /* {freq, posting + 1} */
    for (uint32_t i = fastpath_hash(posting, t.escapeMask);; i = (i + 1) & t.escapeMask) {
        const uint2 slot = slots[i];
        if (slot.y == posting + 1) {
            return slot.x;
        }
    }
}

/* The contribution of a posting to its document's score. */
__device__ __forceinline__ uint32_t fastpath_contribution(const FastpathTerm& t, uint32_t posting, FastpathStored s) {
    if (t.freqBytes == 1 && s.freq == kFreqEscape) {
        s.freq = fastpath_long_freq(t, posting);
    }
    return bm25_contribution(t.score, s.freq, s.length);
}

/* Begins to bring a line of device memory into the caches. */
__device__ __forceinline__ void fastpath_prefetch(const void* address) {
#ifdef GRIFFIN_EMULATOR
    static_cast<void>(address);
#else
    asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
#endif
}

/* The postings of a sparse list in the bucket that holds docID. */
__device__ __forceinline__ uint2 fastpath_bucket(const FastpathTerm& t, uint32_t docID) {
    const auto* starts = fastpath_part<uint32_t>(t, t.starts) + (docID >> t.shift);
    return make_uint2(starts[0], starts[1]);
}

/* The first posting of a sparse list in [from, to) with a DocID of at least target, or to. */
__device__ __forceinline__ uint32_t fastpath_search(const uint32_t* docIDs, uint32_t from, uint32_t to,
                                                    uint32_t target) {
    while (to > from) {
        const uint32_t middle = from + (to - from) / 2;
        if (docIDs[middle] < target) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

constexpr uint32_t kNoPosting = 0xffffffffU;

/* The posting of a document, or kNoPosting. */
__device__ __forceinline__ uint32_t fastpath_find(const FastpathTerm& t, uint32_t docID) {
    if (t.dense != 0) {
        const uint32_t range = docID / kRangeDocs, bit = 1U << docID % kRangeDocs;
        const uint32_t bits = fastpath_part<uint32_t>(t, t.bitmap)[range];
        const uint32_t rank = fastpath_part<uint32_t>(t, t.rank)[range];
        return (bits & bit) != 0 ? rank + static_cast<uint32_t>(__popc(bits & (bit - 1))) : kNoPosting;
    }
    const uint2 bucket = fastpath_bucket(t, docID);
    const auto* docIDs = fastpath_part<uint32_t>(t, t.docIDs);
    const uint32_t i = fastpath_search(docIDs, bucket.x, bucket.y, docID);
    return i < bucket.y && docIDs[i] == docID ? i : kNoPosting;
}

/* Which documents of a range a list has, a bit each, and the posting of the first. */
struct FastpathRange {
    uint32_t bits, rank;
};

__device__ __forceinline__ FastpathRange fastpath_range(const FastpathTerm& t, uint32_t range) {
    if (t.dense != 0) {
        return {fastpath_part<uint32_t>(t, t.bitmap)[range], fastpath_part<uint32_t>(t, t.rank)[range]};
    }
    const uint32_t first = range * kRangeDocs;
    const uint2 bucket = fastpath_bucket(t, first);
    const auto* docIDs = fastpath_part<uint32_t>(t, t.docIDs);
    FastpathRange found = {0, fastpath_search(docIDs, bucket.x, bucket.y, first)};
    for (uint32_t i = found.rank; i < bucket.y; i++) {
        const uint32_t docID = docIDs[i];
        if (docID / kRangeDocs != range) {
            break;
        }
        found.bits |= 1U << docID % kRangeDocs;
    }
    return found;
}
