#include "../../gpu/device/bm25.cuh"
#include "../../gpu/device/cuda.cuh"
#include "../../gpu/device/packed_freqs.cuh"

// A sum is the score of a document: 32 bits if the host has proved that no sum
// overflows and no contribution is 0, so that 0 means "no posting"; otherwise
// 64 bits, with the score in the low 48 and the number of postings in the high
// 16. See the package comment, Sums.
constexpr uint64_t kOnePosting = static_cast<uint64_t>(1) << 48;

template <typename Sum>
__device__ __forceinline__ Sum to_sum(uint32_t contribution) {
    return contribution;
}

template <>
__device__ __forceinline__ uint64_t to_sum<uint64_t>(uint32_t contribution) {
    return kOnePosting | contribution;
}

// Go type scoring.List.
struct ScoredList {
    PackedFreqs freqs;
    const uint32_t* docIDs;    // [numPostings]; not read for candidates
    const uint32_t* postings;  // [numCandidates] the candidates' postings; null: candidate i is posting i
    const uint32_t* lengths;   // by DocID; not read if term.linear
    Bm25Term term;
};

// Elements of a thread with all loads in flight together: element j is i + j * threads. Beyond the end it loads the
// last element again, which avoids a branch.
constexpr uint32_t kAtOnce = 4;

GRIFFIN_DEVICE uint32_t num_threads() {
    return gridDim.x * blockDim.x;
}

GRIFFIN_DEVICE uint32_t element_at(uint64_t i, uint32_t j, uint32_t n) {
    return min(i + static_cast<uint64_t>(j) * num_threads(), static_cast<uint64_t>(n - 1));
}

GRIFFIN_DEVICE bool has_element(uint64_t i, uint32_t j, uint32_t n) {
    return i + static_cast<uint64_t>(j) * num_threads() < n;
}

GRIFFIN_DEVICE uint64_t first_element() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

GRIFFIN_DEVICE uint64_t next_elements(uint64_t i) {
    return i + static_cast<uint64_t>(kAtOnce) * num_threads();
}

// Of the given postings, whose documents are docIDs.
GRIFFIN_DEVICE void contributions_of(const ScoredList& list, const uint32_t (&postings)[kAtOnce],
                                     const uint32_t (&docIDs)[kAtOnce], uint32_t (&contributions)[kAtOnce]) {
    uint32_t freqs[kAtOnce], lengths[kAtOnce];
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; j++) lengths[j] = list.term.linear ? 0 : __ldg(list.lengths + docIDs[j]);
    packed_freqs(list.freqs, postings, freqs);
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; j++) contributions[j] = bm25_contribution(list.term, freqs[j], lengths[j]);
}

// The candidates' postings in the list.
GRIFFIN_DEVICE void postings_of(const ScoredList& list, const uint32_t (&candidates)[kAtOnce],
                                uint32_t (&postings)[kAtOnce]) {
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; j++) {
        postings[j] = list.postings ? __ldg(list.postings + candidates[j]) : candidates[j];
    }
}

// Does nothing if *matches >= enough; matches may be null.
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

// contributions[i] = contribution of posting i. Grid: any; block: 256; thread i of the grid processes postings i, i +
// threads, ... CPU reference: score.Term.Score.
GRIFFIN_KERNEL(scoring_contributions, ScoringContributionsParams, 256) {
    uint32_t n = p.list.freqs.numPostings;
    for (uint64_t i = first_element(); i < n; i = next_elements(i)) {
        uint32_t postings[kAtOnce], docIDs[kAtOnce], contributions[kAtOnce];
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            postings[j] = element_at(i, j, n);
            docIDs[j] = p.list.term.linear ? 0 : __ldg(p.list.docIDs + postings[j]);
        }
        contributions_of(p.list, postings, docIDs, contributions);
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            if (has_element(i, j, n)) p.contributions[postings[j]] = contributions[j];
        }
    }
}

struct ScoringCandidatesParams {
    ScoredList list;
    const uint32_t* docIDs;         // [numCandidates]
    const uint32_t* from;           // [numCandidates] indexes in before; null: candidate i is at i
    const void* before;             // previous sums; null: none
    void* sums;                     // [numCandidates]; may be before if from is null
    const uint32_t* numCandidates;  // null: maxCandidates
    uint32_t maxCandidates;
    uint32_t reserved;
};

template <typename Sum>
GRIFFIN_DEVICE void score_candidates(const ScoringCandidatesParams& p) {
    const Sum* before = static_cast<const Sum*>(p.before);
    Sum* sums = static_cast<Sum*>(p.sums);
    uint32_t n = p.numCandidates ? min(*p.numCandidates, p.maxCandidates) : p.maxCandidates;
    for (uint64_t i = first_element(); i < n; i = next_elements(i)) {
        uint32_t candidates[kAtOnce], postings[kAtOnce], docIDs[kAtOnce], contributions[kAtOnce];
        Sum sum[kAtOnce];
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            candidates[j] = element_at(i, j, n);
            docIDs[j] = __ldg(p.docIDs + candidates[j]);
            sum[j] = before ? before[p.from ? __ldg(p.from + candidates[j]) : candidates[j]] : 0;
        }
        postings_of(p.list, candidates, postings);
        contributions_of(p.list, postings, docIDs, contributions);
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            if (has_element(i, j, n)) sums[candidates[j]] = sum[j] + to_sum<Sum>(contributions[j]);
        }
    }
}

