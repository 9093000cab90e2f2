/* A single query on the whole device: each warp scores its best range, which gives a threshold that excludes most
 * others. */
#pragma once

#include "ranges.cuh"

/* The bounds of a unit of work, kUnitRanges ranges, are one memory sector. Good documents cluster; small units spread
 * them over the blocks. */
constexpr uint32_t kUnitDocs = kUnitRanges * kRangeDocs;
constexpr uint32_t kUnitLanes = kUnitRanges / 4;     /* lanes per unit, four ranges each */
constexpr uint32_t kWarpUnits = 2 * 32 / kUnitLanes; /* units of a warp at a time */
constexpr uint32_t kTermsAtOnce = 32 / kWarpUnits;   /* sparse terms at a time */

/* Units of a warp, eight ranges per lane: four of each half of the units. */
struct ImagePortion {
    uint32_t firsts[2]; /* first range of each four */
    uint32_t sums[8];   /* bounds of the ranges */
    uint32_t open;      /* bitmap of ranges that may have a hit and are not yet listed or scored */
};

/* The block's unit n is n*splits + split. */
__device__ __forceinline__ uint32_t imagesearch_unit(const ImageBlock& b, uint32_t window, uint32_t i) {
    return (window + i * kNumWarps + b.warp) * b.splits + b.split;
}

/* Adds the bounds of the sparse lists; a lane has one unit of one term. By a warp. */
__device__ __forceinline__ void imagesearch_sparse_portion(const ImageBlock& b, uint32_t window,
                                                           ImagePortion& portion) {
    constexpr uint32_t unitShift = 31 - __builtin_clz(kUnitDocs), most = 16;
    const uint32_t numUnits = (b.numDocs - 1) / kUnitDocs + 1;
    const uint32_t unit = imagesearch_unit(b, window, b.lane / kTermsAtOnce);
    uint32_t* sums = b.sums + b.lane / kTermsAtOnce * kUnitRanges;
    bool some = false;
    for (uint32_t first = b.numBounded; first < b.numTerms; first += kTermsAtOnce) {
        const uint32_t term = first + b.lane % kTermsAtOnce;
        uint32_t from = 0, to = 0;
        if (term < b.numTerms && unit < numUnits) {
            const ImageTerm& t = b.terms[term];
            const auto* starts = imagesearch_part<uint32_t>(t, t.starts);
            if (t.shift <= unitShift) {
                const uint32_t numBuckets = ((b.numDocs - 1) >> t.shift) + 1;
                const uint32_t bucket = unit << (unitShift - t.shift);
                from = starts[bucket];
                to = starts[min(bucket + (1U << (unitShift - t.shift)), numBuckets)];
            } else {
                const uint32_t bucket = unit >> (t.shift - unitShift);
                from = starts[bucket];
                to = starts[bucket + 1];
            }
        }
        const uint32_t active = __ballot_sync(kAll, from < to);
        if (active == 0) {
            continue;
        }
        some = true;
        if (to - from <= most) { /* each lane adds the maximum of each range of its own postings */
            const ImageTerm& t = b.terms[min(term, b.numTerms - 1)];
            const auto* docIDs = imagesearch_part<uint32_t>(t, t.docIDs);
            const auto* sat = imagesearch_part<uint8_t>(t, t.sat);
            uint32_t last = kUnitRanges, steps = 0;
            for (uint32_t i = from; i < to; i++) {
                const uint32_t range = docIDs[i] / kRangeDocs - unit * kUnitRanges;
                if (range < kUnitRanges) {
                    if (range != last && last < kUnitRanges) {
                        atomicAdd(sums + last, steps * t.step);
                        steps = 0;
                    }
                    last = range;
                    steps = max(steps, static_cast<uint32_t>(sat[i]));
                }
            }
            if (last < kUnitRanges) {
                atomicAdd(sums + last, steps * t.step);
            }
        }
        __syncwarp();
        for (uint32_t many = __ballot_sync(kAll, to - from > most); many != 0; many &= many - 1) {
            const int l = __ffs(many) - 1;
            const uint32_t f = __shfl_sync(kAll, from, l), e = __shfl_sync(kAll, to, l);
            const uint32_t i = static_cast<uint32_t>(l) / kTermsAtOnce;
            imagesearch_scatter(b, b.terms[first + static_cast<uint32_t>(l) % kTermsAtOnce],
                                imagesearch_unit(b, window, i) * kUnitRanges, kUnitRanges, b.sums + i * kUnitRanges, f,
                                e);
        }
    }
    if (some) {
#pragma unroll
        for (uint32_t h = 0; h < 2; h++) {
            auto* mine = reinterpret_cast<uint4*>(b.sums) + h * 32 + b.lane;
            const uint4 own = *mine;
            *mine = make_uint4(0, 0, 0, 0);
            portion.sums[4 * h] += own.x;
            portion.sums[4 * h + 1] += own.y;
            portion.sums[4 * h + 2] += own.z;
            portion.sums[4 * h + 3] += own.w;
        }
        __syncwarp();
    }
}

