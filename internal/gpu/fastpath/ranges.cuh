/* The best hits by ranges of documents: Or queries, and And queries of dense lists. */
#pragma once

#include "group.cuh"

/* Four ranges a lane of a superblock: sums of the lists' bounds, and which of them (bit i) may hold a hit. */
struct FastpathBounds {
    uint32_t sums[4];
    uint32_t open;
};

/* The bytes of v that are not 0: 0x80 in each. */
__device__ __forceinline__ uint32_t fastpath_nonzero(uint32_t v) {
    return (((v & 0x7f7f7f7fU) + 0x7f7f7f7fU) | v) & 0x80808080U;
}

/* Adds the postings [from, to) of a sparse list that are in the ranges [first, first + numRanges) to sums: the greatest
 * of each range, or where 32 postings end inside a range, of each part of it. By a warp. */
__device__ __forceinline__ void fastpath_scatter(const FastpathBlock& b, const FastpathTerm& t, uint32_t first,
                                                 uint32_t numRanges, uint32_t* sums, uint32_t from, uint32_t to) {
    const auto* docIDs = fastpath_part<uint32_t>(t, t.docIDs);
    const auto* sat = fastpath_part<uint8_t>(t, t.sat);
    for (uint32_t next = from; next < to; next += 32) {
        const uint32_t i = next + b.lane;
        uint32_t range = i < to ? docIDs[i] / kRangeDocs - first : numRanges;
        uint32_t steps = i < to ? sat[i] : 0;
        const bool in = range < numRanges;
        range = in ? range : kSuperRanges + b.lane;
        const uint32_t before = __shfl_up_sync(kAll, range, 1);
        if (__ballot_sync(kAll, b.lane > 0 && before == range) != 0) {
#pragma unroll
            for (uint32_t d = 1; d < 32; d *= 2) {
                const uint32_t otherRange = __shfl_up_sync(kAll, range, d);
                const uint32_t otherSteps = __shfl_up_sync(kAll, steps, d);
                if (b.lane >= d && otherRange == range) {
                    steps = max(steps, otherSteps);
                }
            }
        }
        const uint32_t after = __shfl_down_sync(kAll, range, 1);
        if (in && (b.lane == 31 || after != range)) {
            sums[range] += steps * t.step;
        }
        __syncwarp();
    }
}

/* Adds the bounds of the sparse lists. By a warp. */
__device__ __forceinline__ void fastpath_sparse_bounds(const FastpathBlock& b, uint32_t super, FastpathBounds& bounds) {
    bool some = false;
    for (uint32_t first = b.numBounded; first < b.numTerms; first += 32) {
        uint32_t from = 0, to = 0;
        if (first + b.lane < b.numTerms) {
            const FastpathTerm& t = b.terms[first + b.lane];
            const auto* starts = fastpath_part<uint32_t>(t, t.starts);
            constexpr uint32_t superShift = 31 - __builtin_clz(kSuperDocs);
            const uint32_t numBuckets = ((b.numDocs - 1) >> t.shift) + 1;
            if (t.shift <= superShift) {
                const uint32_t bucket = super << (superShift - t.shift);
                from = starts[bucket];
                to = starts[min(bucket + (1U << (superShift - t.shift)), numBuckets)];
            } else {
                const uint32_t bucket = super >> (t.shift - superShift);
                from = starts[bucket];
                to = starts[bucket + 1];
            }
        }
        for (uint32_t active = __ballot_sync(kAll, from < to); active != 0; active &= active - 1) {
            const int l = __ffs(active) - 1;
            const uint32_t f = __shfl_sync(kAll, from, l), e = __shfl_sync(kAll, to, l);
            fastpath_scatter(b, b.terms[first + l], super * kSuperRanges, kSuperRanges, b.sums, f, e);
            some = true;
        }
    }
    if (some) {
        auto* mine = reinterpret_cast<uint4*>(b.sums) + b.lane;
        const uint4 sums = *mine;
        *mine = make_uint4(0, 0, 0, 0);
        __syncwarp();
        bounds.sums[0] += sums.x;
        bounds.sums[1] += sums.y;
        bounds.sums[2] += sums.z;
        bounds.sums[3] += sums.w;
    }
}

