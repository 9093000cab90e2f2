#include "alone.cuh"
#include "count.cuh"
#include "ranges.cuh"

/*
 * Finds the best hits of Or queries, and of And queries whose lists are all dense.
 *
 * Grid: a block for each entry of blocks. Block: 256 threads. Shared memory: sharedBytes (tuning.go). In: queries with
 * their terms, and the images of the lists. Out: hits, best first, and results. Reference: package traverse,
 * exhaustive-daat; which ranges are scored depends on the order in which warps run, the hits do not. See doc.go.
 */
GRIFFIN_KERNEL_BLOCKS(fastpath_ranges, FastpathSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    fastpath_by_ranges(p, p.queries + block.x, p.terms, block.y);
}

/* Copies the query of a launch for one to shared memory, as far as the block needs it there. Parameters are best
 * read by addresses that the compiler sees: a pointer to them would cost a copy in each thread's memory. */
__device__ __forceinline__ void fastpath_unpack(const FastpathOne& p, FastpathSearch* search, FastpathQuery* query) {
    constexpr uint32_t forSearch = sizeof(FastpathSearch) / 16, forQuery = sizeof(FastpathQuery) / 16;
    const auto* from = reinterpret_cast<const uint4*>(&p);
    auto* terms = reinterpret_cast<uint4*>(fastpath_terms(p.search));
    const uint32_t size = forSearch + forQuery + p.query.numTerms * (sizeof(FastpathTerm) / 16);
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        const uint4 part = from[i];
        if (i < forSearch) {
            reinterpret_cast<uint4*>(search)[i] = part;
        } else if (i < forSearch + forQuery) {
            reinterpret_cast<uint4*>(query)[i - forSearch] = part;
        } else {
            terms[i - forSearch - forQuery] = part;
        }
    }
    __syncthreads();
}

/* As fastpath_ranges, for one query that comes with the launch: see alone.cuh. */
GRIFFIN_KERNEL_BLOCKS(fastpath_ranges_one, FastpathOne, 256, 3) {
    __shared__ __align__(16) FastpathSearch search;
    __shared__ FastpathShared shared;
    fastpath_alone(p, search, shared);
}

/* As fastpath_ranges_one, for a query of few terms. */
GRIFFIN_KERNEL_BLOCKS(fastpath_ranges_few, FastpathFew, 256, 3) {
    __shared__ __align__(16) FastpathSearch search;
    __shared__ FastpathShared shared;
    fastpath_alone(p, search, shared);
}

/*
 * Finds the best hits of And queries whose shortest list, which is the first, is sparse.
 *
 * Grid, block, shared memory, in and out: as fastpath_ranges. Reference: package traverse, svs.
 */
GRIFFIN_KERNEL_BLOCKS(fastpath_probe, FastpathSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    fastpath_by_probes(p, p.queries + block.x, p.terms, block.y);
}

/* As fastpath_probe, for one query that comes with the launch. */
GRIFFIN_KERNEL_BLOCKS(fastpath_probe_one, FastpathOne, 256, 4) {
    __shared__ __align__(16) FastpathSearch search;
    __shared__ __align__(16) FastpathQuery query;
    fastpath_unpack(p, &search, &query);
    fastpath_by_probes(search, &query, nullptr, blockIdx.x);
}

/*
 * Counts the documents that match, and writes the DocIDs of those of And queries, rising, where they are wanted.
 *
 * Grid, block, shared memory and in: as fastpath_ranges; And queries have their shortest list first. Out: results'
 * counts, and docIDs, both written by the query's last block. Reference: package traverse, merge.
 */
GRIFFIN_KERNEL_BLOCKS(fastpath_count, FastpathSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    fastpath_counting(p, p.queries + block.x, p.terms, block.y);
}
