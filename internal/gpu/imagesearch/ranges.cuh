/* Or queries, and And queries of lists with bounds of ranges. */
#pragma once

#include "group.cuh"

/* Four ranges of a superblock per lane; bit i of open: range i may have a hit. */
struct ImageBounds {
    uint32_t sums[4];
    uint32_t open;
};

/* 0x80 in each byte of v that is not 0. */
__device__ __forceinline__ uint32_t imagesearch_nonzero(uint32_t v) {
    return (((v & 0x7f7f7f7fU) + 0x7f7f7f7fU) | v) & 0x80808080U;
}

/* Adds the bounds of postings [from, to) of a sparse list in ranges [first, first + numRanges) to sums: the maximum of
 * each range among each 32 postings. By a warp. */
__device__ __forceinline__ void imagesearch_scatter(const ImageBlock& b, const ImageTerm& t, uint32_t first,
                                                    uint32_t numRanges, uint32_t* sums, uint32_t from, uint32_t to) {
    const auto* docIDs = imagesearch_part<uint32_t>(t, t.docIDs);
    const auto* sat = imagesearch_part<uint8_t>(t, t.sat);
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

/* By a warp. */
__device__ __forceinline__ void imagesearch_sparse_bounds(const ImageBlock& b, uint32_t super, ImageBounds& bounds) {
    bool some = false;
    for (uint32_t first = b.numBounded; first < b.numTerms; first += 32) {
        uint32_t from = 0, to = 0;
        if (first + b.lane < b.numTerms) {
            const ImageTerm& t = b.terms[first + b.lane];
            const auto* starts = imagesearch_part<uint32_t>(t, t.starts);
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
            imagesearch_scatter(b, b.terms[first + l], super * kSuperRanges, kSuperRanges, b.sums, f, e);
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

/* open: ranges with postings; band: also for And queries of lists that are not dense, whose bits are all 1 in every. By
 * a warp. */
template <bool words, bool band = false>
__device__ __forceinline__ ImageBounds imagesearch_bounds(const ImageBlock& b, uint32_t super) {
    ImageBounds bounds = {{0, 0, 0, 0}, 0};
    uint32_t every = kAll;
    for (uint32_t first = 0; first < b.numBounded; first += kInFlight) {
        uint32_t v[kInFlight], step[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            v[i] = kAll;
            step[i] = 0;
            if (first + i < b.numBounded) {
                const ImageHot<uint32_t> hot = imagesearch_hot<uint32_t>(&b.terms[first + i].maxAt);
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
            if (imagesearch_needs(b, first + i)) {
                every &= imagesearch_nonzero(v[i]);
            }
        }
    }
    if (b.numBounded < b.numTerms) {
        imagesearch_sparse_bounds(b, super, bounds);
    }
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        const bool in = (every >> (8 * i + 7) & 1) != 0;
        bool has = b.all ? in : bounds.sums[i] > 0;
        if constexpr (words) {
            has = has && in;
        }
        if constexpr (band) {
            has = has && bounds.sums[i] > 0;
        }
        bounds.open |= has ? 1U << i : 0;
    }
    return bounds;
}

/* Appends a lane's open ranges (bit i: rangeOf(i), with the bound sums[i]) to the block's list, up to room entries, and
 * closes the appended ranges. By a warp. */
template <uint32_t n, class RangeOf>
__device__ __forceinline__ void imagesearch_list_open(const ImageBlock& b, uint32_t& open, const uint32_t (&sums)[n],
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

/* Appends the open ranges that can reach the threshold and that an early filter passes; ranges that did not fit stay
 * open. By a warp. */
template <ImageFilters filters>
__device__ __forceinline__ void imagesearch_list(const ImageBlock& b, uint32_t super, ImageBounds& bounds,
                                                 uint32_t room) {
    const uint32_t theta = imagesearch_theta(b);
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        if (bounds.sums[i] < theta) {
            bounds.open &= ~(1U << i);
        }
    }
    if constexpr (filters != kLate) {
        bounds.open &= imagesearch_passing(b, super * 32 + b.lane, bounds.open);
    }
    imagesearch_list_open<4>(b, bounds.open, bounds.sums, room,
                             [lane = b.lane, super](uint32_t i) { return (super * 32 + lane) * 4 + i; });
}

/* Sorts the superblocks of a window by falling bound into b.order, as positions in the window; returns the number that
 * can reach the threshold. The block's superblock i is i*splits + split. By all threads. */
template <bool words>
__device__ __forceinline__ uint32_t imagesearch_order(const ImageBlock& b, uint32_t window, uint32_t size) {
    const ImageQuery& q = b.shared->query;
    const uint32_t splits = b.splits;
    if (size <= 2 * b.numWarps) { /* sorting costs more than it saves */
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
    const uint32_t theta = imagesearch_theta(b);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        const uint64_t super = static_cast<uint64_t>(window + i) * splits + b.split;
        uint32_t bound = 0, present = 0;
        bool every = true;
        for (uint32_t first = 0; first < b.numTerms; first += kInFlight) {
            uint32_t steps[kInFlight];
#pragma unroll
            for (uint32_t t = 0; t < kInFlight; t++) {
                steps[t] = 0;
                if (first + t < b.numTerms) {
                    steps[t] = imagesearch_part<uint8_t>(b.terms[first + t], b.terms[first + t].superMax)[super];
                }
            }
#pragma unroll
            for (uint32_t t = 0; t < kInFlight; t++) {
                if (first + t < b.numTerms) {
                    bound += steps[t] * b.terms[first + t].step;
                    every &= steps[t] > 0;
                    if constexpr (words) {
                        present |= first + t < 32 && steps[t] > 0 ? 1U << (first + t) : 0;
                    }
                }
            }
        }
        if constexpr (words) {
            every = b.all ? every : imagesearch_meets(b, present);
        }
        uint32_t level = 0;
        if (bound > 0 && bound >= theta && (every || !(b.all || words))) {
            level = min(imagesearch_bucket_of(q, bound), kNumBuckets - 2) + 1;
            atomicAdd(b.shared->positions + level, 1U);
        }
        b.levels[i] = static_cast<uint8_t>(level);
    }
    __syncthreads();
    imagesearch_scan(b);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        const uint32_t level = b.levels[i];
        if (level > 0) {
            b.order[atomicAdd(b.shared->positions + level, 1U)] = static_cast<uint16_t>(i);
        }
    }
    __syncthreads();
    return b.shared->sorted;
}

/* Sorts the list by falling bound into listOrder; ranges below the threshold may be omitted. Returns the length of
 * listOrder. By all threads, after a barrier. */
template <bool alone = false>
__device__ __forceinline__ uint32_t imagesearch_sort_list(const ImageBlock& b, uint32_t size) {
    const ImageQuery& q = b.shared->query;
    if (alone && size <= 64) { /* looked up at the same time: the order does not matter */
        if (threadIdx.x < size) {
            b.shared->listOrder[threadIdx.x] = static_cast<uint16_t>(threadIdx.x);
        }
        __syncthreads();
        return size;
    }
    if (size <= 64) { /* by rank */
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
    const uint32_t theta = imagesearch_theta(b); /* constant until the next barrier */
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        if (b.shared->list[i].y >= theta) {
            atomicAdd(b.shared->positions + imagesearch_bucket_of(q, b.shared->list[i].y), 1U);
        }
    }
    __syncthreads();
    imagesearch_scan(b);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        if (b.shared->list[i].y >= theta) {
            b.shared->listOrder[atomicAdd(b.shared->positions + imagesearch_bucket_of(q, b.shared->list[i].y), 1U)] =
                static_cast<uint16_t>(i);
        }
    }
    __syncthreads();
    return b.shared->sorted;
}

/* Scores the ranges of the list. By all threads, after a barrier; ends with one. alone: of a single query. opened, the
 * same for all threads: the threshold comes from the best ranges of all blocks, and few further scores raise it. */
template <ImageFilters filters, bool alone = false, bool wide = false>
__device__ __forceinline__ void imagesearch_score_list(const ImageBlock& b, uint32_t listed, bool opened = false) {
    const uint32_t count = imagesearch_sort_list<alone>(b, listed);
    ImageGroup group;
    group.width = b.numTerms > 16 ? 32 : b.numTerms > 1 ? 2U << (31 - __clz(b.numTerms - 1)) : 1;
    const uint32_t most = max(min(32 / group.width, (count + b.numWarps - 1) / b.numWarps), 1U);
    /* Several blocks each score their best ranges first, to raise the threshold early. */
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
            key = imagesearch_offer<wide>(b, key, raises);
            if (__ballot_sync(kAll, key != 0) != 0) {
                break;
            }
            if (group.next == group.size) {
                const uint32_t at = from + b.warp * size;
                if (at >= count) {
                    break;
                }
                group.size = min(size, count - at);
                imagesearch_look_up<filters>(b, group, at, from == 0 ? 0 : imagesearch_hear(b), alone && opened);
                from += b.numWarps * size;
                size = most;
            }
            /* The threshold of the other blocks arrives while this range is scored. */
            const uint32_t heard = alone && b.state != nullptr ? ld_relaxed(b.state->thetas[b.warp]) : 0;
            key = imagesearch_score<wide>(b, group, numRanges, numCandidates);
            if (alone && b.lane == 0 && heard > imagesearch_theta(b)) {
                atomicMax(&b.shared->theta, heard);
            }
        }
    } while (imagesearch_make_room<wide>(b, key));
    imagesearch_worked(b, kRanges, numRanges);
    imagesearch_worked(b, kCandidates, numCandidates);
}