/* Sums the lists' bounds of the ranges of a superblock. By a warp; open is set where there are postings. */
__device__ __forceinline__ FastpathBounds fastpath_bounds(const FastpathBlock& b, uint32_t super) {
    FastpathBounds bounds = {{0, 0, 0, 0}, 0};
    uint32_t every = kAll;
    for (uint32_t first = 0; first < b.numBounded; first += kInFlight) {
        uint32_t v[kInFlight], step[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            v[i] = kAll;
            step[i] = 0;
            if (first + i < b.numBounded) {
                const FastpathHot<uint32_t> hot = fastpath_hot<uint32_t>(&b.terms[first + i].maxAt);
                v[i] = hot.at[super * 32 + b.lane];
                step[i] = hot.step;
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            bounds.sums[0] += (v[i] & 255) * step[i];
            bounds.sums[1] += (v[i] >> 8 & 255) * step[i];
            bounds.sums[2] += (v[i] >> 16 & 255) * step[i];
            bounds.sums[3] += (v[i] >> 24) * step[i];
            if (b.all) {
                every &= fastpath_nonzero(v[i]);
            }
        }
    }
    if (b.numBounded < b.numTerms) {
        fastpath_sparse_bounds(b, super, bounds);
    }
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        const bool has = b.all ? (every >> (8 * i + 7) & 1) != 0 : bounds.sums[i] > 0;
        bounds.open |= has ? 1U << i : 0;
    }
    return bounds;
}

/* Puts a lane's open ranges (bit i: rangeOf(i), with the bound sums[i]) into the block's list, as far as there is room,
 * and closes those. By a warp. */
template <uint32_t n, class RangeOf>
__device__ __forceinline__ void fastpath_list_open(const FastpathBlock& b, uint32_t& open, const uint32_t (&sums)[n],
                                                   uint32_t room, RangeOf rangeOf) {
    const auto mine = static_cast<uint32_t>(__popc(open));
    if (__ballot_sync(kAll, mine > 0) == 0) {
        return;
    }
    const uint32_t upTo = warp_inclusive_sum(mine);
    uint32_t at = 0;
    if (b.lane == 31) {
        at = atomicAdd(&b.shared->listed, upTo);
    }
    at = __shfl_sync(kAll, at, 31) + upTo - mine;
#pragma unroll
    for (uint32_t i = 0; i < n; i++) {
        if ((open >> i & 1) != 0) {
            if (at < room) {
                b.shared->list[at] = make_uint2(rangeOf(i), sums[i]);
                open &= ~(1U << i);
            }
            at++;
        }
    }
}

/* Puts the open ranges that can reach the threshold into the block's list, and closes those and the ones that
 * cannot. By a warp; afterwards ranges are open that there was no room for. */
__device__ __forceinline__ void fastpath_list(const FastpathBlock& b, uint32_t super, FastpathBounds& bounds,
                                              uint32_t room) {
    const uint32_t theta = fastpath_theta(b);
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        if (bounds.sums[i] < theta) {
            bounds.open &= ~(1U << i);
        }
    }
    fastpath_list_open<4>(b, bounds.open, bounds.sums, room,
                          [lane = b.lane, super](uint32_t i) { return (super * 32 + lane) * 4 + i; });
}

/* The superblocks of a window, from the most promising down, as positions in it in b.order; returns how many can
 * reach the threshold. Superblock i of the block is i*splits + split. By all threads. */
