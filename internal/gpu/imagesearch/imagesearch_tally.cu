#include "../device/bits.cuh"
#include "../device/warp_reduce.cuh"
#include "constants.cuh"

constexpr uint32_t kAll = 0xffffffffU;

/* tallyTerm in tally.go. */
struct TallyTerm {
    const uint32_t* docIDs; /* or the bitmap */
    const uint32_t* starts; /* null: the list has a bitmap */
    uint32_t docFreq;
    uint32_t shift; /* log2 of the documents per bucket of starts */
    uint32_t padding[2];
};
static_assert(sizeof(TallyTerm) == 32, "mirrored by tallyTerm");

/* markParams in tally.go. */
struct __align__(16) TallyMark {
    uint32_t* bits;
    uint32_t numTerms;
    uint32_t all; /* 1: a document is in all lists, the first of which is the shortest and has no bitmap */
    TallyTerm terms[kMaxTallyTerms];
};

/* tallyParams in tally.go. */
struct TallyParams {
    uint32_t* bits;         /* [numWords]: matches of imagesearch_mark, or null */
    const uint32_t* live;   /* [numWords], or null */
    const uint32_t* filter; /* [numWords], or null */
    const void* values;     /* [numDocs], rounded up to eight, or of all documents; null: matches are counted only */
    const uint32_t* starts; /* [numDocs + 1] in values; null: one value for each document */
    uint32_t* counts;       /* [numSlots]: all 0 between launches */
    uint32_t* out;          /* [numSlots] in page-locked host memory, or null: counts are left */
    uint64_t* state;        /* {matches, blocks that have ended, documents}: all 0 between launches */
    uint64_t* result;       /* {matches, number of the launch, documents} in page-locked host memory */
    uint32_t numDocs, numSlots;
    uint32_t copies; /* of the counts in shared memory, a power of two; 0: there are none */
    uint32_t all;    /* 1: documents in all lists, 0: in any or in bits */
    uint32_t clear;  /* 1: bits are set to 0 */
    uint32_t launch; /* written to result; 0: result is not written */
    uint32_t numTerms;
    uint32_t padding;
    const uint32_t* bitmaps[kMaxTallyTerms];
};

/* A shift by 64 or more gives 0. */
__device__ __forceinline__ uint64_t shift_by(uint64_t x, uint32_t n) {
    return n < 64 ? x >> n : 0;
}

