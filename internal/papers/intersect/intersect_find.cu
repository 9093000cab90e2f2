#include "../../gpu/device/cuda.cuh"
#include "pair.cuh"

// Parallel merge find of Ding et al., WWW 2009, §7: for each element of A the position of the first element of B that
// is not below it. Splitters of A, found in B, cut both lists into segments, level by level; finally each element is
// found in its segment.
//
// We differ: the paper leaves open how segments are cut. Here the last ones have 1,024 elements of A each, a block's
// work, and the numbers of segments of the levels above are powers of a common factor. A segment of B is searched in
// shared memory if it fits.

// Mirror of pivotsParams in find.go.
struct IntersectPivotsParams {
    const uint32_t* listA;
    const uint32_t* listB;
    const uint32_t* lengthA;
    const uint32_t* lengthB;
    const uint32_t* parents;  // [ceil(length of A / parentStride)], ranks of the previous level, or null
    uint32_t* ranks;          // [ceil(length of A / stride)], out
    uint32_t numA;
    uint32_t numB;
    uint32_t stride;  // elements of A between splitters of this level
    uint32_t parentStride;
};

// One level of splitters. Grid and block: any; the thread of splitter i writes rank i.
GRIFFIN_KERNEL(intersect_pivots, IntersectPivotsParams, 256) {
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t nb = intersect_length(p.lengthB, p.numB);
    const uint32_t numPivots = intersect_tiles(na, p.stride);
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numPivots; i += gridDim.x * blockDim.x) {
        const uint32_t x = __ldg(p.listA + static_cast<uint64_t>(i) * p.stride);
        uint32_t lo = 0;
        uint32_t hi = nb;
        if (p.parents != nullptr) {
            const uint32_t parent = static_cast<uint64_t>(i) * p.stride / p.parentStride;
            lo = p.parents[parent];
            hi = parent + 1 < intersect_tiles(na, p.parentStride) ? p.parents[parent + 1] : nb;
        }
        while (lo < hi) {
            const uint32_t mid = lo + (hi - lo) / 2;
            if (__ldg(p.listB + mid) < x) {
                lo = mid + 1;
            } else {
                hi = mid;
            }
        }
        p.ranks[i] = lo;
    }
}

// Elements of B in shared memory.
constexpr uint32_t INTERSECT_SEGMENT = 6144;

// Writes ranks to p.ranks, or matches to the tile's slots. value[k] is the element of B at rank[k], if it exists.
template <uint32_t ITEMS>
GRIFFIN_DEVICE void intersect_found(const IntersectPairParams& p, uint32_t tile, uint32_t na, uint32_t nb,
                                    const uint32_t (&x)[ITEMS], const uint32_t (&rank)[ITEMS],
                                    const uint32_t (&value)[ITEMS]) {
    bool match[ITEMS];
    uint32_t first[ITEMS];
#pragma unroll
    for (uint32_t k = 0; k < ITEMS; k++) {
        const uint32_t i = tile * INTERSECT_TILE + k * (INTERSECT_TILE / ITEMS) + threadIdx.x;
        if (p.ranks != nullptr && i < na) {
            p.ranks[i] = rank[k];
        }
        match[k] = i < na && rank[k] < nb && value[k] == x[k];
        first[k] = p.slots.second != nullptr ? i : x[k];
    }
    if (p.ranks == nullptr) {
        intersect_emit(p.slots, tile, match, first, rank);
    }
}

