#include "../../gpu/device/cuda.cuh"
#include "pair.cuh"

// Block selection and search in decoded blocks (Ding et al., WWW 2009, §8.1; Liu, Wang and Swanson, PPoPP 2018, §3.1.2,
// "binary search with the skip pointers").

// Mirror of selectParams in blocks.go.
struct IntersectSelectParams {
    IntersectSlots slots;
    const uint32_t* listA;
    const uint32_t* lengthA;  // or null: numA
    const uint32_t* firsts;   // [numBlocks], firstsStride words apart: first element of each block
    uint32_t* ranks;  // [numA], out: number of selected blocks in the tile up to the element's own; all ones: no block
    uint32_t numA;
    uint32_t numBlocks;
    uint32_t firstsStride;
    uint32_t missing;  // elements that the last block lacks
};

// Tells intersect_gather how many elements the last block lacks, if A has an element that is not below its first.
GRIFFIN_DEVICE void intersect_note_missing(const IntersectSelectParams& p, uint32_t na) {
    const uint32_t lastFirst = __ldg(p.firsts + static_cast<uint64_t>(p.numBlocks - 1) * p.firstsStride);
    p.slots.control[2] = na > 0 && __ldg(p.listA + na - 1) >= lastFirst ? p.missing : 0;
}

// Selects blocks by searching each element of A among their first elements. An element selects its block if the
// preceding element lies before the block.
//
// Grid: any; block b takes tiles b, b + gridDim.x, … of 1,024 elements of A. Block: 256 threads. Shared memory: 1.2
// KiB, static. Out: slots.first: ascending numbers of selected blocks; ranks; control[2]. CPU reference: a scan.
GRIFFIN_KERNEL(intersect_select_by_element, IntersectSelectParams, 256) {
    __shared__ uint32_t upper[INTERSECT_UPPER];
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t numTiles = intersect_tiles(na, INTERSECT_TILE);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, INTERSECT_TILE);
        intersect_note_missing(p, na);
    }
    if (blockIdx.x >= numTiles) {
        return;
    }
    const UpperLevels levels = {p.firsts, p.firstsStride, p.numBlocks, upper};
    levels.load();
    __syncthreads();
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        uint32_t x[INTERSECT_ITEMS];
        uint32_t at[INTERSECT_ITEMS];
        bool head[INTERSECT_ITEMS];
        uint32_t upTo[INTERSECT_ITEMS];
        const uint32_t from = tile * INTERSECT_TILE + threadIdx.x;
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            const uint32_t i = from + k * INTERSECT_THREADS;
            x[k] = i < na ? __ldg(p.listA + i) + 1 : 0;
        }
        levels.lower_bounds(x, at);  // the number of blocks that begin at or before the element
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            const uint32_t i = from + k * INTERSECT_THREADS;
            const bool in = i < na && at[k] > 0;
            at[k] = in ? at[k] - 1 : 0xffffffffu;
            head[k] = in && (i == 0 ||
                             __ldg(p.listA + i - 1) < __ldg(p.firsts + static_cast<uint64_t>(at[k]) * p.firstsStride));
        }
        intersect_emit(p.slots, tile, head, at, at, upTo);
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            const uint32_t i = from + k * INTERSECT_THREADS;
            if (i < na) {
                p.ranks[i] = at[k] == 0xffffffffu ? at[k] : upTo[k];
            }
        }
    }
}

