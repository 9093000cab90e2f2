#include "../device/bits.cuh"
#include "../device/warp_reduce.cuh"
#include "packed.cuh"

constexpr uint32_t kAll = 0xffffffffU;

/* tallyTerm in tally.go. The parts of an image (shape.go). */
struct TallyTerm {
    const void* docIDs;   /* of the list's kind, or the bitmap */
    const void* starts;   /* null: the list has a bitmap */
    const uint32_t* base; /* null: the list is not packed */
    uint32_t docFreq;
    uint32_t shift; /* log2 of the documents per bucket of starts */

    __device__ __forceinline__ PackedList packed() const {
        return {static_cast<const uint16_t*>(docIDs), static_cast<const uint16_t*>(starts), base, shift};
    }
    __device__ __forceinline__ const uint32_t* words() const { return static_cast<const uint32_t*>(docIDs); }
    __device__ __forceinline__ const uint32_t* wide_starts() const { return static_cast<const uint32_t*>(starts); }
};
static_assert(sizeof(TallyTerm) == 32, "mirrored by tallyTerm");

/* markParams in tally.go. */
struct __align__(16) TallyMark {
    uint32_t* bits;
    uint32_t numTerms;
    uint32_t padding;
    TallyTerm terms[kMaxTallyTerms]; /* the first one has DocIDs of 32 bits */
};

/* tallyParams in tally.go. */
struct __align__(16) TallyParams {
    uint32_t* bits;         /* [numWords]: matches of imagesearch_mark, or null */
    const uint32_t* live;   /* [numWords], or null */
    const uint32_t* filter; /* [numWords], or null */
    const void* values;     /* [numDocs], rounded up to eight, or of all documents; null: matches are counted only */
    const uint32_t* starts; /* [numDocs + 1] in values; null: one value for each document */
    uint32_t* counts;       /* [numSlots]: all 0 between launches */
    uint32_t* out;          /* [numSlots] in page-locked host memory, or null: counts are left */
    uint64_t* state;        /* {matches << 16 | blocks that have ended, documents}: all 0 between launches */
    uint64_t* result;       /* {matches, number of the launch, documents} in page-locked host memory */
    uint32_t numDocs, numSlots;
    uint32_t copies;             /* of the counts in shared memory, a power of two; 0: there are none */
    uint32_t all;                /* 1: documents in all lists, 0: in any or in bits */
    uint32_t clear;              /* 1: bits are set to 0 */
    uint32_t launch;             /* written to result; 0: result is not written */
    uint32_t numDense, numTerms; /* lists with bitmaps come first, */
    uint32_t numPacked;          /* then packed lists, up to here; if all is 1 there are no others */
    uint32_t units;              /* of a warp at a time, 1 to kTallyUnits */
    TallyTerm terms[kMaxTallyTerms];
};

/* A shift by 64 or more gives 0. */
__device__ __forceinline__ uint64_t shift_by(uint64_t x, uint32_t n) {
    return n < 64 ? x >> n : 0;
}

__device__ __forceinline__ bool tally_has(const TallyTerm& t, uint32_t docID) {
    if (t.starts == nullptr) {
        return (t.words()[docID / kRangeDocs] >> docID % kRangeDocs & 1) != 0;
    }
    if (t.base != nullptr) {
        return (t.packed().range_of(docID / kRangeDocs).bits >> docID % kRangeDocs & 1) != 0;
    }
    const uint32_t* docIDs = t.words();
    uint32_t from = t.wide_starts()[docID >> t.shift];
    const uint32_t end = t.wide_starts()[(docID >> t.shift) + 1];
    uint32_t to = end;
    while (to > from) {
        const uint32_t middle = from + (to - from) / 2;
        if (docIDs[middle] < docID) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < end && docIDs[from] == docID;
}

/* Sets the bits of the documents of the first list that are in all others.
 *
 * Grid: any number of blocks. Block: 256 threads. No dynamic shared memory. Reference: package traverse, merge. */
GRIFFIN_KERNEL(imagesearch_mark, TallyMark, 256) {
    __shared__ __align__(16) TallyTerm terms[kMaxTallyTerms];
    const auto* from = reinterpret_cast<const uint4*>(p.terms);
    auto* to = reinterpret_cast<uint4*>(terms);
    for (uint32_t i = threadIdx.x; i < p.numTerms * (sizeof(TallyTerm) / 16); i += blockDim.x) {
        to[i] = from[i];
    }
    __syncthreads();
    const TallyTerm& t = terms[0];
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < t.docFreq; i += gridDim.x * blockDim.x) {
        const uint32_t docID = t.words()[i];
        bool in = true;
        for (uint32_t j = 1; in && j < p.numTerms; j++) {
            in = tally_has(terms[j], docID);
        }
        if (in) {
            atomicOr(p.bits + docID / kRangeDocs, 1U << docID % kRangeDocs);
        }
    }
}