/* The block's superblocks from window to window + size. By all threads. */
template <bool wide, ImageFilters filters, bool words, bool band = false>
__device__ __forceinline__ void imagesearch_window(const ImageBlock& b, uint32_t window, uint32_t size) {
    const ImageQuery& q = b.shared->query;
    const uint32_t count = imagesearch_order<words>(b, window, size);
    uint32_t room = kFirstList;
    uint32_t at = b.warp, super = 0, numSupers = 0;
    ImageBounds bounds = {{0, 0, 0, 0}, 0};
    bool more = true, first = true;
    while (more) {
        for (;;) {
            if (__ballot_sync(kAll, bounds.open != 0) != 0) {
                imagesearch_list<filters>(b, super, bounds, room);
                if (__ballot_sync(kAll, bounds.open != 0) != 0) {
                    break; /* the list is full */
                }
            }
            if (at >= count) {
                break;
            }
            const uint32_t i = b.order[at];
            at += b.numWarps;
            /* No block has raised the threshold before the first list. */
            const uint32_t theta = first ? q.threshold : imagesearch_hear(b);
            const uint32_t level = b.levels[i];
            const uint64_t above = q.threshold + (static_cast<uint64_t>(level) << q.bucketShift);
            if (level < kNumBuckets - 1 && above <= theta) {
                at = count; /* the rest have lower bounds */
                break;
            }
            super = (window + i) * b.splits + b.split;
            bounds = imagesearch_bounds<words, band>(b, super);
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
            imagesearch_score_list<filters, false, wide>(b, listed);
        }
        __syncthreads();
        room = kListRoom;
        first = false;
    }
    imagesearch_worked(b, kSupers, numSupers);
}

/* By all threads of a block. */
template <bool wide, ImageFilters filters, bool words = false>
__device__ __forceinline__ void imagesearch_by_ranges(const ImageSearch& search, const ImageQuery* query,
                                                      const ImageTerm* terms, uint32_t split) {
    __shared__ ImageShared shared;
    ImageBlock b;
    imagesearch_begin<words, filters>(b, shared, search, query, terms, split);
    const uint32_t numSupers = (search.numDocs + kSuperDocs - 1) / kSuperDocs;
    const uint32_t own = (numSupers + b.splits - 1 - b.split) / b.splits;
    for (uint32_t window = 0; window < own; window += search.window) {
        imagesearch_window<wide, filters, words>(b, window, min(own - window, search.window));
    }
    __syncthreads();
    imagesearch_end<wide>(b);
}
