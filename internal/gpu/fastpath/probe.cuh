/* The best hits, the number and the DocIDs of And queries whose shortest list is sparse: each of its postings is
 * looked up in the other lists. */
#pragma once

#include "block.cuh"

/* Whether a document is in all dense lists: terms [first, numTerms). One load a list, some in flight at a time. */
__device__ __forceinline__ bool fastpath_in_dense(const FastpathBlock& b, uint32_t first, uint32_t docID, bool alive) {
    for (; first < b.numTerms; first += kInFlight) {
        if (__ballot_sync(kAll, alive) == 0) {
            return false;
        }
        uint32_t words[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            words[i] = kAll;
            if (first + i < b.numTerms && alive) {
                const FastpathTerm& t = b.terms[first + i];
                words[i] = fastpath_part<uint32_t>(t, t.bitmap)[docID / kRangeDocs];
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            alive = alive && (words[i] >> docID % kRangeDocs & 1) != 0;
        }
    }
    return alive;
}

/* The sum of the bounds of a document's postings in the dense lists, which all have it. */
__device__ __forceinline__ uint32_t fastpath_dense_bounds(const FastpathBlock& b, uint32_t first, uint32_t docID,
                                                          bool alive) {
    uint32_t bound = 0;
    for (; first < b.numTerms; first += kInFlight) {
        uint32_t postings[kInFlight], steps[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            postings[i] = kNoPosting;
            if (first + i < b.numTerms && alive) {
                postings[i] = fastpath_find(b.terms[first + i], docID);
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            steps[i] = 0;
            if (postings[i] != kNoPosting) {
                const FastpathTerm& t = b.terms[first + i];
                steps[i] = fastpath_part<uint8_t>(t, t.sat)[postings[i]] * t.step;
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            bound += steps[i];
        }
    }
    return bound;
}

/* Looks a document up in the lists but the first: in the dense ones, for that is one load each, and then in the
 * others, from the shortest up, as long as its bound can reach theta. Returns whether it is in all, and can. Only
 * bounds the document if score says so; bound is that of its first posting, most that of any document. By a warp. */
__device__ __forceinline__ bool fastpath_lookup(const FastpathBlock& b, uint32_t docID, bool alive, bool score,
                                                uint32_t bound, uint32_t most) {
    const uint32_t firstDense = b.numTerms - b.numDense;
    alive = fastpath_in_dense(b, firstDense, docID, alive);
    uint32_t rest = most - 255 * b.terms[0].step;
    for (uint32_t i = 1; i < firstDense; i++) {
        if (__ballot_sync(kAll, alive) == 0) {
            return false;
        }
        const FastpathTerm& t = b.terms[i];
        rest -= 255 * t.step;
        if (alive) {
            const uint32_t posting = fastpath_find(t, docID);
            alive = posting != kNoPosting;
            if (alive && score) {
                bound += fastpath_part<uint8_t>(t, t.sat)[posting] * t.step;
                alive = bound + rest >= fastpath_theta(b);
            }
        }
    }
    if (score && __ballot_sync(kAll, alive) != 0) {
        bound += fastpath_dense_bounds(b, firstDense, docID, alive);
        alive = alive && bound >= fastpath_theta(b);
    }
    return alive;
}

/* Scores 32 postings of the shortest list, one a lane. Returns the lane's key, or 0. By a warp. */
__device__ __forceinline__ uint64_t fastpath_probe_postings(const FastpathBlock& b, uint32_t posting, uint32_t most,
                                                            uint32_t& numCandidates) {
    const FastpathTerm& t = b.terms[0];
    const bool in = posting < t.docFreq;
    const uint32_t docID = in ? fastpath_part<uint32_t>(t, t.docIDs)[posting] : 0;
    const uint32_t bound = in ? fastpath_part<uint8_t>(t, t.sat)[posting] * t.step : 0;
    bool alive = in && bound + most - 255 * t.step >= fastpath_theta(b);
    if (alive && (b.search->live != nullptr || b.shared->query.filter != nullptr)) {
        alive = (fastpath_allowed(b, docID / kRangeDocs) >> docID % kRangeDocs & 1) != 0;
    }
    alive = fastpath_lookup(b, docID, alive, true, bound, most);
    if (__ballot_sync(kAll, alive) == 0) {
        return 0;
    }
    numCandidates += static_cast<uint32_t>(__popc(__ballot_sync(kAll, alive)));
    if (!alive) {
        return 0;
    }
    uint32_t score = fastpath_contribution(t, posting, fastpath_stored(t, posting, docID));
    for (uint32_t i = 1; i < b.numTerms; i++) {
        const uint32_t other = fastpath_find(b.terms[i], docID);
        score += fastpath_contribution(b.terms[i], other, fastpath_stored(b.terms[i], other, docID));
    }
    return hit_key(score, docID);
}

/* Answers a query by the postings of its shortest list. By all threads of a block. */
__device__ __forceinline__ void fastpath_by_probes(const FastpathSearch& search, const FastpathQuery* query,
                                                   const FastpathTerm* terms, uint32_t split) {
    __shared__ FastpathShared shared;
    FastpathBlock b;
    if (!fastpath_begin(b, shared, search, query, terms, split)) {
        fastpath_pass(b);
        return;
    }
    uint32_t most = 0;
    for (uint32_t i = 0; i < b.numTerms; i++) {
        most += 255 * b.terms[i].step;
    }
    const uint32_t numGroups = (b.terms[0].docFreq + 31) / 32;
    const uint32_t stride = b.splits * b.numWarps;
    uint32_t group = b.split * b.numWarps + b.warp, numLooked = 0, numCandidates = 0;
    uint64_t key = 0;
    do {
        for (;;) {
            key = fastpath_offer(b, key);
            if (__ballot_sync(kAll, key != 0) != 0 || group >= numGroups) {
                break;
            }
            fastpath_hear(b);
            key = fastpath_probe_postings(b, group * 32 + b.lane, most, numCandidates);
            group += stride;
            numLooked++;
        }
    } while (fastpath_make_room(b, key));
    fastpath_worked(b, kSupers, numLooked);
    fastpath_worked(b, kCandidates, numCandidates);
    __syncthreads();
    fastpath_end(b);
}