constexpr uint32_t kUnitWords = 32, kUnitDocs = kUnitWords * kRangeDocs;

/* The units of 1,024 documents that a warp finds the matches of at the same time, as its loads then wait together, and
 * their matches. */
struct TallyChunk {
    uint32_t first, numWords;    /* words of 32 documents */
    uint32_t words[kTallyUnits]; /* a lane has a word of each unit */
};

/* The postings of a lane's list among the documents of a chunk, and a few others. */
__device__ __forceinline__ uint2 tally_postings(const TallyParams& p, const TallyTerm* terms, const TallyChunk& c,
                                                uint32_t list) {
    if (list >= p.numTerms) {
        return make_uint2(0, 0);
    }
    const TallyTerm& t = terms[list];
    const uint32_t end = min((c.first + c.numWords) * kRangeDocs, p.numDocs);
    return make_uint2(t.wide_starts()[c.first * kRangeDocs >> t.shift], t.wide_starts()[((end - 1) >> t.shift) + 1]);
}

/* Sets the bits of the lists with DocIDs of 32 bits in marks, [kTallyUnits * kUnitWords]. postings are of the first of
 * them. By a warp. */
__device__ __forceinline__ void tally_marks(const TallyParams& p, const TallyTerm* terms, const TallyChunk& c,
                                            uint2 postings, uint32_t* marks) {
    const uint32_t lane = threadIdx.x % 32, firstDoc = c.first * kRangeDocs, numDocs = c.numWords * kRangeDocs;
    const auto mark = [&](uint32_t docID) {
        if (docID - firstDoc < numDocs) {
            atomicOr(marks + (docID - firstDoc) / kRangeDocs, 1U << docID % kRangeDocs);
        }
    };
    for (uint32_t list = p.numPacked; list < p.numTerms; list += 32) {
        if (list > p.numPacked) {
            postings = tally_postings(p, terms, c, list + lane);
        }
        const uint32_t numLists = min(p.numTerms - list, 32U);
        for (uint32_t i = 0; i < numLists; i += kInFlight) {
            uint32_t from[kInFlight], to[kInFlight], docIDs[kInFlight];
#pragma unroll
            for (uint32_t j = 0; j < kInFlight; j++) {
                from[j] = __shfl_sync(kAll, postings.x, static_cast<int>((i + j) % 32)) + lane;
                to[j] = i + j < numLists ? __shfl_sync(kAll, postings.y, static_cast<int>((i + j) % 32)) : 0;
                docIDs[j] = kAll;
                if (from[j] < to[j]) {
                    docIDs[j] = terms[list + i + j].words()[from[j]];
                }
            }
#pragma unroll
            for (uint32_t j = 0; j < kInFlight; j++) {
                mark(docIDs[j]);
            }
#pragma unroll
            for (uint32_t j = 0; j < kInFlight; j++) {
                for (uint32_t at = from[j] + 32; at < to[j]; at += 32) {
                    mark(terms[list + i + j].words()[at]);
                }
            }
        }
    }
}

/* Words of a bitmap, 0 behind its end. */
__device__ __forceinline__ void tally_load(const uint32_t* bitmap, uint32_t first, uint32_t units,
                                           uint32_t (&words)[kTallyUnits]) {
#pragma unroll
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        words[u] = 0;
        if (u < units) {
            words[u] = bitmap[first + u * kUnitWords];
        }
    }
}