__device__ __forceinline__ bool tally_has(const TallyTerm& t, uint32_t docID) {
    if (t.starts == nullptr) {
        return (t.docIDs[docID / kRangeDocs] >> docID % kRangeDocs & 1) != 0;
    }
    uint32_t from = t.starts[docID >> t.shift];
    const uint32_t end = t.starts[(docID >> t.shift) + 1];
    uint32_t to = end;
    while (to > from) {
        const uint32_t middle = from + (to - from) / 2;
        if (t.docIDs[middle] < docID) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < end && t.docIDs[from] == docID;
}

/* Sets the bits of the documents of lists without bitmaps, or of those of the first list that are in all others.
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
    const uint32_t numLists = p.all != 0 ? 1 : p.numTerms, stride = gridDim.x * blockDim.x;
    for (uint32_t list = 0; list < numLists; list++) {
        const TallyTerm& t = terms[list];
        for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < t.docFreq; i += stride) {
            const uint32_t docID = t.docIDs[i];
            bool in = true;
            for (uint32_t j = 1; p.all != 0 && in && j < p.numTerms; j++) {
                in = tally_has(terms[j], docID);
            }
            if (in) {
                atomicOr(p.bits + docID / kRangeDocs, 1U << docID % kRangeDocs);
            }
        }
    }
}

/* The matching documents of a word of 32. */
__device__ __forceinline__ uint32_t tally_word(const TallyParams& p, const uint32_t* const* bitmaps, uint32_t i) {
    const uint32_t left = p.numDocs > i * kRangeDocs ? p.numDocs - i * kRangeDocs : 0;
    if (left == 0) {
        return 0;
    }
    uint32_t word = p.all != 0 ? kAll : 0;
    for (uint32_t first = 0; first < p.numTerms; first += kInFlight) {
        uint32_t words[kInFlight];
#pragma unroll
        for (uint32_t j = 0; j < kInFlight; j++) {
            words[j] = p.all != 0 ? kAll : 0;
            if (first + j < p.numTerms) {
                words[j] = bitmaps[first + j][i];
            }
        }
#pragma unroll
        for (uint32_t j = 0; j < kInFlight; j++) {
            word = p.all != 0 ? word & words[j] : word | words[j];
        }
    }
    if (p.bits != nullptr) {
        word |= p.bits[i];
        if (p.clear != 0) {
            p.bits[i] = 0;
        }
    }
    if (p.live != nullptr) {
        word &= p.live[i];
    }
    if (p.filter != nullptr) {
        word &= p.filter[i];
    }
    return word & low_bits(min(left, kRangeDocs));
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

/* The documents of a group for a lane. */
constexpr uint32_t kLaneDocs = 8, kUnitWords = 32, kUnitGroups = kUnitWords * kRangeDocs / (32 * kLaneDocs);

/* Below this number of matches in a unit, a lane visits the matches of its own word: its steps are the most of a word,
 * not all documents, of which an instruction for each eighth is most of the work. Above, lanes would read the lines of
 * a unit too often. */
constexpr uint32_t kSparseUnit = kUnitWords * kRangeDocs / 3;

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

/* Counts the values of the matching documents of 32 words, one a lane, of which few match. By a warp. */
template <class T>
__device__ __forceinline__ void tally_flat_few(const TallyParams& p, const TallyCounts& counts, uint32_t first,
                                               uint32_t word) {
    const uint64_t doc = (static_cast<uint64_t>(first) + threadIdx.x % 32) * kRangeDocs;
    uint32_t slot = 0, n = 0; /* equal values follow each other in sorted indexes */
    tally_few(static_cast<const T*>(p.values) + doc, word, [&](uint32_t, uint32_t value) {
        if (n > 0 && value != slot) {
            counts.add(slot, n);
            n = 0;
        }
        slot = value;
        n++;
    });
    if (n > 0) {
        counts.add(slot, n);
    }
}

/* The same of any number of documents. A lane has eight consecutive documents of each group of 256. By a warp. */
template <class T>
__device__ __forceinline__ void tally_flat(const TallyParams& p, const TallyCounts& counts, uint32_t first,
                                           uint32_t word) {
    constexpr uint32_t numLoads = sizeof(T) * kLaneDocs / 16, perLoad = 16 / sizeof(T);
    const uint32_t lane = threadIdx.x % 32;
    const auto* values = static_cast<const T*>(p.values);
    uint32_t set[kUnitGroups];
    uint4 loaded[kUnitGroups][numLoads];
#pragma unroll
    for (uint32_t g = 0; g < kUnitGroups; g++) {
        set[g] = __shfl_sync(kAll, word, static_cast<int>(g * kLaneDocs + lane / 4)) >> lane % 4 * 8 & 255;
#pragma unroll
        for (uint32_t j = 0; j < numLoads; j++) {
            loaded[g][j] = make_uint4(0, 0, 0, 0);
            if (set[g] != 0) {
                const uint64_t doc = static_cast<uint64_t>(first) * kRangeDocs + (g * 32 + lane) * kLaneDocs;
                loaded[g][j] = __ldcs(reinterpret_cast<const uint4*>(values + doc) + j);
            }
        }
    }
#pragma unroll
    for (uint32_t g = 0; g < kUnitGroups; g++) {
        uint32_t slot = 0, n = 0; /* equal values follow each other in sorted indexes */
#pragma unroll
        for (uint32_t i = 0; i < kLaneDocs; i++) {
            const uint4 quad = loaded[g][i / perLoad];
            const uint32_t at = i % perLoad * sizeof(T) / 4;
            const uint32_t both = at == 0 ? quad.x : at == 1 ? quad.y : at == 2 ? quad.z : quad.w;
            const uint32_t value = sizeof(T) == 4 ? both : both >> i % 2 * 16 & 0xffff;
            if ((set[g] >> i & 1) != 0) {
                if (n > 0 && value != slot) {
                    counts.add(slot, n);
                    n = 0;
                }
                slot = value;
                n++;
            }
        }
        if (n > 0) {
            counts.add(slot, n);
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
__device__ __forceinline__ void tally_answer(const TallyParams& p) {
    for (uint32_t i = threadIdx.x; p.out != nullptr && i < p.numSlots; i += blockDim.x) {
        p.out[i] = __ldcg(p.counts + i);
        p.counts[i] = 0;
    }
    if (p.launch != 0) {
        __threadfence_system();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (p.launch != 0) {
            p.result[0] = ld_relaxed(p.state);
            p.result[2] = ld_relaxed(p.state + 2);
            __threadfence_system();
            st_relaxed_system(p.result + 1, p.launch);
        }
        p.state[0] = 0;
        p.state[1] = 0;
        p.state[2] = 0;
    }
}

/* Calls unit with 32 words of matches at a time, one a lane, and answers. By all threads. */
template <class Unit>
__device__ __forceinline__ void tally(const TallyParams& p, Unit unit) {
    __shared__ const uint32_t* bitmaps[kMaxTallyTerms];
    __shared__ uint32_t last;
    __shared__ uint32_t matches;
    auto* memory = griffin_dynamic_shared<uint32_t>();
    for (uint32_t i = threadIdx.x; i < p.numTerms; i += blockDim.x) {
        bitmaps[i] = p.bitmaps[i];
    }
    for (uint32_t i = threadIdx.x; i < p.numSlots * p.copies; i += blockDim.x) {
        memory[i] = 0;
    }
    if (threadIdx.x == 0) {
        matches = 0;
    }
    __syncthreads();
    const uint32_t lane = threadIdx.x % 32;
    const TallyCounts counts = {p.copies != 0 ? memory : nullptr, p.counts, p.copies, lane & (p.copies - 1)};
    const uint32_t numWords = (p.numDocs + kRangeDocs - 1) / kRangeDocs;
    const uint32_t stride = gridDim.x * (blockDim.x / 32) * kUnitWords;
    uint32_t numMatches = 0;
    for (uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * kUnitWords; first < numWords;
         first += stride) {
        const uint32_t word = tally_word(p, bitmaps, first + lane);
        numMatches += static_cast<uint32_t>(__popc(word));
        if (p.values == nullptr || __ballot_sync(kAll, word != 0) == 0) {
            continue;
        }
        unit(counts, first, word);
    }
    numMatches = warp_sum(numMatches);
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
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(p.state, ld_relaxed(&matches));
        __threadfence();
        last = atomicAdd(p.state + 1, 1U) + 1 == gridDim.x ? 1 : 0;
        __threadfence();
    }
    __syncthreads();
    if (last != 0) {
        __threadfence();
        tally_answer(p);
    }
}

/* For tally. */
template <class T>
struct TallyUnit {
    const TallyParams& p;

    __device__ __forceinline__ void operator()(const TallyCounts& counts, uint32_t first, uint32_t word) const {
        if (p.starts != nullptr) {
            tally_lists<T>(p, counts, first, word);
        } else if (tally_sparse(word)) {
            tally_flat_few<T>(p, counts, first, word);
        } else {
            tally_flat<T>(p, counts, first, word);
        }
    }
};

/* Counts the values of a column over all matches: slot v + 1 of counts for value v, slot 0 for documents without a
 * value. Documents have 16-bit values, which include the 1.
 *
 * Grid: any number of blocks. Block: kTallyThreads threads. Shared memory: numSlots * copies words. Out: counts or out,
 * and result, by the last block. Reference: column.Column.CountOrdinals. */
GRIFFIN_KERNEL(imagesearch_tally16, TallyParams, kTallyThreads) {
    tally(p, TallyUnit<uint16_t>{p});
}

/* The same with 32-bit values. */
GRIFFIN_KERNEL(imagesearch_tally32, TallyParams, kTallyThreads) {
    tally(p, TallyUnit<uint32_t>{p});
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
struct SelectUnit {
    SelectBlock b;

    __device__ __forceinline__ void operator()(const TallyCounts& counts, uint32_t first, uint32_t word) const {
        select_unit<T>(b, counts, first, word);
    }
};

template <class T>
__device__ __forceinline__ void select_values(const SelectParams& p) {
    const SelectStep& step = p.step;
    /* Field by field: a copy of a part of the parameters needs all of them in local memory. */
    const SelectBlock b = {
        {step.most, step.prefix, step.equal, step.end, step.docs, step.keys, step.room, step.shift, step.rising,
         step.noneFirst, step.byPlace, step.bits, step.bounded, 0},
        p.tally.values,
        p.tally.state + 2,
        p.tally.numDocs,
    };
    tally(p.tally, SelectUnit<T>{b});
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
