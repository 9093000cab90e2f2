/* How a warp scores ranges of documents: all postings of a few ranges are looked up at once, then each range is scored
 * with a document a lane. */
#pragma once

#include "results.cuh"

/* Some ranges that a warp scores one after the other, having looked them all up at once: lane i has range i / width and
 * term i % width. */
struct FastpathGroup {
    uint32_t size, next; /* ranges, and the next to be scored */
    uint32_t width;      /* lanes of a range: a power of two */
    uint32_t range;      /* the lane's, */
    uint32_t bound;      /* and its bound */
    FastpathRange found; /* in the lane's list */
    uint32_t active;     /* lanes with postings */
};

/* Looks up ranges of the list in the lists of terms [0, width); ahead brings all lines that may be wanted. By a warp.
 */
__device__ __forceinline__ void fastpath_look_up(const FastpathBlock& b, FastpathGroup& g, uint32_t first,
                                                 uint32_t theta, bool ahead = false) {
    const uint32_t slot = b.lane / g.width, term = b.lane % g.width;
    g.next = 0;
    g.found = {0, 0};
    if (slot < g.size) {
        const uint2 entry = b.shared->list[b.shared->listOrder[first + slot]];
        g.range = entry.x;
        g.bound = entry.y;
        if (entry.y >= theta && term < b.numTerms) {
            const FastpathTerm& t = b.terms[term];
            if (ahead && term == 0 && t.score.linear == 0) {
                fastpath_prefetch(t.lengths + entry.x * kRangeDocs);
            }
            g.found = fastpath_range(t, entry.x);
            if (g.found.bits != 0) { /* brings the line that sum_bounds will want */
                fastpath_prefetch(t.satAt + g.found.rank);
                if (ahead && t.freqBytes != 0) {
                    fastpath_prefetch(fastpath_part<uint8_t>(t, t.freq) + g.found.rank * t.freqBytes);
                }
            }
        }
    }
    g.active = __ballot_sync(kAll, g.found.bits != 0);
}

/* The sum of the bounds of the postings of the lane's document that the group's lanes of a range have found, of
 * documents in allowed. Some loads are in flight at a time. By a warp. */