/* The same of a packed list. */
__device__ __forceinline__ void tally_packed(const PackedList& list, uint32_t first, uint32_t units,
                                             uint32_t (&words)[kTallyUnits]) {
    uint2 buckets[kTallyUnits];
#pragma unroll
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        buckets[u] = u < units ? list.bucket(first + u * kUnitWords) : make_uint2(0, 0);
    }
#pragma unroll
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        words[u] = list.range_of(first + u * kUnitWords, buckets[u]).bits;
    }
}

/* Finds the matching documents of a chunk. marks are the warp's, all 0 before and after. By a warp. */
__device__ __forceinline__ void tally_find(const TallyParams& p, const TallyTerm* terms, TallyChunk& c,
                                           uint32_t* marks) {
    const uint32_t lane = threadIdx.x % 32, first = c.first + lane;
    const uint32_t units = lane < c.numWords ? (c.numWords - lane + kUnitWords - 1) / kUnitWords : 0;
    const uint2 postings = tally_postings(p, terms, c, p.numPacked + lane);
    uint32_t a[kTallyUnits], b[kTallyUnits];
#pragma unroll
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        c.words[u] = p.all != 0 ? kAll : 0;
    }
    for (uint32_t i = 0; i < p.numDense; i += 2) {
        tally_load(terms[i].words(), first, units, a);
        tally_load(terms[min(i + 1, p.numDense - 1)].words(), first, units, b);
#pragma unroll
        for (uint32_t u = 0; u < kTallyUnits; u++) {
            c.words[u] = p.all != 0 ? c.words[u] & a[u] & b[u] : c.words[u] | a[u] | b[u];
        }
    }
    for (uint32_t i = p.numDense; i < p.numPacked; i++) {
        tally_packed(terms[i].packed(), first, units, a);
#pragma unroll
        for (uint32_t u = 0; u < kTallyUnits; u++) {
            c.words[u] = p.all != 0 ? c.words[u] & a[u] : c.words[u] | a[u];
        }
    }
    if (p.bits != nullptr) {
        tally_load(p.bits, first, units, a);
#pragma unroll
        for (uint32_t u = 0; u < kTallyUnits; u++) {
            c.words[u] |= a[u];
            if (p.clear != 0 && u < units) {
                p.bits[first + u * kUnitWords] = 0;
            }
        }
    }
#pragma unroll
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        a[u] = u < units ? kAll : 0;
        b[u] = kAll;
    }
    if (p.filter != nullptr) {
        tally_load(p.filter, first, units, a);
    }
    if (p.live != nullptr) {
        tally_load(p.live, first, units, b);
    }
    if (p.numPacked < p.numTerms) {
        tally_marks(p, terms, c, postings, marks);
        __syncwarp();
#pragma unroll
        for (uint32_t u = 0; u < kTallyUnits; u++) {
            c.words[u] |= marks[u * kUnitWords + lane];
            marks[u * kUnitWords + lane] = 0;
        }
        __syncwarp();
    }
#pragma unroll
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        c.words[u] &= a[u] & b[u];
    }
    const uint32_t left = p.numDocs - c.first * kRangeDocs; /* bits of bitmaps behind the last document are undefined */
    if (left < kTallyUnits * kUnitDocs) {
#pragma unroll
        for (uint32_t u = 0; u < kTallyUnits; u++) {
            const uint32_t before = (u * kUnitWords + lane) * kRangeDocs;
            c.words[u] &= left > before ? low_bits(min(left - before, kRangeDocs)) : 0;
        }
    }
}

/* Counts in shared memory if there is room, else in device memory. */
struct TallyCounts {
    uint32_t* shared; /* [numSlots * copies], or null */
    uint32_t* counts;
    uint32_t copies, copy;

    __device__ __forceinline__ void add(uint32_t slot, uint32_t n) const {
        if (shared != nullptr) {
            atomicAdd(shared + slot * copies + copy, n);
        } else {
            atomicAdd(counts + slot, n);
        }
    }
};

/* Equal values that follow each other are added at once: they do in sorted indexes. */
struct TallyRun {
    uint32_t slot, n;

    __device__ __forceinline__ void add(const TallyCounts& counts, uint32_t value) {
        if (value != slot) {
            end(counts);
            slot = value;
        }
        n++;
    }

    __device__ __forceinline__ void end(const TallyCounts& counts) {
        if (n > 0) {
            counts.add(slot, n);
            n = 0;
        }
    }
};