/* Sums the bounds of the bounded lists; every gets the ranges that are in all of them. By a warp. */
__device__ __forceinline__ void imagesearch_bounded_portion(const ImageBlock& b, ImagePortion& portion,
                                                            uint32_t every[2]) {
    const uint32_t numRanges = (b.numDocs - 1) / kRangeDocs + 1;
    for (uint32_t first = 0; first < b.numBounded; first += kInFlight) {
        uint32_t v[kInFlight][2], step[kInFlight];
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
            const bool has = first + i < b.numBounded;
            v[i][0] = v[i][1] = has ? 0 : kAll;
            step[i] = 0;
            if (has) {
                const ImageHot<uint32_t> hot = imagesearch_hot<uint32_t>(&b.terms[first + i].maxAt);
                step[i] = hot.step;
#pragma unroll
                for (uint32_t h = 0; h < 2; h++) {
                    if (portion.firsts[h] < numRanges) {
                        v[i][h] = hot.at[portion.firsts[h] / 4];
                    }
                }
            }
        }
#pragma unroll
        for (uint32_t i = 0; i < kInFlight; i++) {
#pragma unroll
            for (uint32_t h = 0; h < 2; h++) {
                portion.sums[4 * h] += (v[i][h] & 255) * step[i];
                portion.sums[4 * h + 1] += (v[i][h] >> 8 & 255) * step[i];
                portion.sums[4 * h + 2] += (v[i][h] >> 16 & 255) * step[i];
                portion.sums[4 * h + 3] += (v[i][h] >> 24) * step[i];
                every[h] &= imagesearch_nonzero(v[i][h]);
            }
        }
    }
}

__device__ __forceinline__ void imagesearch_close(ImagePortion& portion, uint32_t theta) {
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        if (portion.sums[i] < theta) {
            portion.open &= ~(1U << i);
        }
    }
}

/* Closes the ranges without a document that passes the filter. Open ranges have postings. */
__device__ __forceinline__ void imagesearch_close_filtered(const ImageBlock& b, ImagePortion& portion) {
#pragma unroll
    for (uint32_t h = 0; h < 2; h++) {
        const uint32_t open = portion.open >> (4 * h) & 0xf;
        portion.open &= ~((open ^ imagesearch_passing(b, portion.firsts[h] / 4, open)) << (4 * h));
    }
}

/* Scores the warp's best open range exactly, and closes it. Returns the lane's key, or 0. By a warp. */
__device__ __forceinline__ uint64_t imagesearch_score_best(const ImageBlock& b, ImagePortion& portion,
                                                           uint32_t& numRanges, uint32_t& numCandidates) {
    uint32_t mine = 0, at = 0;
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        if ((portion.open >> i & 1) != 0 && portion.sums[i] > mine) {
            mine = portion.sums[i];
            at = i;
        }
    }
    const uint32_t most = __reduce_max_sync(kAll, mine);
    if (most == 0) {
        return 0;
    }
    const int owner = __ffs(__ballot_sync(kAll, mine == most)) - 1;
    const uint32_t range = __shfl_sync(kAll, (at < 4 ? portion.firsts[0] : portion.firsts[1]) + at % 4, owner);
    if (b.lane == static_cast<uint32_t>(owner)) {
        portion.open &= ~(1U << at);
    }
    ImageGroup g;
    g.size = 1;
    g.next = 1;
    g.width = 32;
    g.range = range;
    g.bound = most;
    g.found = {0, 0};
    if (b.lane < b.numTerms) {
        const ImageTerm& t = b.terms[b.lane];
        if (b.lane == 0 && t.score.linear == 0) {
            imagesearch_prefetch(t.lengths + range * kRangeDocs);
        }
        g.found = imagesearch_range(t, range);
    }
    g.active = __ballot_sync(kAll, g.found.bits != 0);
    numRanges++;
    uint32_t allowed = __reduce_or_sync(kAll, g.found.bits);
    if (b.all) {
        allowed = static_cast<uint32_t>(__popc(g.active)) == b.numTerms ? imagesearch_in_all(g, g.active) : 0;
    }
    if (allowed != 0) {
        allowed &= imagesearch_allowed(b, range);
    }
    if (allowed == 0) {
        return 0;
    }
    numCandidates += static_cast<uint32_t>(__popc(allowed));
    const bool candidate = (allowed >> b.lane & 1) != 0;
    const uint32_t docID = range * kRangeDocs + b.lane;
    const uint32_t score = imagesearch_sum_scores(b, g, 0, g.active, docID, candidate);
    return candidate ? hit_key(score, docID) : 0;
}

