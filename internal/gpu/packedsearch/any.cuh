/* Any list: ranges of DocIDs, with a sum per document in shared memory. */
#pragma once

#include "threshold.cuh"

static_assert(kRangeDocs == 32 * kThreads, "a word of bits a thread");

/* Blocks that overlap a range. */
struct PackedReach {
    uint32_t start; /* first block */
    uint32_t count;
    uint32_t bound; /* maximum of their bounds */
};

/* Shared memory for kChunk ranges. */
struct PackedAny {
    PackedShared common;
    PackedReach reach[kChunk][kMaxLists];
    uint32_t ends[2][kMaxLists]; /* inclusive sums of counts: essential lists, others */
    __align__(16) uint32_t bits[kRangeDocs / 32];
};

struct PackedRange {
    PackedBlock b;
    PackedAny* shared;
    uint32_t* sums;           /* [kRangeDocs] */
    const PackedReach* reach; /* of each list */
    uint32_t start;           /* first DocID */
    uint32_t goal;            /* threshold at the start of the range, the same in all threads */
    uint32_t numLists;
};

/* Sets reach for numRanges ranges: one list per warp; finally, one range per lane. By all threads; begins and ends with
 * a barrier. */
__device__ __forceinline__ void packedsearch_chunk(const PackedRange& r, uint32_t numRanges) {
    const PackedBlock& b = r.b;
    __syncthreads();
    for (uint32_t t = b.warp; t < r.numLists; t += kNumWarps) {
        const PackedList& list = b.shared->search.lists[t];
        uint32_t from = packedsearch_find(list, r.start);
        PackedReach reach = {0, 0, 0};
        for (bool more = true; more; from += 32) {
            const bool is = from + b.lane < list.numBlocks;
            const uint4 entry = is ? __ldg(list.directory + from + b.lane) : make_uint4(0, 0, 0, 0);
            const uint32_t first = entry.x < r.start ? 0 : (entry.x - r.start) / kRangeDocs;
            const uint32_t last = (entry.y - r.start) / kRangeDocs;
            for (uint32_t i = 0; i < numRanges; i++) {
                const bool in = is && first <= i && i <= last;
                const uint32_t found = __ballot_sync(kAll, in);
                const uint32_t bound = __reduce_max_sync(kAll, in ? entry.w & 0xffff : 0);
                if (found != 0 && b.lane == i) {
                    reach.start = reach.count == 0 ? from + static_cast<uint32_t>(__ffs(found)) - 1 : reach.start;
                    reach.count += static_cast<uint32_t>(__popc(found));
                    reach.bound = max(reach.bound, bound);
                }
            }
            more = __all_sync(kAll, is && first < numRanges) != 0;
        }
        if (b.lane < numRanges) {
            reach.bound = reach.count > 0 ? packedsearch_bound(list, reach.bound) : 0;
            r.shared->reach[b.lane][t] = reach;
        }
    }
    if (b.warp == kNumWarps - 1) {
        packedsearch_hear(b);
    }
    __syncthreads();
}

__device__ __forceinline__ bool packedsearch_worthwhile(const PackedRange& r) {
    uint32_t all = 0, most = 0;
    for (uint32_t t = 0; t < r.numLists; t++) { /* the same in all threads */
        all += r.reach[t].bound;
        most = max(most, r.reach[t].count);
    }
    return most > 0 && all >= r.goal;
}

/* Partitions the lists that overlap the range into essential and others: a document that is only in others cannot reach
 * the goal. Returns the sum of the others' bounds. By all threads; ends with a barrier. */
