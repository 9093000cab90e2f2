/* Documents that are in all lists: groups of candidates, looked up in one list after the other. */
#pragma once

#include "../device/block_scan.cuh"
#include "../device/unpack.cuh"
#include "threshold.cuh"

constexpr uint32_t kNone = 0xffffffffU; /* no document, no posting */
constexpr uint32_t kDead = 0x80000000U; /* of a block number: the candidate is not in the block */

/* What the threads of a block share of a group. Words of candidate i are at [i]. */
struct DirectAll {
    DirectShared common;
    uint32_t sums[32];              /* of scans */
    uint32_t borders[kMaxLists][2]; /* blocks that the group's first and last candidate may be in */
    uint32_t items[kMaxGroup + 1];  /* the first candidate of each block that there are any of */
    uint32_t blocks[kMaxGroup];
    /* What is kept when candidates drop out. */
    uint32_t docIDs[kMaxGroup];
    uint32_t scores[kMaxGroup];
    uint32_t bounds[kMaxGroup];             /* of the whole score */
    uint32_t postings[kPending][kMaxGroup]; /* in lists whose contributions are not in the scores yet */
    uint32_t decoded[kNumWarps][decodeBlockLen];
};

/* A block's view of a group. */
struct DirectGroup {
    DirectBlock b;
    DirectAll* shared;
    uint32_t first;      /* number of the first candidate */
    uint32_t n;          /* candidates that are left */
    uint32_t list;       /* to be looked at next */
    uint32_t numPending; /* lists before it whose contributions are not in the scores yet */
    bool prune;          /* candidates that cannot be among the best drop out */
};

/* Keeps those candidates that keep says. Each thread has two, 2*threadIdx.x and the next. By all threads; ends with a
 * barrier. */
