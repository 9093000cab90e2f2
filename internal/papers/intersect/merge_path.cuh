// Merge path: both lists are cut at diagonals of their merge matrix, so that tiles have the same total number of
// elements (Liu, Wang and Swanson, PPoPP 2018, §3.1.2, after Green, McColl and Bader, ICS 2012). Of two equal elements
// the path takes A's first, so the match of a taken element of A is B's next element.
#pragma once

#include "pair.cuh"

// ITEMS elements of both lists per thread: odd, so that threads access different banks of shared memory.
template <uint32_t ITEMS>
struct MergeShape {
    static constexpr uint32_t size = ITEMS * INTERSECT_THREADS;
    // A match takes an element of each list.
    static constexpr uint32_t slots = (size + 1) / 2;
    // Both runs, each with the next element, aligned to 16 bytes.
    static constexpr uint32_t vectors = (size + 14) / 4;
    static constexpr uint32_t rounds = (vectors + INTERSECT_THREADS - 1) / INTERSECT_THREADS;
    static constexpr uint32_t sharedWords = vectors * 4 + slots;
};

// The number of elements of A before a diagonal of the merge path. Called by a whole warp, which compares 32 points at
// a time.
GRIFFIN_DEVICE uint32_t intersect_diagonal(const uint32_t* a, uint32_t na, const uint32_t* b, uint32_t nb,
                                           uint32_t diagonal) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t lo = diagonal > nb ? diagonal - nb : 0;
    uint32_t hi = min(diagonal, na);
    while (lo < hi) {
        const uint32_t step = (hi - lo + 31) / 32;
        const uint32_t probe = lo + (lane + 1) * step - 1;
        // Invariant: A's first lo elements come before the diagonal, its
        // element hi does not.
        const bool before = probe < hi && __ldg(a + probe) <= __ldg(b + (diagonal - 1 - probe));
        const uint32_t steps = __popc(__ballot_sync(0xffffffffu, before));
        lo += steps * step;
        hi = min(hi, lo + step - 1);
    }
    return lo;
}

// Consecutive elements to copy to shared memory, in vectors of 16 bytes: element begin lies `head` words behind the
// start of the first vector.
struct MergeRun {
    const uint32_t* list;
    uint32_t length;  // of the list
    uint32_t begin;
    uint32_t head;
    uint32_t vectors;

    // Elements [from, to), and the next one.
    GRIFFIN_DEVICE MergeRun(const uint32_t* docIDs, uint32_t n, uint32_t from, uint32_t to)
        : list(docIDs), length(n), begin(from) {
        head = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(docIDs + from) >> 2) & 3;
        vectors = (head + to - from + 4) / 4;
    }
    // All vectors lie in the list.
    GRIFFIN_DEVICE bool whole() const { return begin >= head && begin - head + 4 * vectors <= length; }
    // The first vector, if it lies in the list.
    GRIFFIN_DEVICE const uint4* start() const { return reinterpret_cast<const uint4*>(list + (begin - head)); }
    // All ones where the list has no element.
    GRIFFIN_DEVICE uint4 load(uint32_t v) const {
        const uint32_t from = begin + 4 * v - head;  // before the list it wraps, and is above length
        uint4 x;
        x.x = from < length ? __ldg(list + from) : 0xffffffffu;
        x.y = from + 1 < length ? __ldg(list + (from + 1)) : 0xffffffffu;
        x.z = from + 2 < length ? __ldg(list + (from + 2)) : 0xffffffffu;
        x.w = from + 3 < length ? __ldg(list + (from + 3)) : 0xffffffffu;
        return x;
    }
};

// Copies both runs of a tile to shared memory, B's behind A's. Except at the ends of the lists, all loads of a thread
// are in flight together.
template <uint32_t ITEMS>
GRIFFIN_DEVICE void intersect_merge_load(const MergeRun& a, const MergeRun& b, uint32_t* shared) {
    constexpr uint32_t rounds = MergeShape<ITEMS>::rounds;
    uint4* to = reinterpret_cast<uint4*>(shared);
    const uint32_t vectors = a.vectors + b.vectors;
    if (!a.whole() || !b.whole()) {
        for (uint32_t v = threadIdx.x; v < vectors; v += INTERSECT_THREADS) {
            to[v] = v < a.vectors ? a.load(v) : b.load(v - a.vectors);
        }
        return;
    }
    const uint4* startA = a.start();
    const uint4* startB = b.start() - a.vectors;
    uint4 loaded[rounds];
#pragma unroll
    for (uint32_t r = 0; r < rounds; r++) {
        const uint32_t v = threadIdx.x + r * INTERSECT_THREADS;
        if (v < vectors) {
            loaded[r] = __ldg((v < a.vectors ? startA : startB) + v);
        }
    }
#pragma unroll
    for (uint32_t r = 0; r < rounds; r++) {
        const uint32_t v = threadIdx.x + r * INTERSECT_THREADS;
        if (v < vectors) {
            to[v] = loaded[r];
        }
    }
}