/* The documents of a group for a lane. */
constexpr uint32_t kLaneDocs = 8, kUnitGroups = kUnitDocs / (32 * kLaneDocs);

/* Below this number of matches in a unit, a lane visits the matches of its documents: its steps are the most of a lane,
 * not all documents, of which an instruction for each eighth is most of the work. */
constexpr uint32_t kSparseUnit = kUnitDocs / 3;

/* Below this number of matches for each unit of a chunk, a lane visits those of its own words. Above, lanes would read
 * the lines of a unit too often. */
constexpr uint32_t kFewMatches = 32;

/* Whether a unit of 32 words, one a lane, is sparse. By a warp. */
__device__ __forceinline__ bool tally_sparse(uint32_t word) {
    return __reduce_add_sync(kAll, static_cast<uint32_t>(__popc(word))) < kSparseUnit;
}

/* Calls visit(i, value) for the documents of the lane's word: bit i. values are of bit 0. */
template <class T, class Visit>
__device__ __forceinline__ void tally_few(const T* values, uint32_t word, Visit visit) {
    while (word != 0) {
        uint32_t at[kInFlight];
        T loaded[kInFlight];
#pragma unroll
        for (uint32_t j = 0; j < kInFlight; j++) {
            at[j] = kRangeDocs;
            loaded[j] = 0;
            if (word != 0) {
                at[j] = static_cast<uint32_t>(__ffs(static_cast<int>(word))) - 1;
                loaded[j] = values[at[j]];
            }
            word &= word - 1;
        }
#pragma unroll
        for (uint32_t j = 0; j < kInFlight; j++) {
            if (at[j] < kRangeDocs) {
                visit(at[j], loaded[j]);
            }
        }
    }
}

/* Counts the values of the matching documents of a chunk, of which few match. By a warp. */
template <class T>
__device__ __forceinline__ void tally_flat_few(const TallyParams& p, const TallyCounts& counts, TallyRun& run,
                                               const TallyChunk& c) {
    const auto* values =
        static_cast<const T*>(p.values) + (static_cast<uint64_t>(c.first) + threadIdx.x % 32) * kRangeDocs;
    uint32_t words[kTallyUnits];
#pragma unroll
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        words[u] = c.words[u];
    }
    for (uint32_t left = 1; left != 0;) {
        uint32_t loaded[kTallyUnits];
#pragma unroll
        for (uint32_t u = 0; u < kTallyUnits; u++) {
            loaded[u] = 0;
            if (words[u] != 0) {
                loaded[u] = values[u * kUnitDocs + static_cast<uint32_t>(__ffs(static_cast<int>(words[u]))) - 1];
            }
        }
        left = 0;
#pragma unroll
        for (uint32_t u = 0; u < kTallyUnits; u++) {
            if (words[u] != 0) {
                run.add(counts, loaded[u]);
                words[u] &= words[u] - 1;
                left |= words[u];
            }
        }
    }
}

/* a, or b if mask is all ones. */
__device__ __forceinline__ uint32_t tally_choose(uint32_t a, uint32_t b, uint32_t mask) {
    return a ^ ((a ^ b) & mask);
}

/* Word i of eight, without local memory. */
__device__ __forceinline__ uint32_t tally_pick(const uint32_t (&from)[8], uint32_t i) {
    const uint32_t one = 0U - (i & 1), two = 0U - (i >> 1 & 1), four = 0U - (i >> 2 & 1);
    const uint32_t low = tally_choose(tally_choose(from[0], from[1], one), tally_choose(from[2], from[3], one), two);
    const uint32_t high = tally_choose(tally_choose(from[4], from[5], one), tally_choose(from[6], from[7], one), two);
    return tally_choose(low, high, four);
}

/* Counts the values of the matching documents of a unit, 32 words, one a lane. A lane has eight consecutive documents
 * of each group of 256. By a warp. */
