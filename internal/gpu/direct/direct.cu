#include "all.cuh"
#include "any.cuh"

/*
 * Finds the documents that are in any list: the best hits, and their number if it is wanted.
 *
 * Grid: up to a block for each range of kRangeDocs documents. Block: kThreads threads. Shared memory:
 * kernel.sharedBytes. In: the lists, whose payloads may be in host memory. Out: hits, best first, and result.
 * Reference: package traverse, exhaustive-daat; which blocks are read depends on the order in which blocks run, the
 * hits do not. See doc.go.
 */
GRIFFIN_KERNEL_BLOCKS(direct_any, DirectSearch, kThreads, kMinBlocks) {
    direct_search_any<true>(p);
}

/* As direct_any, only the number. */
GRIFFIN_KERNEL_BLOCKS(direct_any_count, DirectSearch, kThreads, kMinBlocks) {
    direct_search_any<false>(p);
}

/*
 * Finds the documents that are in all lists, out of the first one or out of candidates: the best hits, their number, or
 * the candidates that are left.
 *
 * Grid: up to a block for each group. Block: kThreads threads. Shared memory: as direct_any. In and out: as
 * direct_any; outDocIDs, outScores and outCounts by group. Reference: package traverse, exhaustive-daat.
 */
GRIFFIN_KERNEL_BLOCKS(direct_all, DirectSearch, kThreads, kMinBlocks) {
    direct_search_all(p);
}

/* A directory that direct_copy copies: copyParams in params.go. */
struct DirectCopy {
    const uint4* from;
    uint4* to;
    uint32_t upTo; /* entries of this one and those before */
    uint32_t padding;
};

struct __align__(16) DirectCopies {
    uint32_t numCopies, numEntries;
    uint32_t padding[2];
    DirectCopy copies[kMaxLists];
};

/* Copies directories to device memory. Grid: ceil(numEntries / kThreads) blocks. Block: kThreads threads, an entry
 * each. Shared memory: the parameters. */
GRIFFIN_KERNEL(direct_copy, DirectCopies, kThreads) {
    __shared__ DirectCopies shared;
    for (uint32_t i = threadIdx.x; i < sizeof(DirectCopies) / 16; i += kThreads) {
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