// The steps of one thread, one bit per step.
struct MergeSteps {
    uint32_t taken;  // the step took an element of A
    uint32_t found;  // and it was a match
};

// Merges `steps` elements from shared[i] of A and shared[j] of B. FULL: steps
// is ITEMS.
template <uint32_t ITEMS, bool FULL>
GRIFFIN_DEVICE MergeSteps intersect_merge_steps(const uint32_t* shared, uint32_t i, uint32_t j, uint32_t steps) {
    MergeSteps done = {0, 0};
    uint32_t a = shared[i];
    uint32_t b = shared[j];
    const uint32_t both = i + j;
#pragma unroll
    for (uint32_t k = 0; k < ITEMS; k++) {
        if (FULL || k < steps) {
            const bool take = a <= b;
            done.taken |= take ? 1u << k : 0;
            done.found |= a == b ? 1u << k : 0;
            i += take;
            // Invariant: A's next element is shared[i], B's is shared[both + k
            // + 1 - i].
            const uint32_t next = shared[take ? i : both + k + 1 - i];
            a = take ? next : a;
            b = take ? b : next;
        }
    }
    return done;
}

// Merges a tile: each thread finds its diagonal and merges its part from shared memory. Called by all INTERSECT_THREADS
// threads of the block, with MergeShape::sharedWords words of shared memory, aligned to 16 bytes. The next tile may
// follow at once: nothing after the last barrier reads the words that it writes first.
template <uint32_t ITEMS>
GRIFFIN_DEVICE void intersect_merge_tile(const IntersectPairParams& p, uint32_t tile, uint32_t na, uint32_t nb,
                                         uint32_t* shared) {
    using Shape = MergeShape<ITEMS>;
    __shared__ uint32_t ends[2];
    __shared__ uint32_t warpSums[INTERSECT_THREADS / 32];
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t warp = threadIdx.x >> 5;
    const uint32_t from = tile * Shape::size;
    const uint32_t size = min(Shape::size, na + nb - from);
    if (p.bounds == nullptr) {
        if (warp < 2) {
            const uint32_t end = intersect_diagonal(p.listA, na, p.listB, nb, warp == 0 ? from : from + size);
            if (lane == 0) {
                ends[warp] = end;
            }
        }
        __syncthreads();
    }
    const uint32_t a0 = p.bounds == nullptr ? ends[0] : p.bounds[tile];
    const uint32_t a1 = p.bounds == nullptr ? ends[1] : p.bounds[tile + 1];
    const uint32_t b0 = from - a0;
    const uint32_t ta = a1 - a0;
    const uint32_t tb = size - ta;

    const MergeRun runA(p.listA, na, a0, a1);
    const MergeRun runB(p.listB, nb, b0, b0 + tb);
    intersect_merge_load<ITEMS>(runA, runB, shared);
    __syncthreads();

    const uint32_t atA = runA.head;
    const uint32_t atB = runA.vectors * 4 + runB.head;
    const uint32_t diagonal = min(threadIdx.x * ITEMS, size);
    uint32_t lo = diagonal > tb ? diagonal - tb : 0;
    uint32_t hi = min(diagonal, ta);
    while (lo < hi) {
        const uint32_t mid = (lo + hi) / 2;
        if (shared[atA + mid] <= shared[atB + diagonal - 1 - mid]) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    const uint32_t i = atA + lo;
    const uint32_t j = atB + diagonal - lo;
    MergeSteps done;
    if (size == Shape::size) {
        done = intersect_merge_steps<ITEMS, true>(shared, i, j, ITEMS);
    } else {
        done = intersect_merge_steps<ITEMS, false>(shared, i, j, min(ITEMS, size - diagonal));
    }

    const uint32_t mine = __popc(done.found);
    const uint32_t sum = warp_inclusive_sum(mine);
    if (lane == 31) {
        warpSums[warp] = sum;
    }
    __syncthreads();
    uint32_t rank = sum - mine;
    uint32_t total = 0;
#pragma unroll
    for (uint32_t w = 0; w < INTERSECT_THREADS / 32; w++) {
        rank += w < warp ? warpSums[w] : 0;
        total += warpSums[w];
    }
    uint32_t* staged = shared + Shape::vectors * 4;
    while (done.found != 0) {
        const uint32_t k = __ffs(done.found) - 1;
        done.found &= done.found - 1;
        const uint32_t before = __popc(done.taken & ((1u << k) - 1));
        staged[rank++] =
            p.slots.second != nullptr ? (lo + before) << 16 | (diagonal - lo + k - before) : shared[i + before];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        intersect_count(p.slots, tile, total);
    }
    const uint64_t base = static_cast<uint64_t>(tile) * Shape::slots;
    for (uint32_t m = threadIdx.x; m < total; m += INTERSECT_THREADS) {
        const uint32_t match = staged[m];
        if (p.slots.second != nullptr) {
            p.slots.first[base + m] = a0 + (match >> 16);
            p.slots.second[base + m] = b0 + (match & 0xffff);
        } else {
            p.slots.first[base + m] = match;
        }
    }
}
