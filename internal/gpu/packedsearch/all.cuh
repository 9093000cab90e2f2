/* All lists: groups of candidates, looked up in each list in turn. */
#pragma once

#include "../device/block_scan.cuh"
#include "../device/unpack.cuh"
#include "threshold.cuh"

constexpr uint32_t kNone = 0xffffffffU; /* no document, no posting */
constexpr uint32_t kDead = 0x80000000U; /* of a block number: the candidate is not in the block */

/* Shared memory for a group; candidate i has the words [i]. */
struct PackedAll {
    PackedShared common;
    uint32_t sums[32];              /* of scans */
    uint32_t borders[kMaxLists][2]; /* possible blocks of the group's first and last candidate */
    uint32_t items[kMaxGroup + 1];  /* first candidate of each block that has candidates */
    uint32_t blocks[kMaxGroup];
    /* Compacted when candidates are removed. */
    uint32_t docIDs[kMaxGroup];
    uint32_t scores[kMaxGroup];
    uint32_t bounds[kMaxGroup];             /* of the whole score */
    uint32_t postings[kPending][kMaxGroup]; /* in the pending lists */
    uint32_t decoded[kNumWarps][decodeBlockLen];
};

struct PackedGroup {
    PackedBlock b;
    PackedAll* shared;
    uint32_t first;      /* index of the first candidate */
    uint32_t n;          /* remaining candidates */
    uint32_t list;       /* next list */
    uint32_t numPending; /* lists before it whose contributions are not yet in the scores */
    bool prune;          /* remove candidates below the threshold */
};

/* Keeps the candidates c with keep(c). A thread has candidates 2*threadIdx.x and the next. By all threads; ends with a
 * barrier. */
template <class Keep>
__device__ __forceinline__ void packedsearch_keep(PackedGroup& g, Keep keep) {
    PackedAll& s = *g.shared;
    bool kept[2];
    uint32_t words[2][3 + kPending];
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
        const uint32_t c = 2 * threadIdx.x + j;
        kept[j] = c < g.n && keep(c);
        if (kept[j]) {
            words[j][0] = s.docIDs[c];
            words[j][1] = s.scores[c];
            words[j][2] = s.bounds[c];
#pragma unroll
            for (uint32_t p = 0; p < kPending; p++) {
                if (p < g.numPending) {
                    words[j][3 + p] = s.postings[p][c];
                }
            }
        }
    }
    uint32_t total = 0;
    uint32_t at = block_exclusive_sum<uint32_t>((kept[0] ? 1 : 0) + (kept[1] ? 1 : 0), total, s.sums); /* barriers */
    if (total == g.n) {
        return;
    }
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
        if (kept[j]) {
            s.docIDs[at] = words[j][0];
            s.scores[at] = words[j][1];
            s.bounds[at] = words[j][2];
#pragma unroll
            for (uint32_t p = 0; p < kPending; p++) {
                if (p < g.numPending) {
                    s.postings[p][at] = words[j][3 + p];
                }
            }
            at++;
        }
    }
    g.n = total;
    __syncthreads();
}

/* Keeps candidates that are not kNone, are live, pass the filter and can reach the threshold. By all threads; ends with
 * a barrier. */
__device__ __forceinline__ void packedsearch_keep_live(PackedGroup& g) {
    const uint32_t* live = g.b.shared->search.live;
    const uint32_t* filter = g.b.shared->search.filter;
    const uint32_t theta = packedsearch_theta(g.b);
    packedsearch_keep(g, [&](uint32_t c) {
        const uint32_t docID = g.shared->docIDs[c];
        if (docID == kNone || (g.prune && g.shared->bounds[c] < theta)) {
            return false;
        }
        if (filter != nullptr && (__ldg(filter + docID / 32) >> docID % 32 & 1) == 0) {
            return false;
        }
        return live == nullptr || (__ldg(live + docID / 32) >> docID % 32 & 1) != 0;
    });
}

/* Sum of the bounds of lists [from, numLists). */
__device__ __forceinline__ uint32_t packedsearch_rest(const PackedGroup& g, uint32_t from) {
    const PackedSearch& q = g.b.shared->search;
    uint32_t rest = 0;
    for (uint32_t t = from; t < q.numLists; t++) {
        rest += q.lists[t].maxScore;
    }
    return rest;
}

/* Reads a group of initial candidates. By all threads; ends with a barrier. */
__device__ __forceinline__ void packedsearch_begin_from(PackedGroup& g) {
    const PackedSearch& q = g.b.shared->search;
    const uint32_t rest = packedsearch_rest(g, 0);
    for (uint32_t c = threadIdx.x; c < g.n; c += kThreads) {
        const uint32_t score = __ldg(q.fromScores + g.first + c);
        g.shared->docIDs[c] = __ldg(q.fromDocIDs + g.first + c);
        g.shared->scores[c] = score;
        g.shared->bounds[c] = score + rest;
    }
    g.list = 0;
    g.numPending = 0;
    __syncthreads();
}