/* For a query. By one thread. */
__device__ __forceinline__ void imagesearch_reset(ImageShared& shared, const ImageQuery& query, uint32_t capacity) {
    shared.theta = query.threshold;
    shared.listed = 0;
    shared.sorted = 0;
    shared.count = 0;
    for (uint32_t i = 0; i < kNumWork; i++) {
        shared.work[i] = 0;
    }
    shared.numHits = 0;
    shared.top.keys = griffin_dynamic_shared<uint64_t>();
    shared.top.threshold = 0;
    shared.top.capacity = capacity;
    shared.top.k = query.k;
    shared.top.count = 0;
}

/* Copies the query to shared memory and initialises the block; ends without a barrier. Each warp reads its own lines,
 * because the parameters are not cached yet and a warp would wait for each line in turn. */
template <class Params>
__device__ __forceinline__ void imagesearch_prepare(const Params& p, ImageSearch* search, ImageShared& shared,
                                                    uint32_t* sums) {
    constexpr uint32_t forSearch = sizeof(ImageSearch) / 16, forQuery = sizeof(ImageQuery) / 16;
    const auto* from = reinterpret_cast<const uint4*>(&p);
    auto* keys = griffin_dynamic_shared<uint64_t>();
    auto* terms = reinterpret_cast<uint4*>(keys + p.search.capacity);
    const uint32_t size = forSearch + forQuery + p.query.numTerms * (sizeof(ImageTerm) / 16);
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane < 4) {
        for (uint32_t i = warp * 4 + lane; i < size; i += kNumWarps * 4) {
            const uint4 part = from[i];
            if (i < forSearch) {
                reinterpret_cast<uint4*>(search)[i] = part;
            } else if (i < forSearch + forQuery) {
                reinterpret_cast<uint4*>(&shared.query)[i - forSearch] = part;
            } else {
                terms[i - forSearch - forQuery] = part;
            }
        }
    }
    if (threadIdx.x == kNumWarps * 32 - 1) {
        imagesearch_reset(shared, p.query, p.search.capacity);
    }
    if (p.query.splits == 1) {
        for (uint32_t i = threadIdx.x; i < kNumBuckets; i += blockDim.x) {
            shared.buckets[i] = 0;
        }
    }
    if (p.query.numBounded < p.query.numTerms) {
        for (uint32_t i = lane; i < kWarpUnits * kUnitRanges; i += 32) {
            sums[i] = 0;
        }
    }
}

/* Processes the keys of the warps' best ranges, one per lane or 0. The best key of each warp gives a threshold to all
 * blocks; others enter only if they reach it, because thousands of atomic additions to the same few buckets cost more
 * than a higher threshold saves. Returns, the same to all threads, whether the threshold is above the query's. By all
 * threads. */
__device__ __forceinline__ bool imagesearch_open(const ImageBlock& b, uint64_t key) {
    const ImageQuery& q = b.shared->query;
    uint32_t* buckets = b.state != nullptr ? b.state->buckets : b.shared->buckets;
    const uint32_t score = key != 0 ? hit_score(key) : 0;
    const uint32_t best = __reduce_max_sync(kAll, score);
    const uint32_t lanes = __ballot_sync(kAll, key != 0 && score == best && score >= q.threshold);
    const bool counted = lanes != 0 && b.lane == static_cast<uint32_t>(__ffs(lanes)) - 1;
    if (counted) {
        atomicAdd(buckets + imagesearch_bucket_of(q, score), 1U);
    }
    __syncthreads();
    if (b.warp == 0) {
        imagesearch_raise(b);
    }
    const bool raised = __syncthreads_or(b.warp == 0 && imagesearch_theta(b) > q.threshold) != 0;
    if (key != 0 && score >= imagesearch_theta(b)) {
        block_topk_push(b.shared->top, key); /* there is room */
        if (!counted) {
            atomicAdd(buckets + imagesearch_bucket_of(q, score), 1U);
        }
    }
    return raised;
}