__device__ __forceinline__ uint32_t fastpath_order(const FastpathBlock& b, uint32_t window, uint32_t size) {
    const FastpathQuery& q = b.shared->query;
    const uint32_t splits = b.splits;
    if (size <= 2 * b.numWarps) { /* all at once: sorting takes longer than it saves */
        if (threadIdx.x < size) {
            b.order[threadIdx.x] = static_cast<uint16_t>(threadIdx.x);
            b.levels[threadIdx.x] = kNumBuckets - 1;
        }
        __syncthreads();
        return size;
    }
    for (uint32_t i = threadIdx.x; i < kNumBuckets; i += blockDim.x) {
        b.shared->positions[i] = 0;
    }
    __syncthreads();
    const uint32_t theta = fastpath_theta(b);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        const uint64_t super = static_cast<uint64_t>(window + i) * splits + b.split;
        uint32_t bound = 0;
        bool every = true;
        for (uint32_t first = 0; first < b.numTerms; first += kInFlight) {
            uint32_t steps[kInFlight];
#pragma unroll
            for (uint32_t t = 0; t < kInFlight; t++) {
                steps[t] = 0;
                if (first + t < b.numTerms) {
                    steps[t] = fastpath_part<uint8_t>(b.terms[first + t], b.terms[first + t].superMax)[super];
                }
            }
#pragma unroll
            for (uint32_t t = 0; t < kInFlight; t++) {
                if (first + t < b.numTerms) {
                    bound += steps[t] * b.terms[first + t].step;
                    every &= steps[t] > 0;
                }
            }
        }
        uint32_t level = 0;
        if (bound > 0 && bound >= theta && (every || !b.all)) {
            level = min(fastpath_bucket_of(q, bound), kNumBuckets - 2) + 1;
            atomicAdd(b.shared->positions + level, 1U);
        }
        b.levels[i] = static_cast<uint8_t>(level);
    }
    __syncthreads();
    fastpath_scan(b);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        const uint32_t level = b.levels[i];
        if (level > 0) {
            b.order[atomicAdd(b.shared->positions + level, 1U)] = static_cast<uint16_t>(i);
        }
    }
    __syncthreads();
    return b.shared->sorted;
}

/* Sorts the ranges of the list by their bounds, from the best down, and leaves out those that cannot reach the
 * threshold any more; returns how many are left, in listOrder. By all threads, behind a barrier. */
template <bool alone = false>
__device__ __forceinline__ uint32_t fastpath_sort_list(const FastpathBlock& b, uint32_t size) {
    const FastpathQuery& q = b.shared->query;
    if (alone && size <= 64) { /* they are looked up at the same time: the order does not matter */
        if (threadIdx.x < size) {
            b.shared->listOrder[threadIdx.x] = static_cast<uint16_t>(threadIdx.x);
        }
        __syncthreads();
        return size;
    }
    if (size <= 64) { /* by counting which are before it */
        if (threadIdx.x < size) {
            const uint32_t own = b.shared->list[threadIdx.x].y;
            uint32_t rank = 0;
            for (uint32_t i = 0; i < size; i++) {
                const uint32_t other = b.shared->list[i].y;
                rank += other > own || (other == own && i < threadIdx.x) ? 1 : 0;
            }
            b.shared->listOrder[rank] = static_cast<uint16_t>(threadIdx.x);
        }
        __syncthreads();
        return size;
    }
    for (uint32_t i = threadIdx.x; i < kNumBuckets; i += blockDim.x) {
        b.shared->positions[i] = 0;
    }
    const uint32_t theta = fastpath_theta(b); /* nobody raises it now */
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        if (b.shared->list[i].y >= theta) {
            atomicAdd(b.shared->positions + fastpath_bucket_of(q, b.shared->list[i].y), 1U);
        }
    }
    __syncthreads();
    fastpath_scan(b);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        if (b.shared->list[i].y >= theta) {
            b.shared->listOrder[atomicAdd(b.shared->positions + fastpath_bucket_of(q, b.shared->list[i].y), 1U)] =
                static_cast<uint16_t>(i);
        }
    }
    __syncthreads();
    return b.shared->sorted;
}

/* Scores the ranges of the list. By all threads, behind a barrier; ends with one. alone: of a query on its own; opened,
 * the same for all threads: its threshold comes from the best ranges of all blocks, and few scores more will raise it.
 */