__device__ __forceinline__ uint32_t fastpath_sum_bounds(const FastpathBlock& b, const FastpathGroup& g, uint32_t term,
                                                        uint32_t active, uint32_t allowed) {
    const uint32_t bit = 1U << b.lane;
    const bool mine = (allowed & bit) != 0;
    uint32_t bound = 0;
    while (active != 0) {
        uint32_t steps[kInFlight], worth[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            steps[i] = 0;
            worth[i] = 0;
            if (active != 0) {
                const int l = __ffs(active) - 1;
                active &= active - 1;
                const uint32_t bits = __shfl_sync(kAll, g.found.bits, l), rank = __shfl_sync(kAll, g.found.rank, l);
                const FastpathHot<uint8_t> hot = fastpath_hot<uint8_t>(&b.terms[term + (l & (g.width - 1))].satAt);
                worth[i] = hot.step;
                if (mine && (bits & bit) != 0) {
                    steps[i] = hot.at[rank + static_cast<uint32_t>(__popc(bits & (bit - 1)))];
                }
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            bound += steps[i] * worth[i];
        }
    }
    return bound;
}

/* The documents of a range that all of the group's lanes of it have found. By a warp. */
__device__ __forceinline__ uint32_t fastpath_in_all(const FastpathGroup& g, uint32_t active) {
    uint32_t bits = kAll;
    for (; active != 0; active &= active - 1) {
        bits &= __shfl_sync(kAll, g.found.bits, __ffs(active) - 1);
    }
    return bits;
}

/* The sum of the contributions of those postings. By a warp; of lanes that are candidates. */
__device__ __forceinline__ uint32_t fastpath_sum_scores(const FastpathBlock& b, const FastpathGroup& g, uint32_t term,
                                                        uint32_t active, uint32_t docID, bool candidate) {
    const uint32_t bit = 1U << b.lane;
    uint32_t score = 0;
    while (active != 0) {
        FastpathStored stored[kInFlight];
        uint32_t postings[kInFlight], terms[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            postings[i] = kNoPosting;
            terms[i] = 0;
            stored[i] = {0, 0};
            if (active != 0) {
                const int l = __ffs(active) - 1;
                active &= active - 1;
                const uint32_t bits = __shfl_sync(kAll, g.found.bits, l), rank = __shfl_sync(kAll, g.found.rank, l);
                terms[i] = term + (l & (g.width - 1));
                if (candidate && (bits & bit) != 0) {
                    postings[i] = rank + static_cast<uint32_t>(__popc(bits & (bit - 1)));
                    stored[i] = fastpath_stored(b.terms[terms[i]], postings[i], docID);
                }
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            if (postings[i] != kNoPosting) {
                score += fastpath_contribution(b.terms[terms[i]], postings[i], stored[i]);
            }
        }
    }
    return score;
}

/* Looks up terms [first, first + 32) where there are more than 32. By a warp. */
__device__ __forceinline__ void fastpath_look_up_more(const FastpathBlock& b, FastpathGroup& g, uint32_t first) {
    g.found = {0, 0};
    if (first + b.lane < b.numTerms) {
        g.found = fastpath_range(b.terms[first + b.lane], g.range);
    }
    g.active = __ballot_sync(kAll, g.found.bits != 0);
}

/* Scores the documents of the group's next range, one a lane. Returns the lane's key, or 0. By a warp. */
__device__ __forceinline__ uint64_t fastpath_score(const FastpathBlock& b, FastpathGroup& g, uint32_t& numRanges,
                                                   uint32_t& numCandidates) {
    const uint32_t from = g.next * g.width;
    const uint32_t lanes = g.width == 32 ? kAll : ((1U << g.width) - 1) << from;
    const uint32_t range = __shfl_sync(kAll, g.range, static_cast<int>(from));
    const uint32_t most = __shfl_sync(kAll, g.bound, static_cast<int>(from));
    g.next++;
    uint32_t active = g.active & lanes;
    if (active == 0 || __ballot_sync(kAll, most >= fastpath_theta(b)) == 0) {
        return 0;
    }
    numRanges++;
    uint32_t allowed = kAll;
    if (b.all) {
        const uint32_t numFound = static_cast<uint32_t>(__popc(active));
        allowed = numFound == min(b.numTerms, 32U) ? fastpath_in_all(g, active) : 0;
        if (allowed == 0) {
            return 0;
        }
    }
    uint32_t bound = fastpath_sum_bounds(b, g, 0, active, allowed);
    for (uint32_t first = 32; first < b.numTerms; first += 32) {
        fastpath_look_up_more(b, g, first);
        if (b.all) {
            const uint32_t numFound = static_cast<uint32_t>(__popc(g.active));
            allowed &= numFound == min(b.numTerms - first, 32U) ? fastpath_in_all(g, g.active) : 0;
        }
        bound += fastpath_sum_bounds(b, g, first, g.active, allowed);
    }
    bool candidate = bound > 0 && bound >= fastpath_theta(b) && (allowed >> b.lane & 1) != 0;
    if (__ballot_sync(kAll, candidate) == 0) {
        return 0;
    }
    candidate = candidate && (fastpath_allowed(b, range) >> b.lane & 1) != 0;
    const uint32_t candidates = __ballot_sync(kAll, candidate);
    if (candidates == 0) {
        return 0;
    }
    numCandidates += static_cast<uint32_t>(__popc(candidates));
    const uint32_t docID = range * kRangeDocs + b.lane;
    uint32_t score = 0;
    if (b.numTerms > 32) { /* what the group has found is that of the last terms */
        fastpath_look_up_more(b, g, 0);
        active = g.active;
    }
    score = fastpath_sum_scores(b, g, 0, active, docID, candidate);
    for (uint32_t first = 32; first < b.numTerms; first += 32) {
        fastpath_look_up_more(b, g, first);
        score += fastpath_sum_scores(b, g, first, g.active, docID, candidate);
    }
    return candidate ? hit_key(score, docID) : 0;
}