// The last step: finds each element of A in its segment of B.
//
// Grid: any; block b takes tiles b, b + gridDim.x, … of 1,024 elements of A. Block: 256 threads. Shared memory: 24 KiB,
// static. In: parents, the ranks of the tiles' first elements. Out: p.ranks, or the slots of search tiles. CPU
// reference: contraction.Binary.
GRIFFIN_KERNEL(intersect_find, IntersectPairParams, 256) {
    __shared__ __align__(16) uint32_t segment[INTERSECT_SEGMENT];
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t nb = intersect_length(p.lengthB, p.numB);
    const uint32_t numTiles = nb == 0 && p.ranks == nullptr ? 0 : intersect_tiles(na, INTERSECT_TILE);
    if (p.ranks == nullptr && blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, INTERSECT_TILE);
    }
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        const uint32_t from = p.parents[tile];
        const uint32_t to = tile + 1 < numTiles ? p.parents[tile + 1] : nb;
        // Includes the next element, which may be a match.
        const uint32_t end = min(to, nb - 1) + 1;
        const uint32_t head = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p.listB + from) >> 2) & 3;
        const bool fits = nb > 0 && head + end - from <= INTERSECT_SEGMENT;
        uint32_t x[INTERSECT_ITEMS];
        uint32_t lo[INTERSECT_ITEMS];
        uint32_t hi[INTERSECT_ITEMS];
        uint32_t value[INTERSECT_ITEMS];
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            const uint32_t i = tile * INTERSECT_TILE + k * INTERSECT_THREADS + threadIdx.x;
            x[k] = i < na ? __ldg(p.listA + i) : 0;
            lo[k] = from;
            hi[k] = i < na ? to : from;
        }
        if (fits) {
            for (uint32_t v = threadIdx.x; v < (head + end - from + 3) / 4; v += INTERSECT_THREADS) {
                const uint32_t at = from + 4 * v - head;
                if (from + 4 * v >= head && at + 4 <= nb) {
                    reinterpret_cast<uint4*>(segment)[v] = __ldg(reinterpret_cast<const uint4*>(p.listB + at));
                    continue;
                }
                for (uint32_t w = 0; w < 4; w++) {
                    if (at + w < nb) {
                        segment[4 * v + w] = __ldg(p.listB + (at + w));
                    }
                }
            }
            __syncthreads();
            for (uint32_t span = to - from; span > 0; span /= 2) {
#pragma unroll
                for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
                    const uint32_t mid = lo[k] + (hi[k] - lo[k]) / 2;
                    const bool open = lo[k] < hi[k];
                    const bool below = open && segment[head + mid - from] < x[k];
                    lo[k] = below ? mid + 1 : lo[k];
                    hi[k] = open && !below ? mid : hi[k];
                }
            }
#pragma unroll
            for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
                value[k] = lo[k] < nb ? segment[head + lo[k] - from] : 0;
            }
        } else {
            if (nb > 0) {
                intersect_lower_bounds(p.listB, 1, nb, to - from, x, lo, hi);
            }
#pragma unroll
            for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
                value[k] = lo[k] < nb ? __ldg(p.listB + lo[k]) : 0;
            }
        }
        intersect_found(p, tile, na, nb, x, lo, value);
        __syncthreads();  // the next tile overwrites the segment
    }
}

// No levels: a thread searches an element of A in all of B, like the papers' GPU binary search.
//
// Grid: any. Block: 1,024 threads. Shared memory: 128 bytes. Out: as intersect_find.
GRIFFIN_KERNEL(intersect_binary, IntersectPairParams, 1024) {
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t nb = intersect_length(p.lengthB, p.numB);
    const uint32_t numTiles = nb == 0 && p.ranks == nullptr ? 0 : intersect_tiles(na, INTERSECT_TILE);
    if (p.ranks == nullptr && blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, INTERSECT_TILE);
    }
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        const uint32_t i = tile * INTERSECT_TILE + threadIdx.x;
        uint32_t x[1] = {i < na ? __ldg(p.listA + i) : 0};
        uint32_t lo[1] = {0};
        uint32_t hi = i < na ? nb : 0;
        while (lo[0] < hi) {
            const uint32_t mid = lo[0] + (hi - lo[0]) / 2;
            if (__ldg(p.listB + mid) < x[0]) {
                lo[0] = mid + 1;
            } else {
                hi = mid;
            }
        }
        const uint32_t value[1] = {lo[0] < nb ? __ldg(p.listB + lo[0]) : 0};
        intersect_found(p, tile, na, nb, x, lo, value);
    }
}