template <bool alone = false>
__device__ __forceinline__ void fastpath_score_list(const FastpathBlock& b, uint32_t listed, bool opened = false) {
    const uint32_t count = fastpath_sort_list<alone>(b, listed);
    FastpathGroup group;
    group.width = b.numTerms > 16 ? 32 : b.numTerms > 1 ? 2U << (31 - __clz(b.numTerms - 1)) : 1;
    const uint32_t most = max(min(32 / group.width, (count + b.numWarps - 1) / b.numWarps), 1U);
    /* Where other blocks have as good ranges, the best of each are scored first, for the sake of the threshold. */
    uint32_t size = !opened && b.state != nullptr ? 1 : most, from = 0;
    group.size = 0;
    group.next = 0;
    group.range = 0;
    group.bound = 0;
    group.found = {0, 0};
    group.active = 0;
    uint32_t numRanges = 0, numCandidates = 0;
    uint64_t key = 0;
    const bool raises = !alone || !opened || count > 64;
    do {
        for (;;) {
            key = fastpath_offer(b, key, raises);
            if (__ballot_sync(kAll, key != 0) != 0) {
                break;
            }
            if (group.next == group.size) {
                const uint32_t at = from + b.warp * size;
                if (at >= count) {
                    break;
                }
                group.size = min(size, count - at);
                fastpath_look_up(b, group, at, from == 0 ? 0 : fastpath_hear(b), alone && opened);
                from += b.numWarps * size;
                size = most;
            }
            /* What the other blocks have come to: it arrives while this range is scored. */
            const uint32_t heard = alone && b.state != nullptr ? ld_relaxed(b.state->thetas[b.warp]) : 0;
            key = fastpath_score(b, group, numRanges, numCandidates);
            if (alone && b.lane == 0 && heard > fastpath_theta(b)) {
                atomicMax(&b.shared->theta, heard);
            }
        }
    } while (fastpath_make_room(b, key));
    fastpath_worked(b, kRanges, numRanges);
    fastpath_worked(b, kCandidates, numCandidates);
}

/* Finds the best hits in the block's superblocks from window to window + size. By all threads. */
__device__ __forceinline__ void fastpath_window(const FastpathBlock& b, uint32_t window, uint32_t size) {
    const FastpathQuery& q = b.shared->query;
    const uint32_t count = fastpath_order(b, window, size);
    uint32_t room = kFirstList;
    uint32_t at = b.warp, super = 0, numSupers = 0;
    FastpathBounds bounds = {{0, 0, 0, 0}, 0};
    bool more = true, first = true;
    while (more) {
        for (;;) {
            if (__ballot_sync(kAll, bounds.open != 0) != 0) {
                fastpath_list(b, super, bounds, room);
                if (__ballot_sync(kAll, bounds.open != 0) != 0) {
                    break; /* the list is full */
                }
            }
            if (at >= count) {
                break;
            }
            const uint32_t i = b.order[at];
            at += b.numWarps;
            /* At first there is nothing to hear yet. */
            const uint32_t theta = first ? q.threshold : fastpath_hear(b);
            const uint32_t level = b.levels[i];
            const uint64_t above = q.threshold + (static_cast<uint64_t>(level) << q.bucketShift);
            if (level < kNumBuckets - 1 && above <= theta) {
                at = count; /* nor can those behind it */
                break;
            }
            super = (window + i) * b.splits + b.split;
            bounds = fastpath_bounds(b, super);
            numSupers++;
        }
        more = __syncthreads_or(bounds.open != 0 || at < count) != 0;
        const uint32_t listed = min(ld_relaxed(&b.shared->listed), room);
        __syncthreads();
        if (threadIdx.x == 0) {
            b.shared->listed = 0;
            b.shared->work[kRounds]++;
        }
        if (listed > 0) {
            fastpath_score_list(b, listed);
        }
        __syncthreads();
        room = kListRoom;
        first = false;
    }
    fastpath_worked(b, kSupers, numSupers);
}

/* Answers a query by ranges. By all threads of a block. */
__device__ __forceinline__ void fastpath_by_ranges(const FastpathSearch& search, const FastpathQuery* query,
                                                   const FastpathTerm* terms, uint32_t split) {
    __shared__ FastpathShared shared;
    FastpathBlock b;
    if (!fastpath_begin(b, shared, search, query, terms, split)) {
        fastpath_pass(b);
        return;
    }
    const uint32_t numSupers = (search.numDocs + kSuperDocs - 1) / kSuperDocs;
    const uint32_t own = (numSupers + b.splits - 1 - b.split) / b.splits;
    for (uint32_t window = 0; window < own; window += search.window) {
        fastpath_window(b, window, min(own - window, search.window));
    }
    __syncthreads();
    fastpath_end(b);
}
