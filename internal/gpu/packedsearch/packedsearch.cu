#include "all.cuh"
#include "any.cuh"

/* Any list: the best hits and, with kFlagCount, their number.
 *
 * Grid: at most one block per range of kRangeDocs documents. Block: kThreads threads. Shared memory:
 * kernel.sharedBytes. In: lists, whose payloads can be in host memory. Out: hits, best first, and result. Reference:
 * package traverse, exhaustive-daat. The blocks read depend on the order of the thread blocks, the hits do not. See
 * doc.go. */
GRIFFIN_KERNEL_BLOCKS(packedsearch_any, PackedSearch, kThreads, kMinBlocks) {
    packedsearch_search_any<true>(p);
}

/* Only the number. */
GRIFFIN_KERNEL_BLOCKS(packedsearch_any_count, PackedSearch, kThreads, kMinBlocks) {
    packedsearch_search_any<false>(p);
}

/* All lists, starting from the first list or from candidates: the best hits, their number, or the remaining candidates.
 *
 * Grid: at most one block per group. Block: kThreads threads. Shared memory: kernel.sharedBytes. In and out: as
 * packedsearch_any; outDocIDs, outScores and outCounts by group. Reference: package traverse, exhaustive-daat. */
GRIFFIN_KERNEL_BLOCKS(packedsearch_all, PackedSearch, kThreads, kMinBlocks) {
    packedsearch_search_all(p);
}

/* copyEntry in params.go. */
struct PackedCopy {
    const uint4* from;
    uint4* to;
    uint32_t upTo; /* entries of this and all earlier directories */
    uint32_t padding;
};

struct __align__(16) PackedCopies {
    uint32_t numCopies, numEntries;
    uint32_t padding[2];
    PackedCopy copies[kMaxLists];
};

/* Copies directories to device memory. Grid: ceil(numEntries / kThreads) blocks. Block: kThreads threads, one entry
 * each. Shared memory: the parameters. */
GRIFFIN_KERNEL(packedsearch_copy, PackedCopies, kThreads) {
    __shared__ PackedCopies shared;
    for (uint32_t i = threadIdx.x; i < sizeof(PackedCopies) / 16; i += kThreads) {
        reinterpret_cast<uint4*>(&shared)[i] = reinterpret_cast<const uint4*>(&p)[i];
    }
    __syncthreads();
    const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= shared.numEntries) {
        return;
    }
    uint32_t c = 0, before = 0;
    while (shared.copies[c].upTo <= i) {
        before = shared.copies[c++].upTo;
    }
    shared.copies[c].to[i - before] = __ldg(shared.copies[c].from + (i - before));
}
