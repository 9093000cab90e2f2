#include "../device/bm25.cuh"
#include "../device/cuda.cuh"
#include "../device/packed_freqs.cuh"

// A sum is the score of a document: 32 bits where the host has proved that it fits and
// that no contribution is 0, so that 0 means "no posting"; otherwise 64, with the score
// in the low 48 bits and the number of postings in the high 16. Package comment, Sums.
constexpr uint64_t kOnePosting = static_cast<uint64_t>(1) << 48;

template <typename Sum>
__device__ __forceinline__ Sum to_sum(uint32_t contribution) {
    return contribution;
}

template <>
__device__ __forceinline__ uint64_t to_sum<uint64_t>(uint32_t contribution) {
    return kOnePosting | contribution;
}

// scored_list is one term of a query: Go type scoring.List.
struct ScoredList {
    PackedFreqs freqs;
    const uint32_t* docIDs;    // [numPostings]; not read for candidates
    const uint32_t* postings;  // [numCandidates] the candidates' postings; null: candidate i is posting i
    const uint32_t* lengths;   // by DocID; not read if term.linear
    Bm25Term term;
};

__device__ __forceinline__ uint32_t contribution_of(const ScoredList& list, uint32_t posting, uint32_t docID) {
    uint32_t length = list.term.linear ? 0 : __ldg(list.lengths + docID);
    return bm25_contribution(list.term, packed_freq(list.freqs, posting), length);
}

// Condition: a kernel does nothing if *matches >= enough. matches may be null.
struct ScoringUnless {
    const uint32_t* matches;
    uint32_t enough;
    uint32_t reserved;
};

__device__ __forceinline__ bool is_done(const ScoringUnless& unless) {
    return unless.matches && *unless.matches >= unless.enough;
}

struct ScoringContributionsParams {
    ScoredList list;
    uint32_t* contributions;  // [numPostings]
};

// scoring_contributions: contributions[i] = contribution of posting i.
// Grid: any; block: 256; thread i of the grid takes postings i, i + threads, ...
// CPU reference: score.Term.Score.
GRIFFIN_KERNEL(scoring_contributions, ScoringContributionsParams, 256) {
    uint32_t n = p.list.freqs.numPostings, threads = gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        p.contributions[i] = contribution_of(p.list, i, p.list.term.linear ? 0 : p.list.docIDs[i]);
    }
}

struct ScoringCandidatesParams {
    ScoredList list;
    const uint32_t* docIDs;         // [numCandidates]
    const uint32_t* from;           // [numCandidates] places in before; null: candidate i is at i
    const void* before;             // sums so far; null: none
    void* sums;                     // [numCandidates]; may be before if from is null
    const uint32_t* numCandidates;  // null: maxCandidates
    uint32_t maxCandidates;
    uint32_t reserved;
};

template <typename Sum>
__device__ __forceinline__ void score_candidates(const ScoringCandidatesParams& p) {
    const Sum* before = static_cast<const Sum*>(p.before);
    Sum* sums = static_cast<Sum*>(p.sums);
    uint32_t n = p.numCandidates ? min(*p.numCandidates, p.maxCandidates) : p.maxCandidates;
    uint32_t threads = gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        uint32_t posting = p.list.postings ? p.list.postings[i] : i;
        Sum sum = to_sum<Sum>(contribution_of(p.list, posting, p.docIDs[i]));
        if (before) sum += before[p.from ? p.from[i] : i];
        sums[i] = sum;
    }
}

// scoring_candidates_narrow, _wide: sums[i] = before[from[i]] + contribution of candidate i
// for one term, with sums of 32 or 64 bits (Ding et al. 2009, §8.2: after each intersection,
// for the term at hand, with the frequency fetched alone).
// Grid: any; block: 256; thread i of the grid takes candidates i, i + threads, ...
// CPU reference: codec.SIMDBP.FreqAt and score.Term.Score.
GRIFFIN_KERNEL(scoring_candidates_narrow, ScoringCandidatesParams, 256) {
    score_candidates<uint32_t>(p);
}

GRIFFIN_KERNEL(scoring_candidates_wide, ScoringCandidatesParams, 256) {
    score_candidates<uint64_t>(p);
}

struct ScoringQueryParams {
    const ScoredList* lists;        // [numLists]
    const uint32_t* docIDs;         // [numCandidates]
    void* sums;                     // [numCandidates]
    const uint32_t* numCandidates;  // null: maxCandidates
    uint32_t maxCandidates;
    uint32_t numLists;
};