__device__ __forceinline__ uint32_t packedsearch_part_lists(const PackedRange& r) {
    PackedAny& s = *r.shared;
    if (r.b.warp == 0) {
        uint32_t ends[2] = {0, 0};
        for (uint32_t first = 0; first < r.numLists; first += 32) {
            const uint32_t t = first + r.b.lane;
            const bool is = t < r.numLists;
            const uint32_t own = is ? r.reach[t].bound : 0, count = is ? r.reach[t].count : 0;
            uint32_t upTo = 0; /* sum of the bounds of the lists up to t, by rising bound */
            for (uint32_t u = 0; u < r.numLists; u++) {
                const uint32_t bound = r.reach[u].bound;
                upTo += bound < own || (bound == own && u <= t) ? bound : 0;
            }
            const bool essential = upTo >= r.goal;
            const uint32_t sums[2] = {ends[0] + warp_inclusive_sum(essential ? count : 0),
                                      ends[1] + warp_inclusive_sum(essential ? 0 : count)};
            if (is) {
                s.ends[0][t] = sums[0];
                s.ends[1][t] = sums[1];
            }
            ends[0] = __shfl_sync(kAll, sums[0], 31);
            ends[1] = __shfl_sync(kAll, sums[1], 31);
        }
    }
    __syncthreads();
    uint32_t rest = 0;
    for (uint32_t t = 0; t < r.numLists; t++) {
        const uint32_t before = t > 0 ? s.ends[1][t - 1] : 0;
        rest += s.ends[1][t] > before ? r.reach[t].bound : 0;
    }
    return rest;
}

/* Whether the bit of any document in [first, last] is set. */
__device__ __forceinline__ bool packedsearch_any_bit(const PackedRange& r, uint32_t first, uint32_t last) {
    const uint32_t from = first < r.start ? 0 : first - r.start;
    const uint32_t to = min(last - r.start, kRangeDocs - 1);
    for (uint32_t w = from / 32; w <= to / 32; w++) {
        uint32_t bits = r.shared->bits[w];
        if (w == from / 32) {
            bits &= kAll << from % 32;
        }
        if (w == to / 32) {
            bits &= kAll >> (31 - to % 32);
        }
        if (bits != 0) {
            return true;
        }
    }
    return false;
}

/* Adds the contributions of four postings per lane to the sums; others: only of documents whose bit is set. Otherwise,
 * sets the bits of documents with a contribution of 0, or of all if mark. By a warp. */
template <bool others>
__device__ __forceinline__ void packedsearch_add(const PackedRange& r, const PackedList& list, uint4 docIDs,
                                                 uint4 freqs, uint32_t n, bool mark) {
    const uint32_t at[4] = {docIDs.x - r.start, docIDs.y - r.start, docIDs.z - r.start, docIDs.w - r.start};
    const uint32_t freq[4] = {freqs.x, freqs.y, freqs.z, freqs.w};
    uint32_t lengths[4];
    bool in[4];
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        in[j] = 4 * r.b.lane + j < n && at[j] < kRangeDocs;
        if constexpr (others) {
            in[j] = in[j] && (r.shared->bits[at[j] / 32] >> at[j] % 32 & 1) != 0;
        }
        lengths[j] = in[j] && list.score.linear == 0 ? __ldg(list.lengths + r.start + at[j]) : 0;
    }
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        if (in[j]) {
            const uint32_t contribution = bm25_contribution(list.score, freq[j], lengths[j]);
            if (contribution != 0) {
                atomicAdd(r.sums + at[j], contribution);
            }
            if (!others && (mark || contribution == 0)) {
                atomicOr(r.shared->bits + at[j] / 32, 1U << at[j] % 32);
            }
        }
    }
}

/* Four postings per lane. By a warp. */
__device__ __forceinline__ void packedsearch_mark(const PackedRange& r, uint4 docIDs, uint32_t n) {
    const uint32_t at[4] = {docIDs.x - r.start, docIDs.y - r.start, docIDs.z - r.start, docIDs.w - r.start};
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        if (4 * r.b.lane + j < n && at[j] < kRangeDocs) {
            atomicOr(r.shared->bits + at[j] / 32, 1U << at[j] % 32);
        }
    }
}

/* Decodes the blocks of the essential lists or, of the others, the blocks that can contain a document whose bit is set:
 * each lane checks a block, then the warp decodes. scored: adds contributions; otherwise only sets bits. By all
 * threads, without a barrier. */
