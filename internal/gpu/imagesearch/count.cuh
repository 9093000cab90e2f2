#pragma once

#include "probe.cuh"

/* Adds the documents of a list with DocIDs of 32 bits in a superblock to the warp's sums. By a warp. */
__device__ __forceinline__ void imagesearch_mark(const ImageBlock& b, const ImageTerm& t, uint32_t super) {
    const auto* starts = imagesearch_part<uint32_t>(t, t.starts);
    const auto* docIDs = imagesearch_part<uint32_t>(t, t.docIDs);
    const uint64_t first = static_cast<uint64_t>(super) * kSuperDocs;
    const uint64_t end = min(first + kSuperDocs, static_cast<uint64_t>(b.search->numDocs));
    const uint32_t to = starts[(static_cast<uint32_t>(end - 1) >> t.shift) + 1];
    for (uint32_t j = starts[static_cast<uint32_t>(first) >> t.shift] + b.lane; j < to; j += 32) {
        const uint32_t docID = docIDs[j];
        if (docID / kSuperDocs == super) {
            atomicOr(b.shared->sums[b.warp] + docID / kRangeDocs % kSuperRanges, 1U << docID % kRangeDocs);
        }
    }
}

/* The marked documents, which are then marked no more. By a warp. */
__device__ __forceinline__ uint4 imagesearch_marked(const ImageBlock& b) {
    __syncwarp();
    auto* mine = reinterpret_cast<uint4*>(b.shared->sums[b.warp]) + b.lane;
    const uint4 w = *mine;
    *mine = make_uint4(0, 0, 0, 0);
    __syncwarp();
    return w;
}

/* The documents of a superblock that have one of the terms. By a warp. */
__device__ __forceinline__ uint4 imagesearch_any_of(const ImageBlock& b, uint32_t terms, uint32_t super) {
    uint4 words = make_uint4(0, 0, 0, 0);
    for (; terms != 0; terms &= terms - 1) {
        const ImageTerm& t = b.terms[__ffs(terms) - 1];
        uint4 w;
        if (t.kind == kDense) {
            w = imagesearch_part<uint4>(t, t.bitmap)[super * 32 + b.lane];
        } else if (image_packed(t.kind)) {
            w = imagesearch_packed(t).words(super, b.lane);
        } else {
            imagesearch_mark(b, t, super);
            w = imagesearch_marked(b);
        }
        words = make_uint4(words.x | w.x, words.y | w.y, words.z | w.z, words.w | w.w);
    }
    return words;
}

/* The documents of a superblock that have the required terms and one of each clause, of which there are some. By a
 * warp. */
__device__ __forceinline__ uint4 imagesearch_parts_matches(const ImageBlock& b, uint32_t super) {
    uint4 words = make_uint4(kAll, kAll, kAll, kAll);
    const auto numRequired = static_cast<uint32_t>(__popc(b.required));
    uint32_t required = b.required;
    for (uint32_t i = 0; i < numRequired + b.parts->numClauses; i++) {
        uint32_t terms = required & (0U - required);
        if (terms == 0) {
            terms = b.parts->clauses[i - numRequired];
        }
        required &= required - 1;
        const uint4 w = imagesearch_any_of(b, terms, super);
        words = make_uint4(words.x & w.x, words.y & w.y, words.z & w.z, words.w & w.w);
    }
    return words;
}

/* The documents of words that can match. By a warp. */
__device__ __forceinline__ uint4 imagesearch_allowed_words(const ImageBlock& b, uint4 words, uint32_t super) {
    if (imagesearch_restricts(b)) {
        const uint32_t range = (super * 32 + b.lane) * 4, numRanges = (b.search->numDocs + kRangeDocs - 1) / kRangeDocs;
        words.x &= range < numRanges ? imagesearch_allowed(b, range) : 0;
        words.y &= range + 1 < numRanges ? imagesearch_allowed(b, range + 1) : 0;
        words.z &= range + 2 < numRanges ? imagesearch_allowed(b, range + 2) : 0;
        words.w &= range + 3 < numRanges ? imagesearch_allowed(b, range + 3) : 0;
    }
    return words;
}