template <class T>
__device__ __forceinline__ void tally_flat(const TallyParams& p, const TallyCounts& counts, TallyRun& run,
                                           uint32_t first, uint32_t word) {
    constexpr uint32_t numLoads = sizeof(T) * kLaneDocs / 16, perWord = 4 / sizeof(T);
    constexpr uint32_t together = 8 * perWord / kLaneDocs; /* groups, of which a lane has eight words of values */
    constexpr uint32_t numDocs = together * kLaneDocs;
    const uint32_t lane = threadIdx.x % 32;
    const auto* values = static_cast<const T*>(p.values) + static_cast<uint64_t>(first) * kRangeDocs;
    uint32_t in[kUnitGroups / together];
    uint32_t words[kUnitGroups / together][8];
#pragma unroll
    for (uint32_t g = 0; g < kUnitGroups; g++) {
        const uint32_t set = __shfl_sync(kAll, word, static_cast<int>(g * kLaneDocs + lane / 4)) >> lane % 4 * 8 & 255;
        in[g / together] = (g % together == 0 ? 0 : in[g / together]) | set << g % together * kLaneDocs;
#pragma unroll
        for (uint32_t j = 0; j < numLoads; j++) {
            uint4 quad = make_uint4(0, 0, 0, 0);
            if (set != 0) {
                quad = __ldcs(reinterpret_cast<const uint4*>(values + (g * 32 + lane) * kLaneDocs) + j);
            }
            uint32_t* to = words[g / together] + (g % together * numLoads + j) * 4;
            to[0] = quad.x, to[1] = quad.y, to[2] = quad.z, to[3] = quad.w;
        }
    }
#pragma unroll
    for (uint32_t n = 0; counts.shared == nullptr && n < kUnitGroups / together; n++) {
        for (; in[n] != 0; in[n] &= in[n] - 1) {
            const uint32_t i = static_cast<uint32_t>(__ffs(static_cast<int>(in[n]))) - 1;
            const uint32_t both = tally_pick(words[n], i / perWord);
            run.add(counts, sizeof(T) == 4 ? both : both >> i % 2 * 16 & 0xffff);
        }
    }
    if (counts.shared == nullptr) {
        return;
    }
    /* A constant of 1 lets the hardware add for all lanes with the same count at once. */
    auto* const to = reinterpret_cast<char*>(counts.shared + counts.copy);
    const uint32_t stride = counts.copies * 4;
#pragma unroll
    for (uint32_t n = 0; n < kUnitGroups / together; n++) {
#pragma unroll
        for (uint32_t i = 0; i < numDocs; i++) {
            const uint32_t both = words[n][i / perWord];
            const uint32_t value = sizeof(T) == 4 ? both : both >> i % 2 * 16 & 0xffff;
            if ((in[n] & 1U << i) != 0) {
                atomicAdd(reinterpret_cast<uint32_t*>(to + value * stride), 1U);
            }
        }
    }
}

/* The same of documents with any number of values. By a warp. */
template <class T>
__device__ __forceinline__ void tally_lists(const TallyParams& p, const TallyCounts& counts, uint32_t first,
                                            uint32_t word) {
    const uint32_t lane = threadIdx.x % 32;
    const auto* values = static_cast<const T*>(p.values);
    for (uint32_t i = 0; i < kUnitWords; i++) {
        const uint32_t set = __shfl_sync(kAll, word, static_cast<int>(i));
        if ((set >> lane & 1) == 0) {
            continue;
        }
        const uint32_t doc = (first + i) * kRangeDocs + lane;
        const uint32_t from = p.starts[doc], to = p.starts[doc + 1];
        if (from == to) {
            counts.add(0, 1);
        }
        for (uint32_t j = from; j < to; j++) {
            counts.add(values[j], 1);
        }
    }
}

/* By the last block. */
__device__ __forceinline__ void tally_answer(const TallyParams& p, uint64_t matches) {
    for (uint32_t i = threadIdx.x; p.out != nullptr && i < p.numSlots; i += blockDim.x) {
        p.out[i] = __ldcg(p.counts + i);
        p.counts[i] = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (p.launch != 0) {
            p.result[0] = matches;
            p.result[2] = ld_relaxed(p.state + 1);
            __threadfence_system(); /* also of what the other threads have written before the barrier */
            st_relaxed_system(p.result + 1, p.launch);
        }
        p.state[0] = 0;
        p.state[1] = 0;
    }
}

/* The blocks of a launch in TallyParams.state. */
constexpr uint32_t kBlockBits = 16;