template <bool scored, bool others>
__device__ __forceinline__ void packedsearch_range_pass(const PackedRange& r) {
    const PackedBlock& b = r.b;
    const uint32_t* ends = r.shared->ends[others ? 1 : 0];
    const uint32_t total = ends[r.numLists - 1];
    const bool mark = (b.shared->search.flags & kFlagCount) != 0;
    uint32_t numBlocks = 0, numQuads = 0;
    for (uint32_t first = 0; first < total; first += kThreads) {
        const uint32_t item = first + b.lane * kNumWarps + b.warp;
        uint32_t t = 0;
        bool needed = item < total;
        DecodeWork work = {0, make_uint4(0, 0, 0, 0), 0};
        if (needed) {
            while (ends[t] <= item) {
                t++;
            }
            const PackedList& list = b.shared->search.lists[t];
            const uint32_t block = r.reach[t].start + item - (t > 0 ? ends[t - 1] : 0);
            work.payload = reinterpret_cast<uint64_t>(list.payload);
            work.entry = __ldg(list.directory + block);
            work.n = packedsearch_size(list, block);
            if constexpr (others) {
                needed = packedsearch_any_bit(r, work.entry.x, work.entry.y);
            }
        }
        const uint32_t mask = __ballot_sync(kAll, needed);
        numBlocks += static_cast<uint32_t>(__popc(mask));
        numQuads += decode_staged_blocks<scored, kInFlight>(
            b.shared->staging[b.warp], mask, work, [&](int owner, uint4 docIDs, uint4 freqs, uint32_t n) {
                if constexpr (scored) {
                    const PackedList& list = b.shared->search.lists[__shfl_sync(kAll, t, owner)];
                    packedsearch_add<others>(r, list, docIDs, freqs, n, mark);
                } else {
                    packedsearch_mark(r, docIDs, n);
                }
            });
    }
    packedsearch_worked(b, kBlocks, numBlocks);
    packedsearch_worked(b, kQuads, numQuads);
}

/* Sets the bits of the documents of the essential lists that can reach the goal, and clears the others; returns whether
 * any is set. A lane has four documents, eight lanes a word. By all threads; ends with a barrier. */
template <bool scored>
__device__ __forceinline__ bool packedsearch_candidates(const PackedRange& r, uint32_t rest) {
    const PackedBlock& b = r.b;
    const PackedSearch& q = b.shared->search;
    const uint32_t numWords = (q.numDocs + 31) / 32;
    uint32_t numMatches = 0, some = 0;
    for (uint32_t i = threadIdx.x; i < kRangeDocs / 4; i += kThreads) {
        const uint32_t w = i / 8, shift = i % 8 * 4;
        uint32_t matches = 0, candidates = 0;
        if constexpr (scored) {
            const uint4 sums = reinterpret_cast<const uint4*>(r.sums)[i];
            const uint32_t most = max(max(sums.x, sums.y), max(sums.z, sums.w));
            if (r.goal > 0 && __any_sync(kAll, most + rest >= r.goal) == 0) { /* rest is less than the goal */
                if (shift == 0) {
                    r.shared->bits[w] = 0;
                }
                continue;
            }
            matches = (sums.x != 0 ? 1 : 0) | (sums.y != 0 ? 2 : 0) | (sums.z != 0 ? 4 : 0) | (sums.w != 0 ? 8 : 0);
            matches |= r.shared->bits[w] >> shift & 0xf;
            candidates = (sums.x + rest >= r.goal ? 1 : 0) | (sums.y + rest >= r.goal ? 2 : 0) |
                         (sums.z + rest >= r.goal ? 4 : 0) | (sums.w + rest >= r.goal ? 8 : 0);
            candidates &= matches;
        } else {
            matches = r.shared->bits[w] >> shift & 0xf;
            candidates = matches;
        }
        if (matches != 0 && (q.live != nullptr || q.filter != nullptr)) {
            const uint32_t word = r.start / 32 + w;
            uint32_t allowed = word < numWords ? kAll : 0;
            if (q.live != nullptr && allowed != 0) {
                allowed = __ldg(q.live + word);
            }
            if (q.filter != nullptr && allowed != 0) {
                allowed &= __ldg(q.filter + word);
            }
            allowed = allowed >> shift & 0xf;
            matches &= allowed;
            candidates &= allowed;
        }
        numMatches += static_cast<uint32_t>(__popc(matches));
        candidates <<= shift;
#pragma unroll
        for (int d = 1; d < 8; d *= 2) {
            candidates |= __shfl_xor_sync(kAll, candidates, d);
        }
        some |= candidates;
        __syncwarp(); /* all eight have read the word */
        if (shift == 0) {
            r.shared->bits[w] = candidates;
        }
    }
    if ((q.flags & kFlagCount) != 0) {
        numMatches = __reduce_add_sync(kAll, numMatches);
        if (b.lane == 0 && numMatches > 0) {
            atomicAdd(&b.shared->count, numMatches);
        }
    }
    return __syncthreads_or(some != 0) != 0;
}

