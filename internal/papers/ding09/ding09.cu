#include "../../gpu/device/cuda.cuh"

// Mirror of positionsParams in kernels.go.
struct Ding09PositionsParams {
    uint32_t* positions;     // [maxCandidates], in decoded blocks; out: in the list
    const uint32_t* blocks;  // numbers of the decoded blocks
    const uint32_t* count;   // number of candidates, at most maxCandidates
    uint32_t maxCandidates;
    uint32_t blockShift;  // blocks have 1 << blockShift postings
};

// Maps positions in the decoded blocks of a list to positions in the list (Ding et al. 2009, §8.2: "the i-th entry in
// the block"). Grid: any; block: 256; thread i of the grid has candidates i, i + threads, …
GRIFFIN_KERNEL(ding09_positions, Ding09PositionsParams, 256) {
    const uint32_t n = min(__ldg(p.count), p.maxCandidates);
    const uint32_t mask = (1U << p.blockShift) - 1;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const uint32_t at = p.positions[i];
        p.positions[i] = __ldg(p.blocks + (at >> p.blockShift)) << p.blockShift | (at & mask);
    }
}

// Mirror of fallBackParams in kernels.go.
struct Ding09FallBackParams {
    const uint32_t* matches;
    uint32_t* blocks;  // [1] out: number of blocks of each list that the OR decodes
    uint32_t enough;
    uint32_t reserved;
};

// An OR after an AND with enough matches decodes nothing (Ding et al. 2009, §8.3). Grid: 1; block: 32; thread 0 writes.
GRIFFIN_KERNEL(ding09_fall_back, Ding09FallBackParams, 32) {
    if (threadIdx.x == 0) *p.blocks = *p.matches >= p.enough ? 0 : 0xffffffffU;
}

// Mirror of addGlobalsParams in kernels.go.
struct Ding09AddGlobalsParams {
    const uint32_t* matches;  // null: no condition
    const uint32_t* docIDs;   // [maxSums]; null: sum i is the accumulator of document i
    const uint32_t* count;    // number of sums, at most maxSums; null: maxSums
    const uint32_t* globals;  // by DocID
    void* sums;               // of package scoring, 32 or 64 bits
    uint32_t enough;          // with *matches >= enough, nothing is added
    uint32_t maxSums;
};

// A wide sum counts postings in the high 16 bits.
GRIFFIN_DEVICE bool has_posting(uint32_t sum) {
    return sum != 0;
}

GRIFFIN_DEVICE bool has_posting(uint64_t sum) {
    return sum >> 48 != 0;
}

template <typename Sum>
GRIFFIN_DEVICE void add_globals(const Ding09AddGlobalsParams& p) {
    if (p.matches && *p.matches >= p.enough) return;
    Sum* sums = static_cast<Sum*>(p.sums);
    const uint32_t n = p.count ? min(*p.count, p.maxSums) : p.maxSums;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const Sum sum = sums[i];
        if (has_posting(sum)) sums[i] = sum + __ldg(p.globals + (p.docIDs ? __ldg(p.docIDs + i) : i));
    }
}

// sums[i] += global score of its document, if it has a posting (Ding et al. 2009, §8.4: "a precomputed global document
// score ... in a separate array"). Grid: any; block: 256; thread i of the grid has sums i, i + threads, ...
GRIFFIN_KERNEL(ding09_add_globals_narrow, Ding09AddGlobalsParams, 256) {
    add_globals<uint32_t>(p);
}

GRIFFIN_KERNEL(ding09_add_globals_wide, Ding09AddGlobalsParams, 256) {
    add_globals<uint64_t>(p);
}
