#include "../device/cuda.cuh"
#include "../device/warp_reduce.cuh"

/* Mirrored by rebaseParams in rebase.go. */
struct ResidencyRebaseParams {
    uint32_t* docIDs; /* [count], each at least base */
    uint32_t count;
    uint32_t base;
};

/*
 * Converts DocIDs of a segment to DocIDs of a shard: subtracts the shard's first DocID.
 *
 * Grid: one thread per DocID. Block: 256 threads. No shared memory. Thread i of the grid writes
 * docIDs[i]. CPU reference: source.next in source.go.
 */
GRIFFIN_KERNEL(residency_rebase, ResidencyRebaseParams, 256) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count) {
        p.docIDs[i] -= p.base;
    }
}

/* maxRuns in column.go. */
constexpr uint32_t kMaxRuns = 16;

struct ResidencyRun {
    uint64_t lo, hi; /* lo is at least 1 */
};

/* Mirrored by rangeParams in column.go. */
struct ResidencyRangeParams {
    const void* values; /* [count]: 0: no value */
    uint32_t* bits;     /* [numWords] */
    uint32_t* total;    /* the number of documents is added, unless it is null */
    uint32_t count;
    uint32_t numWords; /* of 32 documents, at least count / 32, rounded up */
    uint32_t keep;     /* 1: clears bits only */
    uint32_t numRuns;
    ResidencyRun runs[kMaxRuns];
};

/* A warp has 32 words; lane i writes word i. */
template <class T>
__device__ __forceinline__ void residency_range(const ResidencyRangeParams& p) {
    const auto* values = static_cast<const T*>(p.values);
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32;
    uint32_t own = 0;
#pragma unroll 8
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t doc = (first + i) * 32 + lane;
        const uint64_t value = doc < p.count ? values[doc] : 0;
        bool in = false;
        for (uint32_t r = 0; r < p.numRuns; r++) {
            in = in || (value >= p.runs[r].lo && value <= p.runs[r].hi);
        }
        const uint32_t word = __ballot_sync(0xffffffffU, in);
        own = i == lane ? word : own;
    }
    if (first + lane < p.numWords) {
        own = p.keep != 0 ? p.bits[first + lane] & own : own;
        p.bits[first + lane] = own;
    }
    if (p.total != nullptr) {
        const uint32_t sum = warp_sum(static_cast<uint32_t>(__popc(own)));
        if (lane == 0 && sum > 0) {
            atomicAdd(p.total, sum);
        }
    }
}

/*
 * Computes the bitmap of the documents whose value is in one of the runs, and may count them.
 *
 * Grid: one thread per word of 32 documents. Block: 256 threads. No shared memory. CPU reference:
 * column.Column.Range.
 */
GRIFFIN_KERNEL(residency_range16, ResidencyRangeParams, 256) {
    residency_range<uint16_t>(p);
}

GRIFFIN_KERNEL(residency_range32, ResidencyRangeParams, 256) {
    residency_range<uint32_t>(p);
}

GRIFFIN_KERNEL(residency_range64, ResidencyRangeParams, 256) {
    residency_range<uint64_t>(p);
}