/* Reads a group of postings of the first list, without blocks that cannot reach the threshold. By all threads; ends
 * with a barrier. */
__device__ __forceinline__ void packedsearch_begin_list(PackedGroup& g) {
    PackedAll& s = *g.shared;
    const PackedBlock& b = g.b;
    const PackedList& list = b.shared->search.lists[0];
    const uint32_t rest = packedsearch_rest(g, 1), theta = packedsearch_theta(b);
    for (uint32_t c = threadIdx.x; c < g.n; c += kThreads) {
        s.docIDs[c] = kNone;
        s.scores[c] = 0;
        s.postings[0][c] = g.first + c;
    }
    __syncthreads();
    const uint32_t block = g.first / decodeBlockLen + b.lane * kNumWarps + b.warp;
    DecodeWork work = {0, make_uint4(0, 0, 0, 0), 0};
    uint32_t bound = 0;
    bool needed = block * decodeBlockLen < g.first + g.n;
    if (needed) {
        work.payload = reinterpret_cast<uint64_t>(list.payload);
        work.entry = __ldg(list.directory + block);
        work.n = packedsearch_size(list, block);
        bound = packedsearch_bound(list, work.entry.w) + rest;
        needed = !g.prune || bound >= theta;
    }
    const uint32_t mask = __ballot_sync(kAll, needed);
    packedsearch_worked(b, kBlocks, static_cast<uint32_t>(__popc(mask)));
    const uint32_t numQuads = decode_staged_blocks<false, kInFlight>(
        b.shared->staging[b.warp], mask, work, [&](int owner, uint4 docIDs, uint4, uint32_t n) {
            const uint32_t base = __shfl_sync(kAll, block, owner) * decodeBlockLen + 4 * b.lane;
            const uint32_t most = __shfl_sync(kAll, bound, owner);
            const uint32_t values[4] = {docIDs.x, docIDs.y, docIDs.z, docIDs.w};
#pragma unroll
            for (uint32_t j = 0; j < 4; j++) {
                const uint32_t c = base + j - g.first; /* wraps for postings before the group */
                if (4 * b.lane + j < n && c < g.n) {
                    s.docIDs[c] = values[j];
                    s.bounds[c] = most;
                }
            }
        });
    packedsearch_worked(b, kQuads, numQuads);
    g.list = 1;
    g.numPending = 1;
    __syncthreads();
}

/* First block of [from, to) whose last DocID is at least docID, or to. */
__device__ __forceinline__ uint32_t packedsearch_block_of(const PackedList& list, uint32_t from, uint32_t to,
                                                          uint32_t docID) {
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (packedsearch_last(list, middle) < docID) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* For the next lists, one border per warp. By all threads; ends with a barrier. */
__device__ __forceinline__ void packedsearch_borders(const PackedGroup& g) {
    PackedAll& s = *g.shared;
    const PackedSearch& q = g.b.shared->search;
    for (uint32_t i = g.b.warp; i < 2 * (q.numLists - g.list); i += kNumWarps) {
        const uint32_t border = packedsearch_find(q.lists[g.list + i / 2], s.docIDs[i % 2 == 0 ? 0 : g.n - 1]);
        if (g.b.lane == 0) {
            s.borders[g.list + i / 2][i % 2] = border;
        }
    }
    __syncthreads();
}

/* The block that can contain a candidate, given the last DocIDs of every stride-th block between the borders. */
__device__ __forceinline__ uint32_t packedsearch_sampled(const PackedGroup& g, const PackedList& list,
                                                         uint32_t numSamples, uint32_t stride, uint32_t docID) {
    const uint32_t* samples = g.shared->items;
    const uint32_t first = g.shared->borders[g.list][0], end = g.shared->borders[g.list][1];
    uint32_t from = 0, to = numSamples;
    while (from < to) {
        const uint32_t middle = (from + to) / 2;
        if (samples[middle] < docID) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    if (from == numSamples) {
        return end;
    }
    from = first + from * stride;
    return packedsearch_block_of(list, from, min(from + stride, end) - 1, docID);
}

/* Finds each candidate's block in the directory, and sets items; returns their number. By all threads; ends with a
 * barrier. */
__device__ __forceinline__ uint32_t packedsearch_list_blocks(PackedGroup& g, const PackedList& list) {
    PackedAll& s = *g.shared;
    const uint32_t first = s.borders[g.list][0], size = s.borders[g.list][1] - first;
    const uint32_t stride = max((size + kMaxGroup - 1) / kMaxGroup, 1U), numSamples = (size + stride - 1) / stride;
    for (uint32_t i = threadIdx.x; i < numSamples; i += kThreads) {
        s.items[i] = packedsearch_last(list, first + min((i + 1) * stride, size) - 1);
    }
    __syncthreads();
    const uint32_t theta = packedsearch_theta(g.b);
    for (uint32_t c = threadIdx.x; c < g.n; c += kThreads) {
        const uint32_t docID = s.docIDs[c];
        const uint32_t block = packedsearch_sampled(g, list, numSamples, stride, docID);
        bool alive = block < list.numBlocks;
        if (alive) {
            const uint4 entry = __ldg(list.directory + block);
            const uint32_t bound = s.bounds[c] - list.maxScore + packedsearch_bound(list, entry.w);
            s.bounds[c] = bound;
            alive = entry.x <= docID && (!g.prune || bound >= theta);
        }
        s.blocks[c] = alive ? block : block | kDead;
        s.postings[g.numPending][c] = kNone;
    }
    __syncthreads();
    bool leads[2];
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
        const uint32_t c = 2 * threadIdx.x + j;
        leads[j] = c < g.n && (c == 0 || ((s.blocks[c] ^ s.blocks[c - 1]) & ~kDead) != 0);
    }
    uint32_t total = 0;
    uint32_t at = block_exclusive_sum<uint32_t>((leads[0] ? 1 : 0) + (leads[1] ? 1 : 0), total, s.sums);
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
        if (leads[j]) {
            s.items[at++] = 2 * threadIdx.x + j;
        }
    }
    if (threadIdx.x == 0) {
        s.items[total] = g.n;
    }
    __syncthreads();
    return total;
}