/* Calls visit with the matches of a chunk at a time and the warp's marks, all 0 before and after, and answers. By all
 * threads. */
template <class Visit>
__device__ __forceinline__ void tally(const TallyParams& p, Visit& visit) {
    __shared__ __align__(16) TallyTerm terms[kMaxTallyTerms];
    __shared__ uint32_t marks[kTallyThreads / 32][kTallyUnits * kUnitWords];
    __shared__ uint64_t last; /* the matches, if this is the last block */
    __shared__ uint32_t ended;
    __shared__ uint32_t matches;
    auto* memory = griffin_dynamic_shared<uint32_t>();
    const auto* from = reinterpret_cast<const uint4*>(p.terms);
    auto* to = reinterpret_cast<uint4*>(terms);
    for (uint32_t i = threadIdx.x; i < p.numTerms * (sizeof(TallyTerm) / 16); i += blockDim.x) {
        to[i] = from[i];
    }
    for (uint32_t i = threadIdx.x; i < p.numSlots * p.copies; i += blockDim.x) {
        memory[i] = 0;
    }
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        marks[warp][u * kUnitWords + lane] = 0;
    }
    if (threadIdx.x == 0) {
        matches = 0;
    }
    __syncthreads();
    const TallyCounts counts = {p.copies != 0 ? memory : nullptr, p.counts, p.copies, lane & (p.copies - 1)};
    const uint32_t numWords = (p.numDocs + kRangeDocs - 1) / kRangeDocs, chunkWords = p.units * kUnitWords;
    const uint32_t stride = gridDim.x * (blockDim.x / 32) * chunkWords;
    uint32_t numMatches = 0;
    TallyChunk c;
    for (c.first = (warp * gridDim.x + blockIdx.x) * chunkWords; c.first < numWords; c.first += stride) {
        c.numWords = min(chunkWords, numWords - c.first);
        tally_find(p, terms, c, marks[warp]);
        uint32_t found = 0;
#pragma unroll
        for (uint32_t u = 0; u < kTallyUnits; u++) {
            found += static_cast<uint32_t>(__popc(c.words[u]));
        }
        numMatches += found;
        found = __reduce_add_sync(kAll, found);
        if (p.values != nullptr && found > 0) {
            visit(p, counts, c, found, marks[warp]);
        }
    }
    visit.end(counts);
    numMatches = __reduce_add_sync(kAll, numMatches);
    if (lane == 0) {
        atomicAdd(&matches, numMatches);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; p.copies != 0 && i < p.numSlots; i += blockDim.x) {
        uint32_t sum = 0;
        for (uint32_t j = 0; j < p.copies; j++) {
            sum += memory[i * p.copies + (i + j & (p.copies - 1))];
        }
        if (sum > 0) {
            atomicAdd(p.counts + i, sum);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence(); /* also of the counts that the other threads have added before the barrier */
        const uint64_t mine = static_cast<uint64_t>(ld_relaxed(&matches)) << kBlockBits | 1;
        const uint64_t all = atomicAdd(p.state, mine) + mine;
        last = all >> kBlockBits;
        ended = (all & ((1U << kBlockBits) - 1)) == gridDim.x ? 1 : 0;
        __threadfence();
    }
    __syncthreads();
    if (ended != 0) {
        tally_answer(p, last);
    }
}

/* Saves the matches of a chunk: its units are visited in a loop. A lane reads its own words only. */
__device__ __forceinline__ void tally_save(const TallyChunk& c, uint32_t* marks) {
#pragma unroll
    for (uint32_t u = 0; u < kTallyUnits; u++) {
        marks[u * kUnitWords + threadIdx.x % 32] = c.words[u];
    }
}

/* The lane's word of a unit, which is then 0. */
__device__ __forceinline__ uint32_t tally_saved(uint32_t* marks, uint32_t unit) {
    const uint32_t at = unit * kUnitWords + threadIdx.x % 32, word = marks[at];
    marks[at] = 0;
    return word;
}

/* For tally. */
template <class T>
struct TallyVisit {
    TallyRun run;