// Selects blocks by searching their first elements in A: fewer searches if A has more elements than the list has
// blocks. A block is selected if the first element of A that is not below the block's first lies before the next block.
//
// Grid: any; tiles of 1,024 blocks of the list. Block and out as above, without ranks.
GRIFFIN_KERNEL(intersect_select_by_block, IntersectSelectParams, 256) {
    __shared__ uint32_t upper[INTERSECT_UPPER];
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t numTiles = na == 0 ? 0 : intersect_tiles(p.numBlocks, INTERSECT_TILE);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, INTERSECT_TILE);
        intersect_note_missing(p, na);
    }
    if (blockIdx.x >= numTiles) {
        return;
    }
    const UpperLevels levels = {p.listA, 1, na, upper};
    levels.load();
    __syncthreads();
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        uint32_t first[INTERSECT_ITEMS];
        uint32_t at[INTERSECT_ITEMS];
        uint32_t number[INTERSECT_ITEMS];
        bool selected[INTERSECT_ITEMS];
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            number[k] = tile * INTERSECT_TILE + k * INTERSECT_THREADS + threadIdx.x;
            const uint64_t entry = static_cast<uint64_t>(min(number[k], p.numBlocks - 1)) * p.firstsStride;
            first[k] = __ldg(p.firsts + entry);
        }
        levels.lower_bounds(first, at);
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            selected[k] = number[k] < p.numBlocks && at[k] < na;
            if (selected[k] && number[k] + 1 < p.numBlocks) {
                const uint64_t next = static_cast<uint64_t>(number[k] + 1) * p.firstsStride;
                selected[k] = __ldg(p.listA + at[k]) < __ldg(p.firsts + next);
            }
        }
        intersect_emit(p.slots, tile, selected, number, number);
    }
}

// Mirror of probeBlocksParams in blocks.go.
struct IntersectProbeBlocksParams {
    IntersectSlots slots;
    const uint32_t* listA;
    const uint32_t* lengthA;  // or null: numA
    const uint32_t* ranks;    // [numA], from intersect_select_by_element
    const uint32_t* offsets;  // [tiles of A], selected blocks before each tile
    const uint32_t* blocks;   // [selected], numbers of the selected blocks
    const uint32_t* decoded;  // [selected][1 << blockShift]
    uint32_t numA;
    uint32_t numBlocks;
    uint32_t missing;  // elements that the last block lacks
    uint32_t blockShift;
};

// Searches each element of A in its decoded block.
//
// Grid: any; block b takes tiles b, b + gridDim.x, … of 1,024 elements of A. Block: 256 threads. Shared memory: 128
// bytes. Out: the slots of search tiles; positions in B are positions in decoded.
GRIFFIN_KERNEL(intersect_probe_blocks, IntersectProbeBlocksParams, 256) {
    const uint32_t na = intersect_length(p.lengthA, p.numA);
    const uint32_t numTiles = intersect_tiles(na, INTERSECT_TILE);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, INTERSECT_TILE);
    }
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        const uint32_t before = p.offsets[tile];
        bool match[INTERSECT_ITEMS];
        uint32_t x[INTERSECT_ITEMS];
        uint32_t first[INTERSECT_ITEMS];
        uint32_t lo[INTERSECT_ITEMS];
        uint32_t hi[INTERSECT_ITEMS];
        uint32_t end[INTERSECT_ITEMS];
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            const uint32_t i = tile * INTERSECT_TILE + k * INTERSECT_THREADS + threadIdx.x;
            const uint32_t rank = i < na ? p.ranks[i] : 0xffffffffu;
            x[k] = i < na ? __ldg(p.listA + i) : 0;
            first[k] = p.slots.second != nullptr ? i : x[k];
            lo[k] = hi[k] = 0;
            if (rank != 0xffffffffu) {
                const uint32_t slot = before + rank - 1;
                lo[k] = slot << p.blockShift;
                hi[k] = lo[k] + (1u << p.blockShift) - (p.blocks[slot] == p.numBlocks - 1 ? p.missing : 0);
            }
            end[k] = hi[k];
        }
        for (uint32_t span = 1u << p.blockShift; span > 0; span /= 2) {
#pragma unroll
            for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
                if (lo[k] < hi[k]) {
                    const uint32_t mid = lo[k] + (hi[k] - lo[k]) / 2;
                    const bool below = p.decoded[mid] < x[k];
                    lo[k] = below ? mid + 1 : lo[k];
                    hi[k] = below ? hi[k] : mid;
                }
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            match[k] = lo[k] < end[k] && p.decoded[lo[k]] == x[k];
        }
        intersect_emit(p.slots, tile, match, first, lo);
    }
}
