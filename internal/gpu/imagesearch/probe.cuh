/* And: each posting of a sparse shortest list is looked up in the other lists. */
#pragma once

#include "results.cuh"

/* Whether a document is in terms [first, numTerms), all dense. kInFlight loads are outstanding. By a warp. */
__device__ __forceinline__ bool imagesearch_in_dense(const ImageBlock& b, uint32_t first, uint32_t docID, bool alive) {
    for (; first < b.numTerms; first += kInFlight) {
        if (__ballot_sync(kAll, alive) == 0) {
            return false;
        }
        uint32_t words[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            words[i] = kAll;
            if (first + i < b.numTerms && alive) {
                const ImageTerm& t = b.terms[first + i];
                words[i] = imagesearch_part<uint32_t>(t, t.bitmap)[docID / kRangeDocs];
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            alive = alive && (words[i] >> docID % kRangeDocs & 1) != 0;
        }
    }
    return alive;
}

/* All dense lists contain the document. */
__device__ __forceinline__ uint32_t imagesearch_dense_bounds(const ImageBlock& b, uint32_t first, uint32_t docID,
                                                             bool alive) {
    uint32_t bound = 0;
    for (; first < b.numTerms; first += kInFlight) {
        uint32_t postings[kInFlight], steps[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            postings[i] = kNoPosting;
            if (first + i < b.numTerms && alive) {
                postings[i] = imagesearch_find(b.terms[first + i], docID);
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            steps[i] = 0;
            if (postings[i] != kNoPosting) {
                const ImageTerm& t = b.terms[first + i];
                steps[i] = imagesearch_part<uint8_t>(t, t.sat)[postings[i]] * t.step;
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            bound += steps[i];
        }
    }
    return bound;
}

/* Looks up a document in all lists but the first: in the dense lists, then in the others by rising length. Returns
 * whether it is in all lists and, if score is true, its bound reaches theta. bound is the bound of its first posting,
 * most of any document. By a warp. */
__device__ __forceinline__ bool imagesearch_lookup(const ImageBlock& b, uint32_t docID, bool alive, bool score,
                                                   uint32_t bound, uint32_t most) {
    const uint32_t firstDense = b.numTerms - b.numDense;
    alive = imagesearch_in_dense(b, firstDense, docID, alive);
    uint32_t rest = most - 255 * b.terms[0].step;
    for (uint32_t i = 1; i < firstDense; i++) {
        if (__ballot_sync(kAll, alive) == 0) {
            return false;
        }
        const ImageTerm& t = b.terms[i];
        rest -= 255 * t.step;
        if (alive) {
            const uint32_t posting = imagesearch_find(t, docID);
            alive = posting != kNoPosting;
            if (alive && score) {
                bound += imagesearch_part<uint8_t>(t, t.sat)[posting] * t.step;
                alive = bound + rest >= imagesearch_theta(b);
            }
        }
    }
    if (score && __ballot_sync(kAll, alive) != 0) {
        bound += imagesearch_dense_bounds(b, firstDense, docID, alive);
        alive = alive && bound >= imagesearch_theta(b);
    }
    return alive;
}

/* Scores 32 postings of the shortest list. Returns the lane's key, or 0. By a warp. */
template <bool wide>
__device__ __forceinline__ uint64_t imagesearch_probe_postings(const ImageBlock& b, uint32_t posting, uint32_t most,
                                                               uint32_t& numCandidates) {
    const ImageTerm& t = b.terms[0];
    const bool in = posting < t.docFreq;
    const uint32_t docID = in ? imagesearch_part<uint32_t>(t, t.docIDs)[posting] : 0;
    const uint32_t bound = in ? imagesearch_part<uint8_t>(t, t.sat)[posting] * t.step : 0;
    bool alive = in && bound + most - 255 * t.step >= imagesearch_theta(b);
    if (alive && imagesearch_restricts(b)) {
        alive = (imagesearch_allowed(b, docID / kRangeDocs) >> docID % kRangeDocs & 1) != 0;
    }
    alive = imagesearch_lookup(b, docID, alive, true, bound, most);
    if (__ballot_sync(kAll, alive) == 0) {
        return 0;
    }
    numCandidates += static_cast<uint32_t>(__popc(__ballot_sync(kAll, alive)));
    if (!alive) {
        return 0;
    }
    typename ImageKeys<wide>::Sum score = imagesearch_contribution(t, posting, imagesearch_stored(t, posting, docID));
    for (uint32_t i = 1; i < b.numTerms; i++) {
        const uint32_t other = imagesearch_find(b.terms[i], docID);
        score += imagesearch_contribution(b.terms[i], other, imagesearch_stored(b.terms[i], other, docID));
    }
    return ImageKeys<wide>::key(b, score, docID);
}

/* alone: of a single query. By all threads of a block. */
template <bool wide, bool words = false, bool alone = false>
__device__ __forceinline__ void imagesearch_by_probes(const ImageSearch& search, const ImageQuery* query,
                                                      const ImageTerm* terms, uint32_t split) {
    __shared__ ImageShared shared;
    ImageBlock b;
    imagesearch_begin<words>(b, shared, search, query, terms, split);
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
            key = imagesearch_offer<wide>(b, key);
            if (__ballot_sync(kAll, key != 0) != 0 || group >= numGroups) {
                break;
            }
            imagesearch_hear(b);
            key = imagesearch_probe_postings<wide>(b, group * 32 + b.lane, most, numCandidates);
            group += stride;
            numLooked++;
        }
    } while (imagesearch_make_room<wide>(b, key));
    imagesearch_worked(b, kSupers, numLooked);
    imagesearch_worked(b, kCandidates, numCandidates);
    __syncthreads();
    if constexpr (alone) {
        if (search.sends != 0) {
            imagesearch_send(b);
            return;
        }
    }
    imagesearch_end<wide>(b);
}