template <typename Sum>
__device__ __forceinline__ void score_query(const ScoringQueryParams& p) {
    Sum* sums = static_cast<Sum*>(p.sums);
    uint32_t n = p.numCandidates ? min(*p.numCandidates, p.maxCandidates) : p.maxCandidates;
    uint32_t threads = gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        uint32_t docID = p.docIDs[i];
        Sum sum = 0;
        for (uint32_t l = 0; l < p.numLists; l++) {
            const ScoredList& list = p.lists[l];
            uint32_t posting = list.postings ? list.postings[i] : i;
            sum += to_sum<Sum>(contribution_of(list, posting, docID));
        }
        sums[i] = sum;
    }
}

// scoring_query_narrow, _wide: sums[i] = the score of candidate i, all terms in one launch,
// where the intersection has kept the posting of each candidate in each list.
// Grid: any; block: 256; thread i of the grid takes candidates i, i + threads, ...
GRIFFIN_KERNEL(scoring_query_narrow, ScoringQueryParams, 256) {
    score_query<uint32_t>(p);
}

GRIFFIN_KERNEL(scoring_query_wide, ScoringQueryParams, 256) {
    score_query<uint64_t>(p);
}

struct ScoringClearParams {
    ScoringUnless unless;
    uint4* sums;
    uint32_t numVectors;  // of 16 bytes
    uint32_t reserved;
};

// scoring_clear: sets accumulators to 0, unless there are matches enough.
// Grid: any; block: 256; thread i of the grid writes 16 bytes at i, i + threads, ...
GRIFFIN_KERNEL(scoring_clear, ScoringClearParams, 256) {
    if (is_done(p.unless)) return;
    uint32_t threads = gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < p.numVectors; i += threads) {
        p.sums[i] = make_uint4(0, 0, 0, 0);
    }
}

struct ScoringAccumulateParams {
    ScoringUnless unless;
    ScoredList list;
    void* sums;  // [numDocs], by DocID
};

template <typename Sum>
__device__ __forceinline__ void accumulate_list(const ScoringAccumulateParams& p) {
    if (is_done(p.unless)) return;
    Sum* sums = static_cast<Sum*>(p.sums);
    uint32_t n = p.list.freqs.numPostings, threads = gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        uint32_t docID = p.list.docIDs[i];
        sums[docID] += to_sum<Sum>(contribution_of(p.list, i, docID));
    }
}

// scoring_accumulate_narrow, _wide: sums[d] += contribution of the posting of document d,
// for one list (Ding et al. 2009, §8.3: exhaustive, term at a time, an accumulator a
// document). A list has a document once and launches of a stream follow one another, so
// that nothing is atomic.
// Grid: any; block: 256; thread i of the grid takes postings i, i + threads, ...
// CPU reference: traverse's exhaustive-taat.
GRIFFIN_KERNEL(scoring_accumulate_narrow, ScoringAccumulateParams, 256) {
    accumulate_list<uint32_t>(p);
}

GRIFFIN_KERNEL(scoring_accumulate_wide, ScoringAccumulateParams, 256) {
    accumulate_list<uint64_t>(p);
}

struct ScoringAccumulateAllParams {
    ScoringUnless unless;
    const ScoredList* lists;  // [gridDim.y]
    void* sums;               // [numDocs], by DocID
};

template <typename Sum>
__device__ __forceinline__ void accumulate_all(const ScoringAccumulateAllParams& p) {
    if (is_done(p.unless)) return;
    Sum* sums = static_cast<Sum*>(p.sums);
    const ScoredList list = p.lists[blockIdx.y];
    uint32_t n = list.freqs.numPostings, threads = gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        uint32_t docID = list.docIDs[i];
        atomicAdd(&sums[docID], to_sum<Sum>(contribution_of(list, i, docID)));
    }
}

// scoring_accumulate_all_narrow, _wide: the same for all lists of a query in one launch,
// with atomic additions, whose order does not matter to integers.
// Grid: x any, y the lists; block: 256; thread i of a row takes postings i, i + threads, ...
GRIFFIN_KERNEL(scoring_accumulate_all_narrow, ScoringAccumulateAllParams, 256) {
    accumulate_all<uint32_t>(p);
}

GRIFFIN_KERNEL(scoring_accumulate_all_wide, ScoringAccumulateAllParams, 256) {
    accumulate_all<uint64_t>(p);
}