template <class Keep>
__device__ __forceinline__ void direct_keep(DirectGroup& g, Keep keep) {
    DirectAll& s = *g.shared;
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

/* Keeps the candidates that there are, are live and can reach the threshold. */
__device__ __forceinline__ void direct_keep_live(DirectGroup& g) {
    const uint32_t* live = g.b.shared->search.live;
    const uint32_t theta = direct_theta(g.b);
    direct_keep(g, [&](uint32_t c) {
        const uint32_t docID = g.shared->docIDs[c];
        if (docID == kNone || (g.prune && g.shared->bounds[c] < theta)) {
            return false;
        }
        return live == nullptr || (__ldg(live + docID / 32) >> docID % 32 & 1) != 0;
    });
}

/* The sum of the bounds of the lists from one on. */
__device__ __forceinline__ uint32_t direct_rest(const DirectGroup& g, uint32_t from) {
    const DirectSearch& q = g.b.shared->search;
    uint32_t rest = 0;
    for (uint32_t t = from; t < q.numLists; t++) {
        rest += q.lists[t].maxScore;
    }
    return rest;
}

/* Begins with candidates. Ends with a barrier. */
__device__ __forceinline__ void direct_begin_from(DirectGroup& g) {
    const DirectSearch& q = g.b.shared->search;
    const uint32_t rest = direct_rest(g, 0);
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

/* Begins with postings of the first list, whose blocks are not read if they cannot reach the threshold. Ends with a
 * barrier. */
__device__ __forceinline__ void direct_begin_list(DirectGroup& g) {
    DirectAll& s = *g.shared;
    const DirectBlock& b = g.b;
    const DirectList& list = b.shared->search.lists[0];
    const uint32_t rest = direct_rest(g, 1), theta = direct_theta(b);
    for (uint32_t c = threadIdx.x; c < g.n; c += kThreads) {
        s.docIDs[c] = kNone;
        s.scores[c] = 0;
        s.postings[0][c] = g.first + c;
    }
    __syncthreads();
    const uint32_t block = g.first / decodeBlockLen + b.lane * kNumWarps + b.warp;
    DirectWork work = {0, make_uint4(0, 0, 0, 0), 0};
    uint32_t bound = 0;
    bool needed = block * decodeBlockLen < g.first + g.n;
    if (needed) {
        work.payload = reinterpret_cast<uint64_t>(list.payload);
        work.entry = __ldg(list.directory + block);
        work.n = direct_size(list, block);
        bound = direct_bound(list, work.entry.w) + rest;
        needed = !g.prune || bound >= theta;
    }
    const uint32_t mask = __ballot_sync(kAll, needed);
    direct_worked(b, kBlocks, static_cast<uint32_t>(__popc(mask)));
    const uint32_t numQuads =
        direct_blocks<false>(b.shared->staging[b.warp], mask, work, [&](int owner, uint4 docIDs, uint4, uint32_t n) {
            const uint32_t base = __shfl_sync(kAll, block, owner) * decodeBlockLen + 4 * b.lane;
            const uint32_t most = __shfl_sync(kAll, bound, owner);
            const uint32_t values[4] = {docIDs.x, docIDs.y, docIDs.z, docIDs.w};
#pragma unroll
            for (uint32_t j = 0; j < 4; j++) {
                const uint32_t c = base + j - g.first; /* of postings before the group: a great number */
                if (4 * b.lane + j < n && c < g.n) {
                    s.docIDs[c] = values[j];
                    s.bounds[c] = most;
                }
            }
        });
    direct_worked(b, kQuads, numQuads);
    g.list = 1;
    g.numPending = 1;
    __syncthreads();
}

/* The first block of [from, to) whose last DocID is at least docID, or to. */
__device__ __forceinline__ uint32_t direct_block_of(const DirectList& list, uint32_t from, uint32_t to,
                                                    uint32_t docID) {
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (direct_last(list, middle) < docID) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* Finds between which blocks of the lists to come the candidates lie: a warp a border. Ends with a barrier. */
__device__ __forceinline__ void direct_borders(const DirectGroup& g) {
    DirectAll& s = *g.shared;
    const DirectSearch& q = g.b.shared->search;
    for (uint32_t i = g.b.warp; i < 2 * (q.numLists - g.list); i += kNumWarps) {
        const uint32_t border = direct_find(q.lists[g.list + i / 2], s.docIDs[i % 2 == 0 ? 0 : g.n - 1]);
        if (g.b.lane == 0) {
            s.borders[g.list + i / 2][i % 2] = border;
        }
    }
    __syncthreads();
}

/* The block of a list that a candidate may be in, given the last DocIDs of every stride-th block from one border to the
 * other. */
__device__ __forceinline__ uint32_t direct_sampled(const DirectGroup& g, const DirectList& list, uint32_t numSamples,
                                                   uint32_t stride, uint32_t docID) {
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
    return direct_block_of(list, from, min(from + stride, end) - 1, docID);
}

/* Finds the block that each candidate may be in, by the directory alone, and lists those blocks: items, of which it
 * returns the number. By all threads; ends with a barrier. */
__device__ __forceinline__ uint32_t direct_list_blocks(DirectGroup& g, const DirectList& list) {
    DirectAll& s = *g.shared;
    const uint32_t first = s.borders[g.list][0], size = s.borders[g.list][1] - first;
    const uint32_t stride = max((size + kMaxGroup - 1) / kMaxGroup, 1U), numSamples = (size + stride - 1) / stride;
    for (uint32_t i = threadIdx.x; i < numSamples; i += kThreads) {
        s.items[i] = direct_last(list, first + min((i + 1) * stride, size) - 1);
    }
    __syncthreads();
    const uint32_t theta = direct_theta(g.b);
    for (uint32_t c = threadIdx.x; c < g.n; c += kThreads) {
        const uint32_t docID = s.docIDs[c];
        const uint32_t block = direct_sampled(g, list, numSamples, stride, docID);
        bool alive = block < list.numBlocks;
        if (alive) {
            const uint4 entry = __ldg(list.directory + block);
            const uint32_t bound = s.bounds[c] - list.maxScore + direct_bound(list, entry.w);
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

/* Looks candidates [from, to) up in a block that the warp has decoded. By a warp. */
__device__ __forceinline__ void direct_match(const DirectGroup& g, uint32_t from, uint32_t to, uint32_t block,
                                             uint32_t n) {
    DirectAll& s = *g.shared;
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

/* Keeps the candidates that are in the next list. By all threads; ends with a barrier. */
__device__ __forceinline__ void direct_intersect(DirectGroup& g) {
    DirectAll& s = *g.shared;
    const DirectBlock& b = g.b;
    const DirectList& list = b.shared->search.lists[g.list];
    const uint32_t total = direct_list_blocks(g, list);
    uint32_t numBlocks = 0, numQuads = 0;
    for (uint32_t first = 0; first < total; first += kThreads) {
        const uint32_t item = first + b.lane * kNumWarps + b.warp;
        uint32_t from = 0, to = 0, block = 0;
        bool needed = false;
        DirectWork work = {0, make_uint4(0, 0, 0, 0), 0};
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
            work.n = direct_size(list, block);
        }
        const uint32_t mask = __ballot_sync(kAll, needed);
        numBlocks += static_cast<uint32_t>(__popc(mask));
        numQuads += direct_blocks<false>(
            b.shared->staging[b.warp], mask, work, [&](int owner, uint4 docIDs, uint4, uint32_t n) {
                reinterpret_cast<uint4*>(s.decoded[b.warp])[b.lane] = docIDs;
                __syncwarp();
                direct_match(g, __shfl_sync(kAll, from, owner), __shfl_sync(kAll, to, owner),
                             __shfl_sync(kAll, block, owner), n);
                __syncwarp();
            });
    }
    direct_worked(b, kBlocks, numBlocks);
    direct_worked(b, kQuads, numQuads);
    g.list++;
    const uint32_t* found = s.postings[g.numPending++];
    __syncthreads();
    direct_keep(g, [&](uint32_t c) { return found[c] != kNone; });
}

/* Adds the contributions of the pending lists, of whose frequencies it reads only those. Ends with a barrier. */
__device__ __forceinline__ void direct_settle(DirectGroup& g) {
    DirectAll& s = *g.shared;
    const DirectList* lists = g.b.shared->search.lists + g.list - g.numPending;
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
                const uint32_t n = direct_size(lists[p], posting / decodeBlockLen),
                               width = direct_freq_width(entries[p].y);
                const uint64_t bytes = uint64_t{entries[p].x} + decode_packed_size(n, direct_doc_width(entries[p].y));
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

/* Gives what is left of a group to the best hits, the count and the candidates that are wanted. By all threads; ends
 * with a barrier. */
__device__ __forceinline__ void direct_deliver(DirectGroup& g, uint32_t number) {
    DirectAll& s = *g.shared;
    const DirectSearch& q = g.b.shared->search;
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
        some = direct_count_score(g.b, s.scores[c]) || some;
    }
    uint32_t c = threadIdx.x;
    direct_offer_all(g.b, some, [&]() -> uint64_t {
        for (; c < g.n; c += kThreads) {
            if (s.scores[c] >= direct_theta(g.b)) {
                const uint64_t key = hit_key(s.scores[c], s.docIDs[c]);
                c += kThreads;
                return key;
            }
        }
        return 0;
    });
}

/* Answers a query of all lists. By all threads of a block. */
__device__ __forceinline__ void direct_search_all(const DirectSearch& p) {
    __shared__ DirectAll shared;
    DirectGroup g;
    direct_begin(g.b, shared.common, p);
    g.shared = &shared;
    const DirectSearch& q = shared.common.search;
    g.prune = q.k > 0 && (q.flags & kFlagCount) == 0;
    const bool score = (q.flags & kFlagScore) != 0;
    for (uint32_t number = blockIdx.x; number < q.numGroups; number += gridDim.x) {
        g.first = number * q.groupSize;
        g.n = min(q.groupSize, q.numFrom - g.first);
        if (g.prune) {
            direct_hear(g.b);
            __syncthreads();
        }
        if (q.fromDocIDs != nullptr) {
            direct_begin_from(g);
        } else {
            direct_begin_list(g);
        }
        direct_keep_live(g);
        if (g.n > 0) {
            direct_borders(g);
        }
        while (g.n > 0) {
            if (g.numPending == kPending || g.list == q.numLists) {
                if (score && g.numPending > 0) {
                    direct_settle(g);
                }
                g.numPending = 0;
            }
            if (g.list == q.numLists) {
                break;
            }
            direct_intersect(g);
        }
        direct_deliver(g, number);
    }
    direct_end(g.b);
}
