/* A warp looks up all postings of a few ranges at once, then scores each range with one document per lane. */
#pragma once

#include "results.cuh"

/* Lane i has range i / width and term i % width. */
struct ImageGroup {
    uint32_t size, next; /* number of ranges, and the next range to score */
    uint32_t width;      /* lanes per range: a power of two */
    uint32_t range;      /* the lane's range, */
    uint32_t bound;      /* its bound, */
    ImageRange found;    /* and its postings in the lane's list */
    uint32_t active;     /* lanes with postings */
};

/* The maximum steps of a list's postings in a range. */
__device__ __forceinline__ uint32_t imagesearch_range_max(const ImageTerm& t, uint32_t range, ImageRange found) {
    if (t.kind != kSparse) {
        return t.maxAt[range];
    }
    uint32_t most = 0;
    for (uint32_t i = 0, n = static_cast<uint32_t>(__popc(found.bits)); i < n; i++) {
        most = max(most, imagesearch_sat(t, found.rank + i));
    }
    return most;
}

/* Drops from a looked-up group the lists without a document that the filter passes, and ranges whose other lists do not
 * reach the threshold: most documents of a rare term do not pass, and the other terms alone seldom reach it. in: the
 * lane has a term of a range. By a warp, for up to 32 terms. */
__device__ __forceinline__ void imagesearch_pass(const ImageBlock& b, ImageGroup& g, bool in, uint32_t theta) {
    const uint32_t passing = in ? g.found.bits & b.shared->query.filter[g.range] : 0;
    uint32_t lost = 0;
    if (in && g.found.bits != 0 && passing == 0) {
        const ImageTerm& t = b.terms[b.lane % g.width];
        lost = imagesearch_range_max(t, g.range, g.found) * t.step;
    }
    for (uint32_t d = 1; d < g.width; d *= 2) {
        lost += __shfl_xor_sync(kAll, lost, static_cast<int>(d));
    }
    if (passing == 0 || g.bound - lost < theta) {
        g.found = {0, 0};
    }
}

/* Looks up ranges of the block's list in the lists of terms [0, width); ahead: prefetches all lines that scoring may
 * read. By a warp. */
template <ImageFilters filters>
__device__ __forceinline__ void imagesearch_look_up(const ImageBlock& b, ImageGroup& g, uint32_t first, uint32_t theta,
                                                    bool ahead = false) {
    const uint32_t slot = b.lane / g.width, term = b.lane % g.width;
    g.next = 0;
    g.found = {0, 0};
    const bool passes = filters != kLate && b.filtered && b.numTerms <= 32;
    bool in = false;
    if (slot < g.size) {
        const uint2 entry = b.shared->list[b.shared->listOrder[first + slot]];
        g.range = entry.x;
        g.bound = entry.y;
        if (entry.y >= theta && term < b.numTerms) {
            const ImageTerm& t = b.terms[term];
            if (ahead && term == 0 && t.score.linear == 0) {
                imagesearch_prefetch(t.lengths + entry.x * kRangeDocs);
            }
            g.found = imagesearch_range(t, entry.x);
            in = true;
            if (g.found.bits != 0 && !passes) { /* for imagesearch_sum_bounds */
                imagesearch_prefetch(t.satAt + (g.found.rank << t.satShift));
                if (ahead && t.freqBytes != 0) {
                    imagesearch_prefetch(imagesearch_part<uint8_t>(t, t.freq) + g.found.rank * t.freqBytes);
                }
            }
        }
    }
    if (filters != kLate && passes) {
        imagesearch_pass(b, g, in, max(theta, __shfl_sync(kAll, imagesearch_theta(b), 0)));
        if (g.found.bits != 0) {
            imagesearch_prefetch(b.terms[term].satAt + (g.found.rank << b.terms[term].satShift));
        }
    }
    g.active = __ballot_sync(kAll, g.found.bits != 0);
}

/* The sum of the bounds of the lane's document, if it is in allowed, in the lists of the active lanes. kInFlight loads
 * are outstanding. By a warp. */
