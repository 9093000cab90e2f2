#pragma once

#include "../../gpu/device/cuda.cuh"
#include "compaction.cuh"

// Mirror of pairParams in pair.go.
struct IntersectPairParams {
    IntersectSlots slots;
    const uint32_t* listA;    // [numA], rising
    const uint32_t* listB;    // [numB], rising
    const uint32_t* lengthA;  // {number of elements, at most numA}; null: numA
    const uint32_t* lengthB;
    uint32_t* bounds;         // merge: [numTiles + 1], where diagonals cross A; null: tiles compute them
    const uint32_t* parents;  // find: [tiles of A] ranks of their first elements; null: none
    uint32_t* ranks;          // find: [numA], out; null: find matches
    uint32_t numA;
    uint32_t numB;
    uint32_t crossing;   // adaptive: ratio of lengths from which on A is searched in B
    uint32_t numGroups;  // merge: sums of groups that intersect_partition clears
};

// *length if set, otherwise n.
GRIFFIN_DEVICE uint32_t intersect_length(const uint32_t* length, uint32_t n) {
    if (length != nullptr) {
        n = __ldg(length);
    }
    return n;
}

GRIFFIN_DEVICE uint32_t intersect_tiles(uint32_t n, uint32_t size) {
    return n / size + (n % size != 0);
}

// Narrows [lo, hi) to the first element of list that is at least x, or hi, for all items of a thread in lockstep, so
// that their loads are in flight together. span is at least every hi - lo. Elements are stride words apart.
template <uint32_t ITEMS>
GRIFFIN_DEVICE void intersect_lower_bounds(const uint32_t* list, uint32_t stride, uint32_t length, uint32_t span,
                                           const uint32_t (&x)[ITEMS], uint32_t (&lo)[ITEMS], uint32_t (&hi)[ITEMS]) {
    for (; span > 0; span /= 2) {
        uint32_t value[ITEMS];
#pragma unroll
        for (uint32_t k = 0; k < ITEMS; k++) {
            const uint32_t mid = lo[k] + (hi[k] - lo[k]) / 2;
            value[k] = __ldg(list + static_cast<uint64_t>(min(mid, length - 1)) * stride);
        }
#pragma unroll
        for (uint32_t k = 0; k < ITEMS; k++) {
            const uint32_t mid = lo[k] + (hi[k] - lo[k]) / 2;
            const bool open = lo[k] < hi[k];
            const bool below = value[k] < x[k];
            lo[k] = open && below ? mid + 1 : lo[k];
            hi[k] = open && !below ? mid : hi[k];
        }
    }
}

// The upper levels of binary searches: elements that divide a list into 256 equal parts, in shared memory.
constexpr uint32_t INTERSECT_UPPER = 255;

struct UpperLevels {
    const uint32_t* list;
    uint32_t stride;
    uint32_t length;  // at least 1
    uint32_t* upper;  // [INTERSECT_UPPER], shared

    GRIFFIN_DEVICE uint32_t position(uint32_t i) const {
        return static_cast<uint32_t>((static_cast<uint64_t>(i + 1) * length) >> 8);
    }
    // Called by all threads of the block; upper may be read after a
    // __syncthreads.
    GRIFFIN_DEVICE void load() const {
        for (uint32_t i = threadIdx.x; i < INTERSECT_UPPER; i += blockDim.x) {
            upper[i] = __ldg(list + static_cast<uint64_t>(position(i)) * stride);
        }
    }
    // [lo, hi) becomes the part with the first element that is at least x; if there is none, it is hi.
    GRIFFIN_DEVICE void narrow(uint32_t x, uint32_t& lo, uint32_t& hi) const {
        uint32_t part = 0;
#pragma unroll
        for (uint32_t step = (INTERSECT_UPPER + 1) / 2; step > 0; step /= 2) {
            part += upper[part + step - 1] < x ? step : 0;
        }
        lo = part == 0 ? 0 : position(part - 1) + 1;
        hi = part == INTERSECT_UPPER ? length : position(part);
    }
    // Sets lo to the first element that is at least x, or length.
    template <uint32_t ITEMS>
    GRIFFIN_DEVICE void lower_bounds(const uint32_t (&x)[ITEMS], uint32_t (&lo)[ITEMS]) const {
        uint32_t hi[ITEMS];
#pragma unroll
        for (uint32_t k = 0; k < ITEMS; k++) {
            narrow(x[k], lo[k], hi[k]);
        }
        intersect_lower_bounds(list, stride, length, length / 256 + 1, x, lo, hi);
    }
};

// Finds a tile of A in B, whose upper levels are in shared memory. Called by a block of INTERSECT_THREADS threads, with
// a non-empty tile and B not empty.
GRIFFIN_DEVICE void intersect_probe_tile(const IntersectPairParams& p, uint32_t tile, uint32_t na,
                                         const UpperLevels& levels) {
    bool match[INTERSECT_ITEMS];
    uint32_t x[INTERSECT_ITEMS];
    uint32_t at[INTERSECT_ITEMS];
    uint32_t first[INTERSECT_ITEMS];
#pragma unroll
    for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
        const uint32_t i = tile * INTERSECT_TILE + k * INTERSECT_THREADS + threadIdx.x;
        match[k] = i < na;
        x[k] = match[k] ? __ldg(p.listA + i) : 0;
        first[k] = p.slots.second != nullptr ? i : x[k];
    }
    levels.lower_bounds(x, at);
#pragma unroll
    for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
        match[k] = match[k] && at[k] < levels.length && __ldg(p.listB + min(at[k], levels.length - 1)) == x[k];
    }
    intersect_emit(p.slots, tile, match, first, at);
}