/* opens: scores first the best range of each warp, to get a threshold. By all threads. */
template <ImageFilters filters>
__device__ __forceinline__ void imagesearch_score_portion(const ImageBlock& b, ImagePortion& portion, bool opens) {
    uint32_t numRanges = 0, numCandidates = 0;
    bool opened = false;
    imagesearch_close(portion, max(imagesearch_theta(b), 1U));
    if constexpr (filters == kEarly) {
        imagesearch_close_filtered(b, portion);
    }
    if (opens) {
        const uint64_t key = imagesearch_score_best(b, portion, numRanges, numCandidates);
        opened = imagesearch_open(b, key);
        imagesearch_worked(b, kRanges, numRanges);
        imagesearch_worked(b, kCandidates, numCandidates);
    }
    for (;; opened = true) {
        imagesearch_close(portion, imagesearch_hear(b));
        imagesearch_list_open<8>(b, portion.open, portion.sums, kListRoom,
                                 [&](uint32_t i) { return portion.firsts[i / 4] + i % 4; });
        const bool more = __syncthreads_or(portion.open != 0) != 0;
        const uint32_t listed = min(ld_relaxed(&b.shared->listed), kListRoom);
        if (listed == 0) {
            break;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            b.shared->listed = 0;
            b.shared->work[kRounds]++;
        }
        imagesearch_score_list<filters, true>(b, listed, opened);
        __syncthreads();
        if (!more) {
            break;
        }
    }
}

/* Of a query whose parameters are in shared memory, and with sums of the warp that are 0. By all threads of a block,
 * after a barrier. */
template <ImageFilters filters>
__device__ __forceinline__ void imagesearch_alone_in(const ImageSearch& search, ImageShared& shared, uint32_t* sums) {
    const ImageQuery& query = shared.query;
    ImageBlock b;
    b.search = &search;
    b.shared = &shared;
    b.lane = threadIdx.x % 32;
    b.warp = threadIdx.x / 32;
    b.numWarps = kNumWarps;
    b.split = blockIdx.x;
    b.splits = query.splits;
    b.state = b.splits > 1 ? search.states + query.result : nullptr;
    b.numDocs = search.numDocs;
    b.numTerms = query.numTerms;
    b.numDense = query.numDense;
    b.numBounded = query.numBounded;
    b.all = (query.flags & kFlagAll) != 0;
    b.words = false;
    b.numExcluded = 0;
    b.required = 0;
    b.parts = nullptr;
    b.filtered = filters == kEarly;
    b.keys = griffin_dynamic_shared<uint64_t>();
    b.terms = reinterpret_cast<ImageTerm*>(b.keys + search.capacity);
    b.order = nullptr;
    b.levels = nullptr;
    b.sums = sums;
    const uint32_t numUnits = (b.numDocs - 1) / kUnitDocs + 1;
    bool opens = query.k <= kOpenHits;
    if (b.split == 0 && b.warp == 0) {
        imagesearch_worked(b, kSupers, (b.numDocs - 1) / kSuperDocs + 1);
    }
    for (uint32_t window = 0; window * b.splits + b.split < numUnits; window += kWarpUnits * kNumWarps) {
        ImagePortion portion;
#pragma unroll
        for (uint32_t h = 0; h < 2; h++) {
            portion.firsts[h] = imagesearch_unit(b, window, h * (kWarpUnits / 2) + b.lane / kUnitLanes) * kUnitRanges +
                                b.lane % kUnitLanes * 4;
        }
#pragma unroll
        for (uint32_t i = 0; i < 8; i++) {
            portion.sums[i] = 0;
        }
        uint32_t every[2] = {kAll, kAll};
        imagesearch_bounded_portion(b, portion, every);
        if (b.numBounded < b.numTerms) {
            imagesearch_sparse_portion(b, window, portion);
        }
        portion.open = 0xff;
        if (b.all) {
#pragma unroll
            for (uint32_t i = 0; i < 8; i++) {
                if ((every[i / 4] >> (8 * (i % 4) + 7) & 1) == 0) {
                    portion.open &= ~(1U << i);
                }
            }
        }
        imagesearch_score_portion<filters>(b, portion, opens);
        opens = false;
        __syncthreads();
    }
    __syncthreads();
    if (search.sends != 0) {
        imagesearch_send(b);
        return;
    }
    imagesearch_end(b);
}

/* By all threads of a block. */
template <ImageFilters filters, class Params>
__device__ __forceinline__ void imagesearch_alone(const Params& p, ImageSearch& search, ImageShared& shared) {
    __shared__ __align__(16) uint32_t sums[kNumWarps][kWarpUnits * kUnitRanges];
    imagesearch_prepare(p, &search, shared, sums[threadIdx.x / 32]);
    imagesearch_clear_other(p, blockIdx.x);
    __syncthreads();
    imagesearch_alone_in<filters>(search, shared, sums[threadIdx.x / 32]);
}
