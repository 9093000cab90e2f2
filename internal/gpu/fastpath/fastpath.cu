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
    constexpr uint32_t forSearch = sizeof(FastpathSearch) / 4, forQuery = sizeof(FastpathQuery) / 4;
    const auto* from = reinterpret_cast<const uint32_t*>(&p);
    auto* terms = reinterpret_cast<uint32_t*>(fastpath_terms(p.search));
    const uint32_t numWords = forSearch + forQuery + p.query.numTerms * (sizeof(FastpathTerm) / 4);
    for (uint32_t i = threadIdx.x; i < numWords; i += blockDim.x) {
        const uint32_t word = from[i];
        if (i < forSearch) {
            reinterpret_cast<uint32_t*>(search)[i] = word;
        } else if (i < forSearch + forQuery) {
            reinterpret_cast<uint32_t*>(query)[i - forSearch] = word;
        } else {
            terms[i - forSearch - forQuery] = word;
        }
    }
    __syncthreads();
}

/* As fastpath_ranges, for one query that comes with the launch. */
GRIFFIN_KERNEL_BLOCKS(fastpath_ranges_one, FastpathOne, 256, 4) {
    __shared__ FastpathSearch search;
    __shared__ FastpathQuery query;
    fastpath_unpack(p, &search, &query);
    fastpath_by_ranges(search, &query, nullptr, blockIdx.x);
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
    __shared__ FastpathSearch search;
    __shared__ FastpathQuery query;
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