/* Looks up candidates [from, to) in the warp's decoded block. By a warp. */
__device__ __forceinline__ void packedsearch_match(const PackedGroup& g, uint32_t from, uint32_t to, uint32_t block,
                                                   uint32_t n) {
    PackedAll& s = *g.shared;
    const uint32_t* docIDs = s.decoded[g.b.warp];
    for (uint32_t c = from + g.b.lane; c < to; c += 32) {
        if ((s.blocks[c] & kDead) != 0) {
            continue;
        }
        const uint32_t docID = s.docIDs[c];
        uint32_t low = 0, high = n;
        while (low < high) {
            const uint32_t middle = (low + high) / 2;
            if (docIDs[middle] < docID) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < n && docIDs[low] == docID) {
            s.postings[g.numPending][c] = block * decodeBlockLen + low;
        }
    }
}

/* By all threads; ends with a barrier. */
__device__ __forceinline__ void packedsearch_intersect(PackedGroup& g) {
    PackedAll& s = *g.shared;
    const PackedBlock& b = g.b;
    const PackedList& list = b.shared->search.lists[g.list];
    const uint32_t total = packedsearch_list_blocks(g, list);
    uint32_t numBlocks = 0, numQuads = 0;
    for (uint32_t first = 0; first < total; first += kThreads) {
        const uint32_t item = first + b.lane * kNumWarps + b.warp;
        uint32_t from = 0, to = 0, block = 0;
        bool needed = false;
        DecodeWork work = {0, make_uint4(0, 0, 0, 0), 0};
        if (item < total) {
            from = s.items[item];
            to = s.items[item + 1];
            block = s.blocks[from] & ~kDead;
            for (uint32_t c = from; c < to && !needed; c++) {
                needed = (s.blocks[c] & kDead) == 0;
            }
        }
        if (needed) {
            work.payload = reinterpret_cast<uint64_t>(list.payload);
            work.entry = __ldg(list.directory + block);
            work.n = packedsearch_size(list, block);
        }
        const uint32_t mask = __ballot_sync(kAll, needed);
        numBlocks += static_cast<uint32_t>(__popc(mask));
        numQuads += decode_staged_blocks<false, kInFlight>(
            b.shared->staging[b.warp], mask, work, [&](int owner, uint4 docIDs, uint4, uint32_t n) {
                reinterpret_cast<uint4*>(s.decoded[b.warp])[b.lane] = docIDs;
                __syncwarp();
                packedsearch_match(g, __shfl_sync(kAll, from, owner), __shfl_sync(kAll, to, owner),
                                   __shfl_sync(kAll, block, owner), n);
                __syncwarp();
            });
    }
    packedsearch_worked(b, kBlocks, numBlocks);
    packedsearch_worked(b, kQuads, numQuads);
    g.list++;
    const uint32_t* found = s.postings[g.numPending++];
    __syncthreads();
    packedsearch_keep(g, [&](uint32_t c) { return found[c] != kNone; });
}

/* Adds the contributions of the pending lists, and reads only the needed frequencies. By all threads; ends with a
 * barrier. */
