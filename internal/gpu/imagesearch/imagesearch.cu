#define GRIFFIN_PACKED_LISTS 0 /* with packed lists: imagesearch_compact.cu */
#include "alone.cuh"
#include "count.cuh"
#include "ranges.cuh"
#include "stay.cuh"

/* Or queries, and And queries of lists with bounds of ranges, without a filter (with one:
 * imagesearch_filtered.cu).
 *
 * Grid: one block per entry of blocks. Block: 256 threads. Shared memory: sharedBytes (tuning.go). Out: hits, best
 * first, and results. Reference: package traverse, exhaustive-daat. The scored ranges depend on the order of the warps,
 * the hits do not. See doc.go. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_ranges<false, kLate>(p, p.queries + block.x, p.terms, block.y);
}

/* For a query in the parameters: see alone.cuh. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_one, ImageOne, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    imagesearch_alone<kLate>(p, search, shared);
}

/* For up to kMaxFewTerms terms. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_few, ImageFew, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    imagesearch_alone<kLate>(p, search, shared);
}

/* As imagesearch_ranges_few, for a query that sends its hits, and then for others until none has come for p.idle: see
 * stay.cuh. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_ranges_stay, ImageStay, 256, 3) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ ImageShared shared;
    __shared__ __align__(16) uint32_t sums[kNumWarps][kWarpUnits * kUnitRanges];
    __shared__ uint32_t received;
    constexpr uint32_t forSearch = sizeof(ImageSearch) / 16, forQuery = sizeof(ImageQuery) / 16;
    constexpr uint32_t size = sizeof(ImageFew) / 16;
    const uint32_t capacity = p.first.search.capacity;
    auto* terms = reinterpret_cast<uint4*>(griffin_dynamic_shared<uint64_t>() + capacity);
    const long long came = clock64();
    uint32_t number = p.first.search.launch;
    uint4 part = make_uint4(0, 0, 0, 0); /* of the query's parameters */
    if (threadIdx.x < size) {
        part = reinterpret_cast<const uint4*>(&p.first)[threadIdx.x];
    }
    for (;;) {
        if (threadIdx.x < size) {
            const uint32_t i = threadIdx.x;
            if (i < forSearch) {
                reinterpret_cast<uint4*>(&search)[i] = part;
            } else if (i < forSearch + forQuery) {
                reinterpret_cast<uint4*>(&shared.query)[i - forSearch] = part;
            } else {
                terms[i - forSearch - forQuery] = part;
            }
        }
        for (uint32_t i = threadIdx.x % 32; i < kWarpUnits * kUnitRanges; i += 32) {
            sums[threadIdx.x / 32][i] = 0;
        }
        for (uint32_t i = threadIdx.x; i < kNumBuckets; i += blockDim.x) {
            shared.buckets[i] = 0;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            imagesearch_reset(shared, shared.query, capacity);
        }
        if (blockIdx.x == shared.query.splits - 1) { /* as imagesearch_clear_other, but no launch is between */
            block_clear(search.states + (3 - shared.query.result));
            __threadfence();
        }
        __syncthreads();
        imagesearch_alone_in<kLate>(search, shared, sums[threadIdx.x / 32]);
        __syncthreads();
        if (blockIdx.x == 0 && threadIdx.x < 32) {
            const uint32_t next = stay_receive(p, number, came);
            if (threadIdx.x == 0) {
                received = next;
            }
        } else if (blockIdx.x != 0 && threadIdx.x == 0) {
            received = stay_heard(p, number);
        }
        __syncthreads();
        number = received;
        if (number == kCommandLeave) {
            return;
        }
        if (threadIdx.x < size) {
            part = reinterpret_cast<const uint4*>(p.command + kCommandParams)[threadIdx.x];
        }
    }
}

/* And queries whose first list is the shortest and has few documents.
 *
 * Grid, block, shared memory, in and out: as imagesearch_ranges. Reference: package traverse, svs. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_probe, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_by_probes<false>(p, p.queries + block.x, p.terms, block.y);
}

/* For a query in the parameters. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_probe_one, ImageOne, 256, 4) {
    __shared__ __align__(16) ImageSearch search;
    __shared__ __align__(16) ImageQuery query;
    imagesearch_unpack(p, &search, &query);
    imagesearch_clear_other(p, blockIdx.x);
    imagesearch_by_probes<false, false, true>(search, &query, nullptr, blockIdx.x);
}

/* Grid, block, shared memory and in: as imagesearch_ranges; queries with kFlagProbe have their shortest list first.
 * Out: count of each result, written by the query's last block. Reference: package traverse, merge. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_count, ImageSearch, 256, 4) {
    const uint2 block = p.blocks[blockIdx.x];
    imagesearch_counting(p, p.queries + block.x, p.terms, block.y);
}