    __device__ __forceinline__ void operator()(const TallyParams& p, const TallyCounts& counts, const TallyChunk& c,
                                               uint32_t matches, uint32_t* marks) {
        if (p.starts == nullptr && matches < c.numWords / kUnitWords * kFewMatches) {
            tally_flat_few<T>(p, counts, run, c);
            return;
        }
        tally_save(c, marks);
        for (uint32_t u = 0; u * kUnitWords < c.numWords; u++) {
            const uint32_t word = tally_saved(marks, u), first = c.first + u * kUnitWords;
            if (p.starts != nullptr) {
                tally_lists<T>(p, counts, first, word);
            } else if (__ballot_sync(kAll, word != 0) != 0) {
                tally_flat<T>(p, counts, run, first, word);
            }
        }
    }

    __device__ __forceinline__ void end(const TallyCounts& counts) { run.end(counts); }
};

/* Counts the values of a column over all matches: slot v + 1 of counts for value v, slot 0 for documents without a
 * value. Documents have 16-bit values, which include the 1.
 *
 * Grid: any number of blocks. Block: kTallyThreads threads. Shared memory: numSlots * copies words. Out: counts or out,
 * and result, by the last block. Reference: column.Column.CountOrdinals. */
GRIFFIN_KERNEL(imagesearch_tally16, TallyParams, kTallyThreads) {
    TallyVisit<uint16_t> visit{{0, 0}};
    tally(p, visit);
}

/* The same with 32-bit values. */
GRIFFIN_KERNEL(imagesearch_tally32, TallyParams, kTallyThreads) {
    TallyVisit<uint32_t> visit{{0, 0}};
    tally(p, visit);
}

/* selectStep in select.go. */
struct SelectStep {
    uint64_t most;   /* greatest value */
    uint64_t prefix; /* of keys, or, of documents with the key equal, of their places */
    uint64_t equal;  /* a key */
    uint64_t end;    /* if bounded is 1, documents with this key or a greater one are left out */
    uint32_t* docs;  /* [room] in page-locked host memory: documents are written; null: digits are counted */
    uint64_t* keys;  /* [room] there: their keys */
    uint32_t room;
    uint32_t shift;     /* of the digit */
    uint32_t rising;    /* 1: the least value is best */
    uint32_t noneFirst; /* 1: documents without a value are best, 0: worst */
    uint32_t byPlace;   /* 1: documents with a greater key are before those with the key equal, which are by place */
    uint32_t bits;      /* of the digit, at most kDigitBits */
    uint32_t bounded, padding;
};

/* selectParams in select.go. */
struct SelectParams {
    TallyParams tally; /* counts of digits */
    SelectStep step;
};

/* What the threads of a step read. */
struct SelectBlock {
    SelectStep step;
    const void* values;
    uint64_t* written;
    uint32_t numDocs;
};

/* Counts the digits of the documents that have the prefix before them, or writes the documents whose prefix, with the
 * digit, is not less. A greater key is better, and of equal keys a greater place: an earlier document. */
__device__ __forceinline__ void select_one(const SelectBlock& b, const TallyCounts& counts, uint32_t doc,
                                           uint64_t value) {
    uint64_t key = b.step.rising != 0 ? b.step.most + 1 - value : value;
    if (value == 0) {
        key = b.step.noneFirst != 0 ? b.step.most + 1 : 0;
    }
    if (b.step.bounded != 0 && key >= b.step.end) {
        return;
    }
    const uint32_t place = b.numDocs - 1 - doc;
    const bool equal = key == b.step.equal;
    const uint64_t of = b.step.byPlace != 0 ? place : key;
    if (b.step.docs == nullptr) {
        if ((b.step.byPlace == 0 || equal) && shift_by(of, b.step.shift + b.step.bits) == b.step.prefix) {
            counts.add(static_cast<uint32_t>(of >> b.step.shift) & ((1U << b.step.bits) - 1), 1);
        }
        return;
    }
    if (b.step.byPlace != 0 && !equal ? key > b.step.equal : of >> b.step.shift >= b.step.prefix) {
        const uint64_t at = atomicAdd(b.written, 1U);
        if (at < b.step.room) {
            b.step.docs[at] = doc;
            b.step.keys[at] = key;
        }
    }
}

