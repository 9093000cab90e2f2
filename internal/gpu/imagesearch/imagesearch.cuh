#pragma once

#include "../device/block_best.cuh"
#include "../device/bm25.cuh"
#include "packed.cuh"

/* termParams in params.go. */
struct ImageTerm {
    /* The fields that are read most, as pairs of 16 bytes; satStep and maxStep equal step. */
    const uint8_t* satAt; /* of posting i: satAt[i << satShift] */
    uint32_t satStep, satShift;
    const uint8_t* maxAt; /* rangeMax */
    uint32_t maxStep, padding;
    const uint8_t* image;
    const uint32_t* lengths; /* [numDocs]: tokens per document; not read if linear */
    Bm25Term score;
    uint32_t step;                             /* score of a step of sat */
    uint32_t docFreq;                          /* postings */
    uint32_t kind;                             /* kSparse to kDense; all but kSparse have rangeMax */
    uint32_t shift;                            /* log2 of the documents per bucket of the directory */
    uint32_t superMax, rangeMax, bitmap, rank; /* parts of the image, in units of kLayoutUnit bytes */
    uint32_t starts, docIDs, sat, freq, escapes;
    uint32_t escapeMask; /* slots of escapes - 1; 0: no table */
    uint32_t freqBytes;  /* 0: sat has the frequencies */
    uint32_t base;       /* another part */
};
static_assert(sizeof(ImageTerm) == 128, "mirrored by termParams");

template <class T>
__device__ __forceinline__ const T* imagesearch_part(const ImageTerm& t, uint32_t part) {
    return reinterpret_cast<const T*>(t.image + static_cast<uint64_t>(part) * kLayoutUnit);
}

/* Loaded at once. */
template <class T>
struct ImageHot {
    const T* at;
    uint32_t step, shift;
};

template <class T>
__device__ __forceinline__ ImageHot<T> imagesearch_hot(const uint8_t* const* entry) {
    const uint4 v = *reinterpret_cast<const uint4*>(entry);
    return {reinterpret_cast<const T*>(static_cast<uint64_t>(v.y) << 32 | v.x), v.z, v.w};
}

/* In steps. */
__device__ __forceinline__ uint32_t imagesearch_sat(const ImageTerm& t, uint32_t posting) {
    return t.satAt[posting << t.satShift];
}

/* The first slot to search: hash in encode.go. */
__device__ __forceinline__ uint32_t imagesearch_hash(uint32_t posting, uint32_t mask) {
    return (posting * 2654435761U >> 7) & mask;
}

/* Of a posting and of its document. */
struct ImageStored {
    uint32_t freq, length;
};

__device__ __forceinline__ ImageStored imagesearch_stored(const ImageTerm& t, uint32_t posting, uint32_t docID) {
    ImageStored s;
    if (t.freqBytes == 1) {
        s.freq = imagesearch_part<uint8_t>(t, t.freq)[posting];
    } else if (t.freqBytes == 0) {
        s.freq = imagesearch_sat(t, posting);
    } else {
        s.freq = imagesearch_part<uint16_t>(t, t.freq)[posting];
    }
    s.length = t.score.linear != 0 ? 0 : t.lengths[docID];
    return s;
}

/* From the hash table. */
__device__ __forceinline__ uint32_t imagesearch_long_freq(const ImageTerm& t, uint32_t posting) {
    const auto* slots = imagesearch_part<uint2>(t, t.escapes); /* {freq, posting + 1} */
    for (uint32_t i = imagesearch_hash(posting, t.escapeMask);; i = (i + 1) & t.escapeMask) {
        const uint2 slot = slots[i];
        if (slot.y == posting + 1) {
            return slot.x;
        }
    }
}

__device__ __forceinline__ uint32_t imagesearch_contribution(const ImageTerm& t, uint32_t posting, ImageStored s) {
    if (t.freqBytes == 1 && s.freq == kFreqEscape) {
        s.freq = imagesearch_long_freq(t, posting);
    }
    return bm25_contribution(t.score, s.freq, s.length);
}

__device__ __forceinline__ void imagesearch_prefetch(const void* address) {
#ifdef GRIFFIN_EMULATOR
    static_cast<void>(address);
#else
    asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
#endif
}

/* The postings [x, y) in docID's bucket, of a list with DocIDs of 32 bits. */
__device__ __forceinline__ uint2 imagesearch_bucket(const ImageTerm& t, uint32_t docID) {
    const auto* starts = imagesearch_part<uint32_t>(t, t.starts) + (docID >> t.shift);
    return make_uint2(starts[0], starts[1]);
}

/* The first posting in [from, to) with a DocID of at least target, or to. */
__device__ __forceinline__ uint32_t imagesearch_search(const uint32_t* docIDs, uint32_t from, uint32_t to,
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

__device__ __forceinline__ ImageRange imagesearch_dense_range(const ImageTerm& t, uint32_t range) {
    const uint32_t bits = imagesearch_part<uint32_t>(t, t.bitmap)[range];
    const uint32_t base = imagesearch_part<uint32_t>(t, t.base)[range / kSuperRanges];
    return {bits, base + imagesearch_part<uint16_t>(t, t.rank)[range]};
}

__device__ __forceinline__ PackedList imagesearch_packed(const ImageTerm& t) {
    return {imagesearch_part<uint16_t>(t, t.docIDs), imagesearch_part<uint16_t>(t, t.starts),
            imagesearch_part<uint32_t>(t, t.base), t.shift};
}

/* The posting of a document, or kNoPosting. */
__device__ __forceinline__ uint32_t imagesearch_find(const ImageTerm& t, uint32_t docID) {
    if (t.kind == kDense) {
        const uint32_t bit = 1U << docID % kRangeDocs;
        const ImageRange found = imagesearch_dense_range(t, docID / kRangeDocs);
        return (found.bits & bit) != 0 ? found.rank + static_cast<uint32_t>(__popc(found.bits & (bit - 1)))
                                       : kNoPosting;
    }
    if (image_packed(t.kind)) {
        return imagesearch_packed(t).find(docID).x;
    }
    const uint2 bucket = imagesearch_bucket(t, docID);
    const auto* docIDs = imagesearch_part<uint32_t>(t, t.docIDs);
    const uint32_t i = imagesearch_search(docIDs, bucket.x, bucket.y, docID);
    return i < bucket.y && docIDs[i] == docID ? i : kNoPosting;
}

__device__ __forceinline__ ImageRange imagesearch_range(const ImageTerm& t, uint32_t range) {
    if (t.kind == kDense) {
        return imagesearch_dense_range(t, range);
    }
    if (image_packed(t.kind)) {
        return imagesearch_packed(t).range_of(range);
    }
    const uint32_t first = range * kRangeDocs;
    const uint2 bucket = imagesearch_bucket(t, first);
    const auto* docIDs = imagesearch_part<uint32_t>(t, t.docIDs);
    ImageRange found = {0, imagesearch_search(docIDs, bucket.x, bucket.y, first)};
    for (uint32_t i = found.rank; i < bucket.y; i++) {
        const uint32_t docID = docIDs[i];
        if (docID / kRangeDocs != range) {
            break;
        }
        found.bits |= 1U << docID % kRangeDocs;
    }
    return found;
}
