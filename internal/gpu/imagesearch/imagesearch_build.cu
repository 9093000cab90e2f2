#include "imagesearch.cuh"

/* buildParams in params.go. */
struct ImageBuildParams {
    const uint32_t* docIDs;  /* [term.docFreq], rising */
    const uint32_t* freqs;   /* [term.docFreq] */
    const uint32_t* lengths; /* [numDocs]; not read if linear */
    ImageTerm term;          /* destination and layout */
    uint32_t numDocs;
    uint32_t linear;
    uint32_t max;  /* maximum frequency if linear */
    float c0, c1;  /* K = c0 + c1*length */
    float perUnit; /* steps of a saturation of 1 */
    uint32_t padding[2];
};

/* The first posting in [from, to) with a DocID of at least target, or to. */
__device__ static uint32_t imagesearch_first(const uint32_t* docIDs, uint32_t from, uint32_t to, uint32_t target) {
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (docIDs[middle] < target) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* In steps, rounded up: 1 to 255. As eighth in encode.go. */
__device__ static uint32_t imagesearch_eighth(const ImageBuildParams& p, uint32_t freq, uint32_t docID) {
    if (p.linear != 0) {
        return p.max <= 255 ? freq : (freq * 255 + p.max - 1) / p.max;
    }
    const float f = static_cast<float>(freq);
    const float k = __fadd_rn(p.c0, __fmul_rn(p.c1, static_cast<float>(p.lengths[docID])));
    const float v = __fmul_rn(__fdiv_rn(f, __fadd_rn(f, k)), p.perUnit);
    uint32_t steps = __float2uint_rz(v);
    steps += static_cast<float>(steps) < v ? 1 : 0;
    return max(min(steps, 255U), 1U);
}

/* Inserts into the hash table. */
__device__ static void imagesearch_keep_long(const ImageTerm& t, uint32_t posting, uint32_t freq) {
    auto* slots = const_cast<unsigned long long*>(imagesearch_part<unsigned long long>(t, t.escapes));
    const unsigned long long entry = static_cast<unsigned long long>(posting + 1) << 32 | freq;
    for (uint32_t i = imagesearch_hash(posting, t.escapeMask);; i = (i + 1) & t.escapeMask) {
        if (atomicCAS(slots + i, 0ULL, entry) == 0) {
            return;
        }
    }
}

template <class T>
__device__ __forceinline__ T* imagesearch_write(const ImageTerm& t, uint32_t part) {
    return const_cast<T*>(imagesearch_part<T>(t, part));
}

/* Builds the image of a list.
 *
 * Grid: one block per superblock. Block: kSuperRanges threads. Shared memory: 1.1 KiB. In: the hash table of long
 * frequencies, all 0. One thread writes each posting, bound and directory entry. Reference: Encode in encode.go. */
GRIFFIN_KERNEL(imagesearch_build, ImageBuildParams, 128) {
    __shared__ uint32_t borders[2]; /* the superblock's postings */
    __shared__ uint32_t greatest;
    __shared__ uint32_t maxima[kSuperRanges];
    __shared__ uint32_t bits[kSuperRanges];
    const ImageTerm& t = p.term;
    const uint32_t super = blockIdx.x;
    const bool last = super + 1 == gridDim.x;
    if (threadIdx.x < 2) {
        const uint64_t target = static_cast<uint64_t>(super + threadIdx.x) * kSuperDocs;
        borders[threadIdx.x] =
            target >= p.numDocs ? t.docFreq : imagesearch_first(p.docIDs, 0, t.docFreq, static_cast<uint32_t>(target));
    }
    maxima[threadIdx.x] = 0;
    bits[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        greatest = 0;
    }
    __syncthreads();
    const uint32_t from = borders[0], to = borders[1];
    uint32_t best = 0;
    for (uint32_t i = from + threadIdx.x; i < to; i += kSuperRanges) {
        const uint32_t docID = p.docIDs[i], freq = p.freqs[i];
        const uint32_t steps = imagesearch_eighth(p, freq, docID);
        best = max(best, steps);
        imagesearch_write<uint8_t>(t, t.sat)[i] = static_cast<uint8_t>(steps);
        if (t.freqBytes == 1) {
            imagesearch_write<uint8_t>(t, t.freq)[i] = static_cast<uint8_t>(min(freq, kFreqEscape));
            if (freq >= kFreqEscape) {
                imagesearch_keep_long(t, i, freq);
            }
        } else if (t.freqBytes == 2) {
            imagesearch_write<uint16_t>(t, t.freq)[i] = static_cast<uint16_t>(freq);
        }
        const uint32_t range = docID / kRangeDocs % kSuperRanges;
        if (t.bounded != 0) {
            atomicMax(maxima + range, steps);
        }
        if (t.dense != 0) {
            atomicOr(bits + range, 1U << docID % kRangeDocs);
        } else {
            imagesearch_write<uint32_t>(t, t.docIDs)[i] = docID;
        }
    }
    if (best > 0) {
        atomicMax(&greatest, best);
    }
    __syncthreads();
    auto* superMax = imagesearch_write<uint8_t>(t, t.superMax);
    if (threadIdx.x == 0) {
        superMax[super] = static_cast<uint8_t>(greatest);
    }
    if (last && threadIdx.x > 0 && threadIdx.x <= (~super & 3)) { /* up to a multiple of four */
        superMax[super + threadIdx.x] = 0;
    }
    const uint32_t range = super * kSuperRanges + threadIdx.x;
    if (t.bounded != 0) {
        imagesearch_write<uint8_t>(t, t.rangeMax)[range] = static_cast<uint8_t>(maxima[threadIdx.x]);
    }
    if (t.dense != 0) {
        imagesearch_write<uint32_t>(t, t.bitmap)[range] = bits[threadIdx.x];
        uint32_t rank = from;
        for (uint32_t r = 0; r < threadIdx.x; r++) {
            rank += static_cast<uint32_t>(__popc(bits[r]));
        }
        auto* ranks = imagesearch_write<uint32_t>(t, t.rank);
        ranks[range] = rank;
        if (last && threadIdx.x == 0) {
            ranks[gridDim.x * kSuperRanges] = t.docFreq;
        }
        return;
    }
    auto* starts = imagesearch_write<uint32_t>(t, t.starts);
    /* Buckets that start in the superblock, one per thread: a bucket has one range or more. */
    const uint64_t start = static_cast<uint64_t>(super) * kSuperDocs;
    const uint32_t numBuckets = ((p.numDocs - 1) >> t.shift) + 1;
    const uint64_t bucket = ((start + (1ULL << t.shift) - 1) >> t.shift) + threadIdx.x;
    if (bucket < numBuckets && bucket << t.shift < start + kSuperDocs) {
        starts[bucket] = imagesearch_first(p.docIDs, from, to, static_cast<uint32_t>(bucket << t.shift));
    }
    if (last && threadIdx.x == 0) {
        starts[numBuckets] = t.docFreq;
    }
}
