#pragma once

#include "merge_path.cuh"

// Finds where the diagonals that cut tiles cross the merge path: the partitioning stage of Liu, Wang and Swanson, PPoPP
// 2018, §3.1.2. We differ: a warp searches a diagonal.
//
// Grid: any; warps take diagonals in turn. Block: 256 threads. No shared memory. Out: bounds[t], the number of elements
// of A before tile t, for all tiles and for the end, unless the pair will be searched (crossing); clears the sums of
// groups.
template <uint32_t ITEMS>
GRIFFIN_DEVICE void intersect_partition(const IntersectPairParams& p) {
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t nb = intersect_length(p.lengthB, p.numB);
    if (p.slots.groupSums != nullptr) {
        for (uint32_t g = blockIdx.x * blockDim.x + threadIdx.x; g < p.numGroups; g += gridDim.x * blockDim.x) {
            p.slots.groupSums[g] = 0;
        }
    }
    if (nb >= static_cast<uint64_t>(na) * p.crossing) {
        return;
    }
    const uint32_t numTiles = intersect_tiles(na + nb, MergeShape<ITEMS>::size);
    const uint32_t warps = gridDim.x * (blockDim.x / 32);
    for (uint32_t t = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; t <= numTiles; t += warps) {
        const uint32_t diagonal = t == numTiles ? na + nb : t * MergeShape<ITEMS>::size;
        const uint32_t before = intersect_diagonal(p.listA, na, p.listB, nb, diagonal);
        if ((threadIdx.x & 31) == 0) {
            p.bounds[t] = before;
        }
    }
}

// Merges tiles: the merging stage of §3.1.2. We differ: both lists are loaded with the element behind the tile, so that
// no match between two tiles is lost.
//
// intersect_merge_N, grid: any; block b takes tiles b, b + gridDim.x, … Block: 256 threads, N elements each. Shared
// memory: N = 7 10.8 KiB, N = 15 22.9 KiB, static. In: bounds, or null. Out: slots of mergeSlots(N) matches; thread 0
// writes their counts. No DocID may be all ones; together the lists have at most MaxElements.
//
// intersect_adaptive_N: the same, but a pair whose lengths, read on the device, differ by crossing or more is searched,
// in tiles of 1,024 elements of A.
template <uint32_t ITEMS, bool ADAPTIVE>
GRIFFIN_DEVICE void intersect_pair(const IntersectPairParams& p) {
    using Shape = MergeShape<ITEMS>;
    __shared__ __align__(16) uint32_t shared[Shape::sharedWords];
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t nb = intersect_length(p.lengthB, p.numB);
    const bool search = ADAPTIVE && nb >= static_cast<uint64_t>(na) * p.crossing;
    const bool empty = na == 0 || nb == 0;
    const uint32_t numTiles = empty    ? 0
                              : search ? intersect_tiles(na, INTERSECT_TILE)
                                       : intersect_tiles(na + nb, Shape::size);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, search ? INTERSECT_TILE : Shape::slots);
    }
    if (blockIdx.x >= numTiles) {
        return;
    }
    if (search) {
        const UpperLevels levels = {p.listB, 1, nb, shared};
        levels.load();
        __syncthreads();
        for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
            intersect_probe_tile(p, tile, na, levels);
        }
        return;
    }
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        intersect_merge_tile<ITEMS>(p, tile, na, nb, shared);
    }
}