// sums[i] = before[from[i]] + contribution of candidate i for one term, with sums of 32 or 64 bits (Ding et al. 2009,
// §8.2: after each intersection, for its term, with individually read frequencies). Grid: any; block: 256; thread i of
// the grid processes candidates i, i + threads, ... CPU reference: codec.SIMDBP.FreqAt and score.Term.Score.
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
GRIFFIN_DEVICE void score_query(const ScoringQueryParams& p) {
    Sum* sums = static_cast<Sum*>(p.sums);
    uint32_t n = p.numCandidates ? min(*p.numCandidates, p.maxCandidates) : p.maxCandidates;
    for (uint64_t i = first_element(); i < n; i = next_elements(i)) {
        uint32_t candidates[kAtOnce], postings[kAtOnce], docIDs[kAtOnce], contributions[kAtOnce];
        Sum sum[kAtOnce] = {};
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            candidates[j] = element_at(i, j, n);
            docIDs[j] = __ldg(p.docIDs + candidates[j]);
        }
        for (uint32_t l = 0; l < p.numLists; l++) {
            postings_of(p.lists[l], candidates, postings);
            contributions_of(p.lists[l], postings, docIDs, contributions);
#pragma unroll
            for (uint32_t j = 0; j < kAtOnce; j++) sum[j] += to_sum<Sum>(contributions[j]);
        }
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            if (has_element(i, j, n)) sums[candidates[j]] = sum[j];
        }
    }
}

// sums[i] = the score of candidate i, all terms in one launch; the intersection has kept each candidate's posting in
// each list. Grid: any; block: 256; thread i of the grid processes candidates i, i + threads, ...
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

// Sets accumulators to 0, unless there are enough matches. Grid: any; block: 256; thread i of the grid writes 16 bytes
// at i, i + threads, ...
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

// kAtomic: other threads may add to the same sums.
template <bool kAtomic, typename Sum>
GRIFFIN_DEVICE void accumulate(const ScoredList& list, Sum* sums) {
    uint32_t n = list.freqs.numPostings;
    for (uint64_t i = first_element(); i < n; i = next_elements(i)) {
        uint32_t postings[kAtOnce], docIDs[kAtOnce], contributions[kAtOnce];
        Sum before[kAtOnce];
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            postings[j] = element_at(i, j, n);
            docIDs[j] = __ldg(list.docIDs + postings[j]);
        }
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            if constexpr (!kAtomic) before[j] = has_element(i, j, n) ? sums[docIDs[j]] : 0;
        }
        contributions_of(list, postings, docIDs, contributions);
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            if (!has_element(i, j, n)) continue;
            if constexpr (kAtomic) {
                atomicAdd(&sums[docIDs[j]], to_sum<Sum>(contributions[j]));
            } else {
                sums[docIDs[j]] = before[j] + to_sum<Sum>(contributions[j]);
            }
        }
    }
}

// sums[d] += contribution of the posting of document d, for one list (Ding et al. 2009, §8.3: exhaustive, term at a
// time, an accumulator per document). A list contains a document at most once, and launches on a stream are sequential,
// so nothing is atomic. Grid: any; block: 256; thread i of the grid processes postings i, i + threads, ... CPU
// reference: traverse's exhaustive-taat.
GRIFFIN_KERNEL(scoring_accumulate_narrow, ScoringAccumulateParams, 256) {
    if (!is_done(p.unless)) accumulate<false>(p.list, static_cast<uint32_t*>(p.sums));
}

GRIFFIN_KERNEL(scoring_accumulate_wide, ScoringAccumulateParams, 256) {
    if (!is_done(p.unless)) accumulate<false>(p.list, static_cast<uint64_t*>(p.sums));
}

struct ScoringAccumulateAllParams {
    ScoringUnless unless;
    const ScoredList* lists;  // [gridDim.y]
    void* sums;               // [numDocs], by DocID
};

// The same for all lists of a query, with atomic additions; integer sums do not depend on their order. Grid: x any, y
// the lists; block: 256; thread i of a row processes postings i, i + threads, ...
GRIFFIN_KERNEL(scoring_accumulate_all_narrow, ScoringAccumulateAllParams, 256) {
    if (!is_done(p.unless)) accumulate<true>(p.lists[blockIdx.y], static_cast<uint32_t*>(p.sums));
}

GRIFFIN_KERNEL(scoring_accumulate_all_wide, ScoringAccumulateAllParams, 256) {
    if (!is_done(p.unless)) accumulate<true>(p.lists[blockIdx.y], static_cast<uint64_t*>(p.sums));
}
