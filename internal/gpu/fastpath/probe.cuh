/* The best hits, the number and the DocIDs of And queries whose shortest list is sparse: each of its postings is
 * looked up in the other lists. */
#pragma once

#include "block.cuh"

/* Looks a document up in the lists but the first, from the shortest up, as long as its bound can reach theta;
 * returns whether it is in all. Only bounds the document if score says so. */
__device__ __forceinline__ bool fastpath_lookup(const FastpathBlock& b, uint32_t docID, bool alive, bool score,
                                                uint32_t bound, uint32_t rest) {
    for (uint32_t i = 1; i < b.numTerms; i++) {
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
    return alive;
}

/* Scores 32 postings of the shortest list, one a lane. Returns the lane's key, or 0. By a warp. */
__device__ __forceinline__ uint64_t fastpath_probe_postings(const FastpathBlock& b, uint32_t posting, uint32_t most,
                                                            uint32_t& numCandidates) {
    const FastpathTerm& t = b.terms[0];
    const bool in = posting < t.docFreq;
    const uint32_t docID = in ? fastpath_part<uint32_t>(t, t.docIDs)[posting] : 0;
    const uint32_t bound = in ? fastpath_part<uint8_t>(t, t.sat)[posting] * t.step : 0;
    const uint32_t rest = most - 255 * t.step;
    bool alive = in && bound + rest >= fastpath_theta(b);
    if (alive && (b.search->live != nullptr || b.shared->query.filter != nullptr)) {
        alive = (fastpath_allowed(b, docID / kRangeDocs) >> docID % kRangeDocs & 1) != 0;
    }
    alive = fastpath_lookup(b, docID, alive, true, bound, rest);
    if (__ballot_sync(kAll, alive) == 0) {
        return 0;
    }
    numCandidates += static_cast<uint32_t>(__popc(__ballot_sync(kAll, alive)));
    if (!alive) {
        return 0;
    }
    uint32_t score = fastpath_contribution(t, posting, docID);
    for (uint32_t i = 1; i < b.numTerms; i++) {
        score += fastpath_contribution(b.terms[i], fastpath_find(b.terms[i], docID), docID);
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