__device__ __forceinline__ void packedsearch_settle(PackedGroup& g) {
    PackedAll& s = *g.shared;
    const PackedList* lists = g.b.shared->search.lists + g.list - g.numPending;
    for (uint32_t c = threadIdx.x; c < g.n; c += kThreads) {
        uint2 entries[kPending]; /* offset, widths */
        uint32_t freqs[kPending], lengths[kPending];
        const uint32_t docID = s.docIDs[c];
#pragma unroll
        for (uint32_t p = 0; p < kPending; p++) {
            if (p < g.numPending) {
                const uint4 entry = __ldg(lists[p].directory + s.postings[p][c] / decodeBlockLen);
                entries[p] = make_uint2(entry.z, entry.w);
                lengths[p] = lists[p].score.linear == 0 ? __ldg(lists[p].lengths + docID) : 0;
            }
        }
#pragma unroll
        for (uint32_t p = 0; p < kPending; p++) {
            if (p < g.numPending) {
                const uint32_t posting = s.postings[p][c];
                const uint32_t n = packedsearch_size(lists[p], posting / decodeBlockLen),
                               width = decode_freq_width(entries[p].y);
                const uint64_t bytes = uint64_t{entries[p].x} + decode_packed_size(n, decode_doc_width(entries[p].y));
                freqs[p] = unpack_at(reinterpret_cast<const uint32_t*>(lists[p].payload),
                                     8 * bytes + posting % decodeBlockLen * width, width);
            }
        }
        uint32_t score = s.scores[c];
#pragma unroll
        for (uint32_t p = 0; p < kPending; p++) {
            if (p < g.numPending) {
                score += bm25_contribution(lists[p].score, freqs[p] + 1, lengths[p]);
            }
        }
        s.scores[c] = score;
    }
    g.numPending = 0;
    __syncthreads();
}

/* Adds the remaining candidates to the hits, the count or the output. By all threads; ends with a barrier. */
__device__ __forceinline__ void packedsearch_deliver(PackedGroup& g, uint32_t number) {
    PackedAll& s = *g.shared;
    const PackedSearch& q = g.b.shared->search;
    if (q.outDocIDs != nullptr) {
        for (uint32_t c = threadIdx.x; c < g.n; c += kThreads) {
            q.outDocIDs[number * q.groupSize + c] = s.docIDs[c];
            q.outScores[number * q.groupSize + c] = s.scores[c];
        }
        if (threadIdx.x == 0) {
            q.outCounts[number] = g.n;
        }
    }
    if (threadIdx.x == 0 && g.n > 0) {
        atomicAdd(&g.b.shared->count, g.n);
        atomicAdd(g.b.shared->work + kRanges, 1ULL);
    }
    if (q.k == 0 || g.n == 0) {
        __syncthreads();
        return;
    }
    bool some = false;
    for (uint32_t c = threadIdx.x; c < g.n; c += kThreads) {
        some = packedsearch_count_score(g.b, s.scores[c]) || some;
    }
    uint32_t c = threadIdx.x;
    packedsearch_offer_all(g.b, some, [&]() -> uint64_t {
        for (; c < g.n; c += kThreads) {
            if (s.scores[c] >= packedsearch_theta(g.b)) {
                const uint64_t key = hit_key(s.scores[c], s.docIDs[c]);
                c += kThreads;
                return key;
            }
        }
        return 0;
    });
}

/* By all threads. */
__device__ __forceinline__ void packedsearch_search_all(const PackedSearch& p) {
    __shared__ PackedAll shared;
    PackedGroup g;
    packedsearch_begin(g.b, shared.common, p);
    g.shared = &shared;
    const PackedSearch& q = shared.common.search;
    g.prune = q.k > 0 && (q.flags & kFlagCount) == 0;
    const bool score = (q.flags & kFlagScore) != 0;
    for (uint32_t number = blockIdx.x; number < q.numGroups; number += gridDim.x) {
        g.first = number * q.groupSize;
        g.n = min(q.groupSize, q.numFrom - g.first);
        if (g.prune) {
            packedsearch_hear(g.b);
            __syncthreads();
        }
        if (q.fromDocIDs != nullptr) {
            packedsearch_begin_from(g);
        } else {
            packedsearch_begin_list(g);
        }
        packedsearch_keep_live(g);
        if (g.n > 0) {
            packedsearch_borders(g);
        }
        while (g.n > 0) {
            if (g.numPending == kPending || g.list == q.numLists) {
                if (score && g.numPending > 0) {
                    packedsearch_settle(g);
                }
                g.numPending = 0;
            }
            if (g.list == q.numLists) {
                break;
            }
            packedsearch_intersect(g);
        }
        packedsearch_deliver(g, number);
    }
    packedsearch_end(g.b);
}