/* By all threads, after a barrier; ends with one. */
template <bool scored>
__device__ __forceinline__ void packedsearch_search_range(const PackedRange& r) {
    const PackedBlock& b = r.b;
    if constexpr (scored) {
        auto* quads = reinterpret_cast<uint4*>(r.sums);
        for (uint32_t i = threadIdx.x; i < kRangeDocs / 4; i += kThreads) {
            quads[i] = make_uint4(0, 0, 0, 0);
        }
    }
    r.shared->bits[threadIdx.x] = 0;
    const uint32_t rest = packedsearch_part_lists(r); /* a barrier */
    if (scored && b.warp == kNumWarps - 1) {          /* for the next range, while the other warps go on */
        packedsearch_hear(b);
    }
    packedsearch_range_pass<scored, false>(r);
    __syncthreads();
    if (!packedsearch_candidates<scored>(r, rest) || !scored) {
        return;
    }
    if (rest > 0) {
        packedsearch_range_pass<scored, true>(r);
        __syncthreads();
    }
    const uint32_t first = threadIdx.x * 32;
    uint32_t bits = 0; /* of documents whose score reaches the threshold */
    for (uint32_t left = r.shared->bits[threadIdx.x]; left != 0; left &= left - 1) {
        const uint32_t i = static_cast<uint32_t>(__ffs(left)) - 1;
        bits |= packedsearch_count_score(b, r.sums[first + i]) ? 1U << i : 0;
    }
    packedsearch_offer_all(b, bits != 0, [&]() -> uint64_t {
        if (bits == 0) {
            return 0;
        }
        const uint32_t at = first + static_cast<uint32_t>(__ffs(bits)) - 1;
        bits &= bits - 1;
        return hit_key(r.sums[at], r.start + at);
    });
    if (threadIdx.x == 0) {
        atomicAdd(b.shared->work + kRanges, 1ULL);
    }
}

/* A block of threads processes groupSize consecutive ranges. By all threads. */
template <bool scored>
__device__ __forceinline__ void packedsearch_search_any(const PackedSearch& p) {
    __shared__ PackedAny shared;
    PackedRange r;
    packedsearch_begin(r.b, shared.common, p);
    const PackedSearch& q = shared.common.search;
    const bool prune = q.k > 0 && (q.flags & kFlagCount) == 0;
    r.shared = &shared;
    r.sums = reinterpret_cast<uint32_t*>(r.b.keys + q.capacity);
    r.numLists = q.numLists;
    const uint32_t end = min((blockIdx.x + 1) * q.groupSize, q.numGroups);
    for (uint32_t first = blockIdx.x * q.groupSize; first < end; first += kChunk) {
        const uint32_t numRanges = min(kChunk, end - first);
        r.start = first * kRangeDocs;
        packedsearch_chunk(r, numRanges);
        for (uint32_t i = 0; i < numRanges; i++) {
            r.start = (first + i) * kRangeDocs;
            r.reach = shared.reach[i];
            r.goal = prune ? packedsearch_theta(r.b) : 0; /* constant until the next barrier */
            if (packedsearch_worthwhile(r)) {
                packedsearch_search_range<scored>(r);
            }
        }
    }
    packedsearch_end(r.b);
}
