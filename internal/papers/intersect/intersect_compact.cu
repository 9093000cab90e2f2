#include "../../gpu/device/block_reduce.cuh"
#include "../../gpu/device/cuda.cuh"
#include "compaction.cuh"

// Mirror of gatherParams in compaction.go.
struct IntersectGatherParams {
    IntersectSlots slots;
    const uint32_t* listA;   // DocIDs of A, or null: slots.first holds DocIDs
    const uint32_t* blocks;  // ascending numbers of the decoded blocks of B, or null: B is the whole list
    const uint32_t* prior;   // [numPrior][priorStride]: positions in other lists, by position in A
    uint32_t* docIDs;        // [matches]: DocIDs, or the content of slots.first if listA is set and it holds positions
    uint32_t* positions;     // [numPrior + 1 or 2][stride], or null: see below
    uint32_t* count;         // {matches}
    uint32_t* offsets;       // [numTiles]: matches before each tile, or null
    uint32_t* length;        // {total elements, if the matches are blocks}, or null
    uint32_t numPrior;       // number of lists whose intersection is A; 0 if A is a list itself
    uint32_t priorStride;
    uint32_t stride;
    uint32_t blockShift;  // log2 of the elements per block of B
};

// Matches of a tile that a thread has in flight.
constexpr uint32_t INTERSECT_GATHERED = 4;

// Matches in the registers of a thread: from + threadIdx.x, and so on in steps of the block size.
struct GatherBatch {
    uint32_t first[INTERSECT_GATHERED];
    uint32_t second[INTERSECT_GATHERED];
    uint32_t docID[INTERSECT_GATHERED];

    GRIFFIN_DEVICE void load(const IntersectGatherParams& p, uint64_t base, uint32_t from, uint32_t count) {
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_GATHERED; k++) {
            const uint32_t i = from + k * INTERSECT_THREADS + threadIdx.x;
            if (i < count) {
                first[k] = __ldg(&p.slots.first[base + i]);
                if (p.positions != nullptr) {
                    second[k] = __ldg(&p.slots.second[base + i]);
                }
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_GATHERED; k++) {
            const uint32_t i = from + k * INTERSECT_THREADS + threadIdx.x;
            if (i < count) {
                docID[k] = p.listA != nullptr ? __ldg(&p.listA[first[k]]) : first[k];
            }
        }
    }

    // The first match of the tile has index `offset`.
    GRIFFIN_DEVICE void store(const IntersectGatherParams& p, uint32_t offset, uint32_t from, uint32_t count) const {
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_GATHERED; k++) {
            const uint32_t i = from + k * INTERSECT_THREADS + threadIdx.x;
            if (i < count) {
                p.docIDs[offset + i] = docID[k];
                if (p.positions != nullptr) {
                    place(p, offset + i, first[k], second[k]);
                }
            }
        }
    }

    // Writes the positions of match `to`, at a and b in the lists: first the rows of the lists that A came from (A's
    // own if it is a list itself), then B's.
    GRIFFIN_DEVICE static void place(const IntersectGatherParams& p, uint32_t to, uint32_t a, uint32_t b) {
        if (p.blocks != nullptr) {
            const uint32_t within = b & ((1u << p.blockShift) - 1);
            b = (__ldg(&p.blocks[b >> p.blockShift]) << p.blockShift) + within;
        }
        uint32_t* row = p.positions + to;
        if (p.numPrior == 0) {
            *row = a;
            row += p.stride;
        }
        for (uint32_t l = 0; l < p.numPrior; l++) {
            *row = __ldg(&p.prior[static_cast<uint64_t>(l) * p.priorStride + a]);
            row += p.stride;
        }
        *row = b;
    }
};

// Copies the matches of all tiles to their destination: the second half of compaction by scan (Ding et al., WWW 2009,
// §6.1; the paper leaves open how matches are collected).
//
// Grid: any; block b takes tiles b, b + gridDim.x, … Block: INTERSECT_THREADS threads. Shared memory: 32 bytes. Out:
// docIDs and positions in ascending order, and count, from thread 0 of the block with the last tile. The offset of a
// tile is the sum of all earlier groups and of the earlier counts in its group. CPU reference: mergeLists in
// intersect_test.go.
GRIFFIN_KERNEL(intersect_gather, IntersectGatherParams, 256) {
    __shared__ uint32_t sums[INTERSECT_THREADS / 32];
    const uint32_t numTiles = p.slots.control[0];
    const uint32_t capacity = p.slots.control[1];
    if (numTiles == 0 && blockIdx.x == 0 && threadIdx.x == 0) {
        *p.count = 0;
        if (p.length != nullptr) {
            *p.length = 0;
        }
    }
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        const uint32_t count = p.slots.counts[tile];
        uint32_t before = 0;
        uint32_t counted = 0;
        if (p.slots.groupSums != nullptr) {
            const uint32_t group = tile >> p.slots.groupShift;
            for (uint32_t g = threadIdx.x; g < group; g += INTERSECT_THREADS) {
                before += p.slots.groupSums[g];
            }
            counted = group << p.slots.groupShift;
        }
        for (uint32_t t = counted + threadIdx.x; t < tile; t += INTERSECT_THREADS) {
            before += p.slots.counts[t];
        }
        const uint64_t base = static_cast<uint64_t>(tile) * capacity;
        GatherBatch batch;
        batch.load(p, base, 0, count);
        const uint32_t offset = block_sum(before, sums);
        if (threadIdx.x == 0) {
            if (p.offsets != nullptr) {
                p.offsets[tile] = offset;
            }
            if (tile == numTiles - 1) {
                *p.count = offset + count;
                if (p.length != nullptr) {
                    *p.length = ((offset + count) << p.blockShift) - p.slots.control[2];
                }
            }
        }
        batch.store(p, offset, 0, count);
        for (uint32_t from = INTERSECT_GATHERED * INTERSECT_THREADS; from < count;
             from += INTERSECT_GATHERED * INTERSECT_THREADS) {
            batch.load(p, base, from, count);
            batch.store(p, offset, from, count);
        }
    }
}
