/* And: each posting of a shortest list with few documents is looked up in the other lists. */
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
                steps[i] = imagesearch_sat(t, postings[i]) * t.step;
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
            uint2 found; /* posting and contribution */
            if (image_packed(t.kind)) {
                found = imagesearch_packed(t).find(docID);
            } else {
                found = make_uint2(imagesearch_find(t, docID), 0);
                if (found.x != kNoPosting && score) {
                    found.y = imagesearch_sat(t, found.x);
                }
            }
            alive = found.x != kNoPosting;
            if (alive && score) {
                bound += found.y * t.step;
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

/* The postings of the shortest list that a warp visits, 32 at a time. */
struct ImageCursor {
    uint32_t group;     /* of 32 postings, or of supers superblocks of a packed list */
    uint32_t next, end; /* its postings that are left */
    uint32_t supers;
    uint32_t firsts; /* packed: lane i has the first posting of the group's superblock i, up to its end */
};

/* The warp's first group is the next one. */
__device__ __forceinline__ ImageCursor imagesearch_cursor(const ImageBlock& b) {
    const ImageTerm& t = b.terms[0];
    const uint32_t numSupers = (b.numDocs + kSuperDocs - 1) / kSuperDocs;
    const uint32_t each = t.docFreq / numSupers; /* postings of a superblock */
    ImageCursor c;
    c.supers = each >= 32 ? 1 : 32 / max(each, 2U);
    c.group = b.split * b.numWarps + b.warp;
    c.next = c.end = 0;
    c.firsts = 0;
    return c;
}

/* Whether postings are left. By a warp. */
__device__ __forceinline__ bool imagesearch_more(const ImageBlock& b, ImageCursor& c) {
    const ImageTerm& t = b.terms[0];
    const uint32_t stride = b.splits * b.numWarps;
    if (!image_packed(t.kind)) {
        if (c.next >= c.end) {
            if (c.group >= (t.docFreq + 31) / 32) {
                return false;
            }
            c.next = c.group * 32;
            c.end = min(c.next + 32, t.docFreq);
            c.group += stride;
        }
        return true;
    }
    const uint32_t numSupers = (b.numDocs + kSuperDocs - 1) / kSuperDocs;
    while (c.next >= c.end) {
        if (c.group >= (numSupers + c.supers - 1) / c.supers) {
            return false;
        }
        const uint32_t super = c.group * c.supers + min(b.lane, c.supers);
        c.firsts = super < numSupers ? imagesearch_part<uint32_t>(t, t.base)[super] : t.docFreq;
        c.next = __shfl_sync(kAll, c.firsts, 0);
        c.end = __shfl_sync(kAll, c.firsts, static_cast<int>(c.supers));
        c.group += stride;
    }
    return true;
}

/* A lane's posting. */
struct ImagePosting {
    bool in; /* there is one */
    uint32_t posting, docID, steps;
};

/* By a warp. */
__device__ __forceinline__ ImagePosting imagesearch_posting(const ImageBlock& b, const ImageCursor& c) {
    const ImageTerm& t = b.terms[0];
    ImagePosting p = {c.next + b.lane < c.end, c.next + b.lane, 0, 0};
    if (!image_packed(t.kind)) {
        if (p.in) {
            p.docID = imagesearch_part<uint32_t>(t, t.docIDs)[p.posting];
            p.steps = imagesearch_sat(t, p.posting);
        }
        return p;
    }
    uint32_t super = 0, first = __shfl_sync(kAll, c.firsts, 0);
    for (uint32_t i = 1; i < c.supers; i++) {
        const uint32_t begin = __shfl_sync(kAll, c.firsts, static_cast<int>(i));
        if (p.posting >= begin) {
            super = i;
            first = begin;
        }
    }
    if (p.in) {
        const PackedList list = imagesearch_packed(t);
        const uint32_t stored = list.postings[p.posting];
        super += (c.group - b.splits * b.numWarps) * c.supers;
        const uint16_t* starts = list.starts_of(super);
        uint32_t bucket = 0;
        for (uint32_t step = kSuperDocs >> t.shift >> 1; step > 0; step /= 2) {
            bucket += first + starts[bucket + step] <= p.posting ? step : 0;
        }
        p.docID = super * kSuperDocs + (bucket << t.shift) + (stored & 0xff);
        p.steps = stored >> 8;
    }
    return p;
}

/* Scores 32 postings of the shortest list. Returns the lane's key, or 0. By a warp. */
template <bool wide>
__device__ __forceinline__ uint64_t imagesearch_probe_postings(const ImageBlock& b, const ImageCursor& c, uint32_t most,
                                                               uint32_t& numCandidates) {
    const ImageTerm& t = b.terms[0];
    const ImagePosting p = imagesearch_posting(b, c);
    const uint32_t posting = p.posting, docID = p.docID, bound = p.steps * t.step;
    bool alive = p.in && bound + most - 255 * t.step >= imagesearch_theta(b);
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
    ImageCursor cursor = imagesearch_cursor(b);
    uint32_t numLooked = 0, numCandidates = 0;
    uint64_t key = 0;
    do {
        for (;;) {
            key = imagesearch_offer<wide>(b, key);
            if (__ballot_sync(kAll, key != 0) != 0 || !imagesearch_more(b, cursor)) {
                break;
            }
            imagesearch_hear(b);
            key = imagesearch_probe_postings<wide>(b, cursor, most, numCandidates);
            cursor.next += 32;
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

/* Copies the query to shared memory; ends with a barrier. A pointer to the parameters that the compiler cannot resolve
 * would make it copy them to each thread's local memory. */
__device__ __forceinline__ void imagesearch_unpack(const ImageOne& p, ImageSearch* search, ImageQuery* query) {
    constexpr uint32_t forSearch = sizeof(ImageSearch) / 16, forQuery = sizeof(ImageQuery) / 16;
    const auto* from = reinterpret_cast<const uint4*>(&p);
    auto* terms = reinterpret_cast<uint4*>(imagesearch_terms(p.search));
    const uint32_t size = forSearch + forQuery + p.query.numTerms * (sizeof(ImageTerm) / 16);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        const uint4 part = from[i];
        if (i < forSearch) {
            reinterpret_cast<uint4*>(search)[i] = part;
        } else if (i < forSearch + forQuery) {
            reinterpret_cast<uint4*>(query)[i - forSearch] = part;
        } else {
            terms[i - forSearch - forQuery] = part;
        }
    }
    __syncthreads();
}