// A binary search, faster than the papers': the upper levels are in shared memory, and a thread has four loads in
// flight.
//
// Grid: any; block b takes tiles b, b + gridDim.x, … Block: 256 threads. Shared memory: 1.1 KiB, static. Out: the slots
// of search tiles.
GRIFFIN_KERNEL(intersect_probe, IntersectPairParams, 256) {
    __shared__ uint32_t upper[INTERSECT_UPPER];
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t nb = intersect_length(p.lengthB, p.numB);
    const uint32_t numTiles = nb == 0 ? 0 : intersect_tiles(na, INTERSECT_TILE);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, INTERSECT_TILE);
    }
    if (blockIdx.x >= numTiles) {
        return;
    }
    const UpperLevels levels = {p.listB, 1, nb, upper};
    levels.load();
    __syncthreads();
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        intersect_probe_tile(p, tile, na, levels);
    }
}

// Elements of A per block.
constexpr uint32_t INTERSECT_FEW = INTERSECT_THREADS / 8;

// For few elements, which would leave most of the device idle: 8 threads compare 8 elements of B, so that a load
// shrinks the range to a ninth.
//
// Grid: any; block b takes tiles b, b + gridDim.x, … of 32 elements of A. Block: 256 threads. Shared memory: 1.1 KiB,
// static. Out: slots of 32 matches per tile.
GRIFFIN_KERNEL(intersect_probe_few, IntersectPairParams, 256) {
    __shared__ uint32_t upper[INTERSECT_UPPER];
    __shared__ uint32_t counts[INTERSECT_THREADS / 32];
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t nb = intersect_length(p.lengthB, p.numB);
    const uint32_t numTiles = nb == 0 ? 0 : intersect_tiles(na, INTERSECT_FEW);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, INTERSECT_FEW);
    }
    if (blockIdx.x >= numTiles) {
        return;
    }
    const UpperLevels levels = {p.listB, 1, nb, upper};
    levels.load();
    __syncthreads();
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t warp = threadIdx.x >> 5;
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        const uint32_t i = tile * INTERSECT_FEW + threadIdx.x / 8;
        const uint32_t x = i < na ? __ldg(p.listA + i) : 0;
        uint32_t lo;
        uint32_t hi;
        levels.narrow(x, lo, hi);
        while (__any_sync(0xffffffffu, lo < hi)) {
            const uint32_t step = (hi - lo + 8) / 9;
            const uint32_t at = lo + (lane % 8 + 1) * step - 1;
            const bool below = lo < hi && at < hi && __ldg(p.listB + at) < x;
            const uint32_t steps = __popc(__ballot_sync(0xffffffffu, below) >> (lane & 24) & 0xff);
            if (lo < hi) {
                lo += steps * step;
                hi = steps < 8 ? min(hi, lo + step - 1) : hi;
            }
        }
        const bool match = i < na && lo < nb && __ldg(p.listB + lo) == x;
        const uint32_t matches = __ballot_sync(0xffffffffu, match && lane % 8 == 0);
        if (lane == 0) {
            counts[warp] = __popc(matches);
        }
        __syncthreads();
        uint32_t before = __popc(matches & ((1u << lane) - 1));
        uint32_t total = 0;
        for (uint32_t w = 0; w < INTERSECT_THREADS / 32; w++) {
            before += w < warp ? counts[w] : 0;
            total += counts[w];
        }
        if (threadIdx.x == 0) {
            intersect_count(p.slots, tile, total);
        }
        if (match && lane % 8 == 0) {
            const uint64_t to = static_cast<uint64_t>(tile) * INTERSECT_FEW + before;
            p.slots.first[to] = p.slots.second != nullptr ? i : x;
            if (p.slots.second != nullptr) {
                p.slots.second[to] = lo;
            }
        }
        __syncthreads();  // the next tile overwrites counts
    }
}