template <class T>
__device__ __forceinline__ void select_unit(const SelectBlock& b, const TallyCounts& counts, uint32_t first,
                                            uint32_t word) {
    constexpr uint32_t numLoads = sizeof(T) * kLaneDocs / 16, perLoad = 16 / sizeof(T);
    constexpr uint32_t together = sizeof(T) == 8 ? 1 : kUnitGroups;
    const uint32_t lane = threadIdx.x % 32;
    const auto* values = static_cast<const T*>(b.values);
    if (tally_sparse(word)) {
        const uint32_t own = (first + lane) * kRangeDocs;
        tally_few(values + own, word, [&](uint32_t i, T value) { select_one(b, counts, own + i, value); });
        return;
    }
    for (uint32_t from = 0; from < kUnitGroups; from += together) {
        uint32_t set[together];
        uint4 loaded[together][numLoads];
#pragma unroll
        for (uint32_t g = 0; g < together; g++) {
            set[g] = __shfl_sync(kAll, word, static_cast<int>((from + g) * kLaneDocs + lane / 4)) >> lane % 4 * 8 & 255;
#pragma unroll
            for (uint32_t j = 0; j < numLoads; j++) {
                loaded[g][j] = make_uint4(0, 0, 0, 0);
                if (set[g] != 0) {
                    const uint64_t doc =
                        static_cast<uint64_t>(first) * kRangeDocs + ((from + g) * 32 + lane) * kLaneDocs;
                    loaded[g][j] = __ldcs(reinterpret_cast<const uint4*>(values + doc) + j);
                }
            }
        }
#pragma unroll
        for (uint32_t g = 0; g < together; g++) {
            const uint32_t doc = first * kRangeDocs + ((from + g) * 32 + lane) * kLaneDocs;
#pragma unroll
            for (uint32_t i = 0; i < kLaneDocs; i++) {
                if ((set[g] >> i & 1) == 0) {
                    continue;
                }
                const uint4 quad = loaded[g][i / perLoad];
                const uint32_t at = i % perLoad * sizeof(T) / 4;
                uint64_t value = at == 0 ? quad.x : at == 1 ? quad.y : at == 2 ? quad.z : quad.w;
                if constexpr (sizeof(T) == 8) {
                    value |= static_cast<uint64_t>(at == 0 ? quad.y : quad.w) << 32;
                } else if constexpr (sizeof(T) == 2) {
                    value = value >> i % 2 * 16 & 0xffff;
                }
                select_one(b, counts, doc + i, value);
            }
        }
    }
}

/* For tally. */
template <class T>
struct SelectVisit {
    SelectBlock b;

    __device__ __forceinline__ void operator()(const TallyParams&, const TallyCounts& counts, const TallyChunk& c,
                                               uint32_t, uint32_t* marks) const {
        tally_save(c, marks);
        for (uint32_t u = 0; u * kUnitWords < c.numWords; u++) {
            const uint32_t word = tally_saved(marks, u);
            if (__ballot_sync(kAll, word != 0) != 0) {
                select_unit<T>(b, counts, c.first + u * kUnitWords, word);
            }
        }
    }

    __device__ __forceinline__ void end(const TallyCounts&) const {}
};

template <class T>
__device__ __forceinline__ void select_values(const SelectParams& p) {
    const SelectStep& step = p.step;
    /* Field by field: a copy of a part of the parameters needs all of them in local memory. */
    SelectVisit<T> visit{{
        {step.most, step.prefix, step.equal, step.end, step.docs, step.keys, step.room, step.shift, step.rising,
         step.noneFirst, step.byPlace, step.bits, step.bounded, 0},
        p.tally.values,
        p.tally.state + 1,
        p.tally.numDocs,
    }};
    tally(p.tally, visit);
}

/* A step of the selection of the best matches by a column: counts digits of keys or places, or writes documents. See
 * Tally.Select.
 *
 * Grid, block and shared memory: as imagesearch_tally16. Out: counts, or docs, and result. Reference: package
 * collect. */
GRIFFIN_KERNEL(imagesearch_select16, SelectParams, kTallyThreads) {
    select_values<uint16_t>(p);
}

GRIFFIN_KERNEL(imagesearch_select32, SelectParams, kTallyThreads) {
    select_values<uint32_t>(p);
}

GRIFFIN_KERNEL(imagesearch_select64, SelectParams, kTallyThreads) {
    select_values<uint64_t>(p);
}
