/* The number of documents that match, and their DocIDs, without scores. */
#pragma once

#include "probe.cuh"

/* The documents of a superblock that match, four ranges a lane, of lists with bitmaps (And) or any (Or). By a
 * warp. */
__device__ __forceinline__ uint4 fastpath_matches(const FastpathBlock& b, uint32_t super) {
    const uint32_t start = b.all ? kAll : 0;
    uint4 words = make_uint4(start, start, start, start);
#pragma unroll 4
    for (uint32_t i = 0; i < b.numDense; i++) {
        const FastpathTerm& t = b.terms[i];
        const uint4 w = fastpath_part<uint4>(t, t.bitmap)[super * 32 + b.lane];
        if (b.all) {
            words = make_uint4(words.x & w.x, words.y & w.y, words.z & w.z, words.w & w.w);
        } else {
            words = make_uint4(words.x | w.x, words.y | w.y, words.z | w.z, words.w | w.w);
        }
    }
    for (uint32_t i = b.numDense; i < b.numTerms; i++) { /* Or */
        const FastpathTerm& t = b.terms[i];
        const auto* starts = fastpath_part<uint32_t>(t, t.starts);
        const auto* docIDs = fastpath_part<uint32_t>(t, t.docIDs);
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
    if (b.numDense < b.numTerms) {
        __syncwarp();
        auto* mine = reinterpret_cast<uint4*>(b.shared->sums[b.warp]) + b.lane;
        const uint4 w = *mine;
        *mine = make_uint4(0, 0, 0, 0);
        __syncwarp();
        words = make_uint4(words.x | w.x, words.y | w.y, words.z | w.z, words.w | w.w);
    }
    if (b.search->live != nullptr || b.shared->query.filter != nullptr) {
        const uint32_t range = (super * 32 + b.lane) * 4, numRanges = (b.search->numDocs + kRangeDocs - 1) / kRangeDocs;
        words.x &= range < numRanges ? fastpath_allowed(b, range) : 0;
        words.y &= range + 1 < numRanges ? fastpath_allowed(b, range + 1) : 0;
        words.z &= range + 2 < numRanges ? fastpath_allowed(b, range + 2) : 0;
        words.w &= range + 3 < numRanges ? fastpath_allowed(b, range + 3) : 0;
    }
    return words;
}

/* Writes the DocIDs of the bits of a range to docIDs[at], …; returns where they end. */
__device__ __forceinline__ uint32_t fastpath_emit(uint32_t* docIDs, uint32_t at, uint32_t range, uint32_t bits) {
    for (; bits != 0; bits &= bits - 1) {
        docIDs[at++] = range * kRangeDocs + static_cast<uint32_t>(__ffs(bits)) - 1;
    }
    return at;
}

/* Where a lane's matches go, if each lane has mine of them: behind those of the lanes, warps and rounds before it.
 * By all threads; a barrier. */
__device__ __forceinline__ uint32_t fastpath_place(const FastpathBlock& b, uint32_t mine, uint32_t& before) {
    const uint32_t upTo = warp_inclusive_sum(mine);
    __syncthreads();
    if (b.lane == 31) {
        b.shared->counts[b.warp] = upTo;
    }
    __syncthreads();
    uint32_t at = before + upTo - mine;
    for (uint32_t w = 0; w < b.numWarps; w++) {
        const uint32_t n = b.shared->counts[w];
        at += w < b.warp ? n : 0;
        before += n;
    }
    return at;
}

/* Counts by the postings of the shortest list. By all threads. */
__device__ __forceinline__ uint32_t fastpath_count_probes(const FastpathBlock& b, bool emit) {
    const FastpathTerm& t = b.terms[0];
    const uint32_t splits = emit ? 1 : b.splits, split = emit ? 0 : b.split;
    const uint32_t stride = splits * blockDim.x;
    uint32_t count = 0, before = 0;
    for (uint32_t first = split * blockDim.x; first < t.docFreq; first += stride) {
        const uint32_t posting = first + threadIdx.x;
        bool alive = posting < t.docFreq;
        const uint32_t docID = alive ? fastpath_part<uint32_t>(t, t.docIDs)[posting] : 0;
        if (alive && (b.search->live != nullptr || b.shared->query.filter != nullptr)) {
            alive = (fastpath_allowed(b, docID / kRangeDocs) >> docID % kRangeDocs & 1) != 0;
        }
        alive = fastpath_lookup(b, docID, alive, false, 0, 0);
        count += alive ? 1 : 0;
        if (emit) {
            const uint32_t at = fastpath_place(b, alive ? 1 : 0, before);
            if (alive) {
                b.shared->query.docIDs[at] = docID;
            }
        }
    }
    return count;
}

/* Counts by bitmaps. By all threads. */
__device__ __forceinline__ uint32_t fastpath_count_words(const FastpathBlock& b, bool emit) {
    const uint32_t splits = emit ? 1 : b.splits, split = emit ? 0 : b.split;
    const uint32_t numSupers = (b.search->numDocs + kSuperDocs - 1) / kSuperDocs;
    uint32_t count = 0, before = 0;
    for (uint32_t first = split * b.numWarps; first < numSupers; first += splits * b.numWarps) {
        const uint32_t super = first + b.warp;
        uint4 words = make_uint4(0, 0, 0, 0);
        if (super < numSupers) {
            words = fastpath_matches(b, super);
        }
        const uint32_t mine =
            static_cast<uint32_t>(__popc(words.x) + __popc(words.y) + __popc(words.z) + __popc(words.w));
        count += mine;
        if (emit) {
            uint32_t at = fastpath_place(b, mine, before);
            const uint32_t range = (super * 32 + b.lane) * 4;
            at = fastpath_emit(b.shared->query.docIDs, at, range, words.x);
            at = fastpath_emit(b.shared->query.docIDs, at, range + 1, words.y);
            at = fastpath_emit(b.shared->query.docIDs, at, range + 2, words.z);
            fastpath_emit(b.shared->query.docIDs, at, range + 3, words.w);
        }
    }
    return count;
}

/* Counts the matches of a query. By all threads of a block. */
__device__ __forceinline__ void fastpath_counting(const FastpathSearch& search, const FastpathQuery* query,
                                                  const FastpathTerm* terms, uint32_t split) {
    __shared__ FastpathShared shared;
    FastpathBlock b;
    fastpath_begin(b, shared, search, query, terms, split);
    const bool emit = (shared.query.flags & kFlagEmit) != 0;
    uint32_t count = 0;
    if (!emit || b.split == 0) {
        count = b.all && b.numDense < b.numTerms ? fastpath_count_probes(b, emit) : fastpath_count_words(b, emit);
    }
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
    FastpathResult* r = search.results + shared.query.result;
    r->count = total;
    __threadfence_system();
    if (search.launch != 0) {
        st_relaxed_system(&r->done, search.launch);
    }
}