/* The matches in a superblock, four ranges per lane: And of lists with bounds of ranges, or Or. By a warp. */
__device__ __forceinline__ uint4 imagesearch_matches(const ImageBlock& b, uint32_t super) {
    if (b.words && !b.all && (b.required != 0 || b.parts->numClauses > 0)) {
        return imagesearch_allowed_words(b, imagesearch_parts_matches(b, super), super);
    }
    const uint32_t start = b.all ? kAll : 0;
    uint4 words = make_uint4(start, start, start, start);
    const auto add = [&](uint4 w) {
        if (b.all) {
            words = make_uint4(words.x & w.x, words.y & w.y, words.z & w.z, words.w & w.w);
        } else {
            words = make_uint4(words.x | w.x, words.y | w.y, words.z | w.z, words.w | w.w);
        }
    };
#pragma unroll 4
    for (uint32_t i = 0; i < b.numDense; i++) {
        add(imagesearch_part<uint4>(b.terms[i], b.terms[i].bitmap)[super * 32 + b.lane]);
    }
    uint32_t i = b.numDense;
    for (; i < b.numBounded && image_packed(b.terms[i].kind); i++) {
        add(imagesearch_packed(b.terms[i]).words(super, b.lane));
    }
    if (i < b.numTerms) { /* Or */
        for (; i < b.numTerms; i++) {
            imagesearch_mark(b, b.terms[i], super);
        }
        add(imagesearch_marked(b));
    }
    return imagesearch_allowed_words(b, words, super);
}

/* By the postings of the shortest list. By all threads. */
__device__ __forceinline__ uint32_t imagesearch_count_probes(const ImageBlock& b) {
    uint32_t count = 0;
    for (ImageCursor c = imagesearch_cursor(b); imagesearch_more(b, c); c.next += 32) {
        const ImagePosting p = imagesearch_posting(b, c);
        bool alive = p.in;
        if (alive && imagesearch_restricts(b)) {
            alive = (imagesearch_allowed(b, p.docID / kRangeDocs) >> p.docID % kRangeDocs & 1) != 0;
        }
        count += imagesearch_lookup(b, p.docID, alive, false, 0, 0) ? 1 : 0;
    }
    return count;
}

/* By words of 32 documents. By all threads. */
__device__ __forceinline__ uint32_t imagesearch_count_words(const ImageBlock& b) {
    const uint32_t numSupers = (b.search->numDocs + kSuperDocs - 1) / kSuperDocs;
    uint32_t count = 0;
    for (uint32_t super = b.split * b.numWarps + b.warp; super < numSupers; super += b.splits * b.numWarps) {
        const uint4 words = imagesearch_matches(b, super);
        count += static_cast<uint32_t>(__popc(words.x) + __popc(words.y) + __popc(words.z) + __popc(words.w));
    }
    return count;
}

/* By all threads. */
template <bool words = false>
__device__ __forceinline__ void imagesearch_counting(const ImageSearch& search, const ImageQuery* query,
                                                     const ImageTerm* terms, uint32_t split) {
    __shared__ ImageShared shared;
    ImageBlock b;
    imagesearch_begin<words>(b, shared, search, query, terms, split);
    uint32_t count = (shared.query.flags & kFlagProbe) != 0 ? imagesearch_count_probes(b) : imagesearch_count_words(b);
    count = __reduce_add_sync(kAll, count);
    if (b.lane == 0) {
        atomicAdd(&shared.count, count);
    }
    __syncthreads();
    if (threadIdx.x != 0) {
        return;
    }
    uint32_t total = ld_relaxed(&shared.count);
    if (b.state != nullptr) {
        atomicAdd(&b.state->count, total);
        __threadfence();
        if (atomicAdd(&b.state->done, 1U) + 1 != b.splits) {
            return;
        }
        __threadfence();
        total = atomicExch(&b.state->count, 0U);
        atomicExch(&b.state->done, 0U);
    }
    ImageResult* r = search.results + shared.query.result;
    r->count = total;
    __threadfence_system();
    if (search.launch != 0) {
        st_relaxed_system(&r->done, search.launch);
    }
}