__device__ __forceinline__ uint32_t imagesearch_sum_bounds(const ImageBlock& b, const ImageGroup& g, uint32_t term,
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
                const ImageHot<uint8_t> hot = imagesearch_hot<uint8_t>(&b.terms[term + (l & (g.width - 1))].satAt);
                worth[i] = hot.step;
                if (mine && (bits & bit) != 0) {
                    steps[i] = hot.at[(rank + static_cast<uint32_t>(__popc(bits & (bit - 1)))) << hot.shift];
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

/* The documents that are in the lists of all active lanes. By a warp. */
__device__ __forceinline__ uint32_t imagesearch_in_all(const ImageGroup& g, uint32_t active) {
    uint32_t bits = kAll;
    for (; active != 0; active &= active - 1) {
        bits &= __shfl_sync(kAll, g.found.bits, __ffs(active) - 1);
    }
    return bits;
}

/* The documents of the range whose lanes begin with from that have the required terms and one of each clause. By a
 * warp. */
__device__ __forceinline__ uint32_t imagesearch_in_parts(const ImageBlock& b, const ImageGroup& g, uint32_t active,
                                                         uint32_t from) {
    const uint32_t required = b.required << from;
    if ((active & required) != required) {
        return 0;
    }
    uint32_t bits = imagesearch_in_all(g, required);
    for (uint32_t i = 0; i < b.parts->numClauses && bits != 0; i++) {
        const uint32_t lanes = b.parts->clauses[i] << from;
        bits &= __reduce_or_sync(kAll, (lanes >> b.lane & 1) != 0 ? g.found.bits : 0);
    }
    return bits;
}

/* The sum of their contributions, in lanes with a candidate. By a warp. */
template <class Sum = uint32_t>
__device__ __forceinline__ Sum imagesearch_sum_scores(const ImageBlock& b, const ImageGroup& g, uint32_t term,
                                                      uint32_t active, uint32_t docID, bool candidate) {
    const uint32_t bit = 1U << b.lane;
    Sum score = 0;
    while (active != 0) {
        ImageStored stored[kInFlight];
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
                    stored[i] = imagesearch_stored(b.terms[terms[i]], postings[i], docID);
                }
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            if (postings[i] != kNoPosting) {
                score += imagesearch_contribution(b.terms[terms[i]], postings[i], stored[i]);
            }
        }
    }
    return score;
}

/* Looks up terms [first, first + 32). By a warp. */
__device__ __forceinline__ void imagesearch_look_up_more(const ImageBlock& b, ImageGroup& g, uint32_t first) {
    g.found = {0, 0};
    if (first + b.lane < b.numTerms) {
        g.found = imagesearch_range(b.terms[first + b.lane], g.range);
    }
    g.active = __ballot_sync(kAll, g.found.bits != 0);
}

/* Scores the documents of the next range, one per lane. Returns the lane's key, or 0. By a warp. */
template <bool wide>
__device__ __forceinline__ uint64_t imagesearch_score(const ImageBlock& b, ImageGroup& g, uint32_t& numRanges,
                                                      uint32_t& numCandidates) {
    const uint32_t from = g.next * g.width;
    const uint32_t lanes = g.width == 32 ? kAll : ((1U << g.width) - 1) << from;
    const uint32_t range = __shfl_sync(kAll, g.range, static_cast<int>(from));
    const uint32_t most = __shfl_sync(kAll, g.bound, static_cast<int>(from));
    g.next++;
    uint32_t active = g.active & lanes;
    /* Terms after the first 32 are looked up below. */
    if ((active == 0 && b.numTerms <= 32) || __ballot_sync(kAll, most >= imagesearch_theta(b)) == 0) {
        return 0;
    }
    numRanges++;
    uint32_t allowed = kAll;
    if (b.filtered) { /* few documents may be left: the bounds of the others are not read */
        allowed = imagesearch_allowed(b, range);
        if (b.numTerms <= 32) {
            allowed &= __reduce_or_sync(kAll, (active >> b.lane & 1) != 0 ? g.found.bits : 0);
        }
        if (allowed == 0) {
            return 0;
        }
    }
    if (b.all) {
        const uint32_t numFound = static_cast<uint32_t>(__popc(active));
        allowed &= numFound == min(b.numTerms, 32U) ? imagesearch_in_all(g, active) : 0;
        if (allowed == 0) {
            return 0;
        }
    }
    if (b.words && !b.all) { /* at most 32 terms */
        allowed &= imagesearch_in_parts(b, g, active, from);
        if (allowed == 0) {
            return 0;
        }
    }
    uint32_t bound = imagesearch_sum_bounds(b, g, 0, active, allowed);
    for (uint32_t first = 32; first < b.numTerms; first += 32) {
        imagesearch_look_up_more(b, g, first);
        if (b.all) {
            const uint32_t numFound = static_cast<uint32_t>(__popc(g.active));
            allowed &= numFound == min(b.numTerms - first, 32U) ? imagesearch_in_all(g, g.active) : 0;
        }
        bound += imagesearch_sum_bounds(b, g, first, g.active, allowed);
    }
    bool candidate = bound > 0 && bound >= imagesearch_theta(b) && (allowed >> b.lane & 1) != 0;
    if (__ballot_sync(kAll, candidate) == 0) {
        return 0;
    }
    if (!b.filtered) {
        candidate = candidate && (imagesearch_allowed(b, range) >> b.lane & 1) != 0;
    }
    const uint32_t candidates = __ballot_sync(kAll, candidate);
    if (candidates == 0) {
        return 0;
    }
    numCandidates += static_cast<uint32_t>(__popc(candidates));
    const uint32_t docID = range * kRangeDocs + b.lane;
    using Sum = typename ImageKeys<wide>::Sum;
    Sum score = 0;
    if (b.numTerms > 32) { /* found has the last terms */
        imagesearch_look_up_more(b, g, 0);
        active = g.active;
    }
    score = imagesearch_sum_scores<Sum>(b, g, 0, active, docID, candidate);
    for (uint32_t first = 32; first < b.numTerms; first += 32) {
        imagesearch_look_up_more(b, g, first);
        score += imagesearch_sum_scores<Sum>(b, g, first, g.active, docID, candidate);
    }
    return candidate ? ImageKeys<wide>::key(b, score, docID) : 0;
}
