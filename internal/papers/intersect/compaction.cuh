// Compaction by scan.
//
// A tile writes its matches, ascending, to the start of its slots, and their number to counts. intersect_gather sums
// the counts before each tile and copies the slots. So the output is sorted and reproducible, and no block waits for
// another.
#pragma once

#include "../../gpu/device/cuda.cuh"
#include "../../gpu/device/warp_scan.cuh"

constexpr uint32_t INTERSECT_THREADS = 256;
constexpr uint32_t INTERSECT_ITEMS = 4;
constexpr uint32_t INTERSECT_TILE = INTERSECT_THREADS * INTERSECT_ITEMS;

// Mirror of slotsParams in compaction.go.
struct IntersectSlots {
    uint32_t* first;      // [numTiles][capacity]: position in A, or the DocID if positions are not requested
    uint32_t* second;     // [numTiles][capacity]: position in B; null if positions are not requested
    uint32_t* counts;     // [numTiles]
    uint32_t* groupSums;  // [groups of 1 << groupShift tiles]: sums of counts, initially zero; may be null
    uint32_t* control;    // {numTiles, capacity, missing}, written by the finding kernel for intersect_gather
    uint32_t groupShift;
    uint32_t reserved;
};

// Called by one thread of the grid.
GRIFFIN_DEVICE void intersect_begin(const IntersectSlots& slots, uint32_t numTiles, uint32_t capacity) {
    slots.control[0] = numTiles;
    slots.control[1] = capacity;
}

// Called by one thread of the tile's block.
GRIFFIN_DEVICE void intersect_count(const IntersectSlots& slots, uint32_t tile, uint32_t count) {
    slots.counts[tile] = count;
    if (slots.groupSums != nullptr && count != 0) {
        atomicAdd(&slots.groupSums[tile >> slots.groupShift], count);
    }
}

// Writes the matches of a search tile to its slots and their number to counts. Called by all 1024 / ITEMS threads of
// the block; uses 128 bytes of shared memory. Item k of thread t is element k * (1024 / ITEMS) + t of the tile; first
// and second are its slot values if it matches. Sets upTo to the number of matches in the tile up to and including the
// item.
//
// The matches of one warp and one k are one of 32 runs, whose lengths the first warp scans.
template <uint32_t ITEMS>
GRIFFIN_DEVICE void intersect_emit(const IntersectSlots& slots, uint32_t tile, const bool (&match)[ITEMS],
                                   const uint32_t (&first)[ITEMS], const uint32_t (&second)[ITEMS],
                                   uint32_t (&upTo)[ITEMS]) {
    constexpr uint32_t warps = INTERSECT_TILE / ITEMS / 32;
    static_assert(warps * ITEMS == 32, "one warp scans the runs");
    __shared__ uint32_t runs[32];
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t warp = threadIdx.x >> 5;
    uint32_t ballots[ITEMS];
#pragma unroll
    for (uint32_t k = 0; k < ITEMS; k++) {
        ballots[k] = __ballot_sync(0xffffffffu, match[k]);
        if (lane == 0) {
            runs[k * warps + warp] = __popc(ballots[k]);
        }
    }
    __syncthreads();
    if (warp == 0) {
        const uint32_t length = runs[lane];
        const uint32_t sum = warp_inclusive_sum(length);
        runs[lane] = sum - length;
        if (lane == 31) {
            intersect_count(slots, tile, sum);
        }
    }
    __syncthreads();
    const uint64_t base = static_cast<uint64_t>(tile) * INTERSECT_TILE;
#pragma unroll
    for (uint32_t k = 0; k < ITEMS; k++) {
        const uint32_t before = runs[k * warps + warp] + __popc(ballots[k] & ((1u << lane) - 1));
        upTo[k] = before + match[k];
        if (match[k]) {
            slots.first[base + before] = first[k];
            if (slots.second != nullptr) {
                slots.second[base + before] = second[k];
            }
        }
    }
    __syncthreads();  // the next tile overwrites runs
}
template <uint32_t ITEMS>
GRIFFIN_DEVICE void intersect_emit(const IntersectSlots& slots, uint32_t tile, const bool (&match)[ITEMS],
                                   const uint32_t (&first)[ITEMS], const uint32_t (&second)[ITEMS]) {
    uint32_t upTo[ITEMS];
    intersect_emit(slots, tile, match, first, second, upTo);
}
