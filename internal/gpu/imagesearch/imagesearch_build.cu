#include "steps.cuh"

/* buildParams in params.go. */
struct ImageBuildParams {
    const uint32_t* docIDs;  /* [term.docFreq], rising */
    const uint32_t* freqs;   /* [term.docFreq] */
    const uint32_t* lengths; /* [numDocs]; not read if linear */
    ImageTerm term;          /* destination and layout */
    uint32_t numDocs;
    ImageSteps steps;
    uint32_t padding[2];
};

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
            target >= p.numDocs ? t.docFreq : imagesearch_search(p.docIDs, 0, t.docFreq, static_cast<uint32_t>(target));
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
        const uint32_t steps = imagesearch_eighth(p.steps, freq, p.steps.linear != 0 ? 0 : p.lengths[docID]);
        best = max(best, steps);
        if (t.kind != kPacked) {
            imagesearch_write<uint8_t>(t, t.sat)[i] = static_cast<uint8_t>(steps);
        }
        if (t.freqBytes == 1) {
            imagesearch_write<uint8_t>(t, t.freq)[i] = static_cast<uint8_t>(min(freq, kFreqEscape));
            if (freq >= kFreqEscape) {
                imagesearch_keep_long(t, i, freq);
            }
        } else if (t.freqBytes == 2) {
            imagesearch_write<uint16_t>(t, t.freq)[i] = static_cast<uint16_t>(freq);
        }
        const uint32_t range = docID / kRangeDocs % kSuperRanges;
        if (t.kind != kSparse) {
            atomicMax(maxima + range, steps);
        }
        if (t.kind == kDense) {
            atomicOr(bits + range, 1U << docID % kRangeDocs);
        } else if (t.kind == kPacked) {
            imagesearch_write<uint16_t>(t, t.docIDs)[i] =
                static_cast<uint16_t>((docID & ((1U << t.shift) - 1)) | steps << 8);
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
    if (t.kind != kSparse) {
        imagesearch_write<uint8_t>(t, t.rangeMax)[range] = static_cast<uint8_t>(maxima[threadIdx.x]);
    }
    if (t.kind >= kPacked && threadIdx.x == 0) {
        imagesearch_write<uint32_t>(t, t.base)[super] = from;
    }
    if (t.kind == kDense) {
        imagesearch_write<uint32_t>(t, t.bitmap)[range] = bits[threadIdx.x];
        uint32_t rank = 0;
        for (uint32_t r = 0; r < threadIdx.x; r++) {
            rank += static_cast<uint32_t>(__popc(bits[r]));
        }
        imagesearch_write<uint16_t>(t, t.rank)[range] = static_cast<uint16_t>(rank);
        return;
    }
    /* Buckets that start in the superblock, one per thread: a bucket has one range or more. */
    const uint64_t start = static_cast<uint64_t>(super) * kSuperDocs;
    if (t.kind == kPacked) {
        const uint32_t perSuper = (kSuperDocs >> t.shift) + 1;
        if (threadIdx.x < perSuper) {
            const auto first = static_cast<uint32_t>(start + (static_cast<uint64_t>(threadIdx.x) << t.shift));
            imagesearch_write<uint16_t>(t, t.starts)[super * perSuper + threadIdx.x] =
                static_cast<uint16_t>(imagesearch_search(p.docIDs, from, to, first) - from);
        }
        return;
    }
    auto* starts = imagesearch_write<uint32_t>(t, t.starts);
    const uint32_t numBuckets = ((p.numDocs - 1) >> t.shift) + 1;
    const uint64_t bucket = ((start + (1ULL << t.shift) - 1) >> t.shift) + threadIdx.x;
    if (bucket < numBuckets && bucket << t.shift < start + kSuperDocs) {
        starts[bucket] = imagesearch_search(p.docIDs, from, to, static_cast<uint32_t>(bucket << t.shift));
    }
    if (last && threadIdx.x == 0) {
        starts[numBuckets] = t.docFreq;
    }
}
