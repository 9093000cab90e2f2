#include "../../gpu/device/bits.cuh"
#include "../../gpu/device/block_scan.cuh"
#include "../../gpu/device/cuda.cuh"
#include "../../gpu/device/list_search.cuh"
#include "../../gpu/device/regression.cuh"

/* The intersections of a batch of queries in one launch (Ao et al., PVLDB 4(8), 2011, §4.1). The elements of all
 * shortest lists are divided into tiles of 128 of one query, one per warp.
 *
 * We differ from one thread per element: a thread has 4 elements in flight, and after each list a warp packs the
 * remaining elements, so that few lanes idle in the lists after the second. */
constexpr uint32_t PARA_WARPS = 8;
constexpr uint32_t PARA_ITEMS = 4;
constexpr uint32_t PARA_TILE = 32 * PARA_ITEMS;
constexpr uint32_t PARA_BLOCK = PARA_WARPS * PARA_TILE; /* elements of a block, and its slots */

/* Query words in layout.go. */
struct ParaQuery {
    uint32_t firstList; /* its lists are adjacent, the shortest first */
    uint32_t numLists;
    uint32_t firstTile;
    uint32_t reserved;
};

/* Tile words in layout.go. */
struct ParaTile {
    uint32_t query;
    uint32_t from; /* first element in the shortest list */
};

/* searchParams in kernels.go. */
struct ParaSearchParams {
    const void* lists;        /* [lists of the batch] of ListView or RegressionList */
    const ParaQuery* queries; /* [numQueries] */
    const ParaTile* tiles;    /* [numTiles] */
    uint32_t* slots;          /* [numBlocks][PARA_BLOCK]: matches of a block, then unused slots */
    uint32_t* tileBefore;     /* [numTiles]: matches in earlier tiles of the block */
    uint32_t* blockBefore;    /* [numBlocks + 1]: matches in earlier blocks; the last: in all blocks */
    uint32_t* ticket;         /* completed blocks; 0 before and after */
    uint32_t numTiles;
    uint32_t reserved;
};

/* gatherParams in kernels.go. */
struct ParaGatherParams {
    const ParaQuery* queries;
    const uint32_t* slots;
    const uint32_t* tileBefore;
    const uint32_t* blockBefore;
    uint32_t* starts; /* [numQueries + 1]: start of each query's results; the last: total */
    uint32_t* docIDs; /* results of all queries, concatenated; null: only starts */
    uint32_t numQueries;
    uint32_t numTiles;
    uint32_t numBlocks;
    uint32_t reserved;
};

/* Uncompressed lists, by a warp. */
template <class Search>
struct PlainBatch {
    using List = ListView;
    using View = const ListView&;
    static constexpr bool together = true;

    __device__ __forceinline__ static ListView view(const List& list) { return list; }

    __device__ __forceinline__ static void read(View v, uint32_t from, uint32_t (&x)[PARA_ITEMS],
                                                bool (&live)[PARA_ITEMS]) {
        const uint32_t at = from + (threadIdx.x & 31);
#pragma unroll
        for (uint32_t k = 0; k < PARA_ITEMS; k++) {
            live[k] = at + k * 32 < v.numPostings;
            x[k] = __ldg(v.docIDs + min(at + k * 32, v.numPostings - 1));
        }
    }

    __device__ __forceinline__ static bool find(View v, uint32_t x) {
        uint32_t index;
        return Search::find(v, x, index);
    }

    __device__ __forceinline__ static void find_all(View v, const uint32_t (&x)[PARA_ITEMS], bool (&live)[PARA_ITEMS]) {
#pragma unroll
        for (uint32_t k = 0; k < PARA_ITEMS; k++) {
            live[k] = live[k] && find(v, x[k]);
        }
    }
};

/* Binary searches, with the loads of all items of a thread in flight together. */
template <class Range>
struct RangeBatch : PlainBatch<RangeSearch<Range>> {
    __device__ __forceinline__ static void find_all(const ListView& v, const uint32_t (&x)[PARA_ITEMS],
                                                    bool (&live)[PARA_ITEMS]) {
        if (Range::usesBitmap && v.isBitmap) {
#pragma unroll
            for (uint32_t k = 0; k < PARA_ITEMS; k++) {
                uint32_t index;
                const bool found = find_bit(v, x[k], index);
                live[k] = live[k] && found;
            }
            return;
        }
        uint32_t lo[PARA_ITEMS];
        uint32_t hi[PARA_ITEMS];
        bool found[PARA_ITEMS];
#pragma unroll
        for (uint32_t k = 0; k < PARA_ITEMS; k++) {
            Range::range(v, x[k], lo[k], hi[k]);
            hi[k] = live[k] ? hi[k] : lo[k];
            found[k] = false;
        }
        bool more = true;
#pragma unroll 1
        while (more) {
            /* Completed items read the same address again, so that no branch separates the loads. */
            uint32_t mid[PARA_ITEMS];
            uint32_t docID[PARA_ITEMS];
#pragma unroll
            for (uint32_t k = 0; k < PARA_ITEMS; k++) {
                mid[k] = lo[k] + (hi[k] - lo[k]) / 2;
                docID[k] = __ldg(v.docIDs + min(mid[k], v.numPostings - 1));
            }
            more = false;
#pragma unroll
            for (uint32_t k = 0; k < PARA_ITEMS; k++) {
                const bool open = lo[k] < hi[k];
                const bool below = docID[k] < x[k];
                found[k] = found[k] || (open && docID[k] == x[k]);
                lo[k] = open && below ? mid[k] + 1 : lo[k];
                hi[k] = open && !below ? mid[k] : hi[k];
                more = more || (lo[k] < hi[k] && !found[k]);
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < PARA_ITEMS; k++) {
            live[k] = found[k];
        }
    }
};

/* A part of a list with its own safe search range: Part in arrays.go. */
struct ParaPart {
    uint32_t head; /* its first element */
    float inverse; /* of the line's slope: line_inverse */
    int64_t intercept;
    int32_t left;
    int32_t right;
};

/* Local safe ranges (Ao et al. §4.3): table is the array of the parts, numBuckets their number, shift the length of a
 * part. */
struct PartRange {
    static constexpr bool usesBitmap = false;
    __device__ __forceinline__ static void range(const ListView& v, uint32_t x, uint32_t& lo, uint32_t& hi) {
        const ParaPart* parts = reinterpret_cast<const ParaPart*>(v.table);
        /* The last part that does not begin above x. */
        uint32_t a = 0;
        uint32_t b = v.numBuckets - 1;
        while (a < b) {
            const uint32_t mid = (a + b + 1) / 2;
            const bool above = __ldg(&parts[mid].head) > x;
            a = above ? a : mid;
            b = above ? mid - 1 : b;
        }
        const ParaPart part = parts[a];
        const uint32_t begin = a * v.shift;
        const uint32_t length = part.head > x ? 0 : min(v.shift, v.numPostings - begin);
        safe_range(static_cast<int64_t>(x) - part.intercept, part.inverse, part.left, part.right, length, lo, hi);
        lo += begin;
        hi += begin;
    }
};

/* Lists of a Regression codec, by a warp. A search is long and takes many registers, so a thread has one in flight. */
template <uint32_t Scheme>
struct RegressionBatch {
    using List = RegressionList;
    using View = const RegressionView&;
    static constexpr bool together = false;

    __device__ __forceinline__ static RegressionView view(const List& list) {
        return regression_view<Scheme>(list.words, list.numWords, list.numPostings);
    }

    __device__ __forceinline__ static uint32_t read(View v, uint32_t from, uint32_t* kept) {
        const uint32_t lane = threadIdx.x & 31;
        const uint32_t count = min(PARA_TILE, v.numPostings - from);
        uint32_t segment = regression_find_warp<Scheme>(v, from);
#pragma unroll 1
        for (uint32_t i = lane; i < count; i += 32) {
            segment = regression_next<Scheme>(v, segment, from + i);
            const RegressionSegment s = regression_open<Scheme>(v, segment);
            kept[i] = regression_at(v.list, s, from + i - s.begin);
        }
        return count;
    }

    __device__ __forceinline__ static bool find(View v, uint32_t x) {
        uint32_t index;
        return regression_search<Scheme>(v, x, index);
    }
};

/* The same without the list H: a binary search over the elements in the safe search range (Ao et al. §5.3). */
template <uint32_t Scheme>
struct ElementBatch : RegressionBatch<Scheme> {
    __device__ __forceinline__ static bool find(const RegressionView& v, uint32_t x) {
        const int64_t rise = static_cast<int64_t>(x) - static_cast<int32_t>(v.intercept);
        uint32_t lo;
        uint32_t hi;
        safe_range(rise, v.inverse, v.left, v.right, v.numPostings, lo, hi);
        while (lo < hi) {
            const uint32_t mid = lo + (hi - lo) / 2;
            const RegressionSegment s = regression_open<Scheme>(v, shift_right(mid, v.length));
            const uint32_t docID = regression_at(v.list, s, mid - s.begin);
            if (docID == x) {
                return true;
            }
            lo = docID < x ? mid + 1 : lo;
            hi = docID < x ? hi : mid;
        }
        return false;
    }
};

/* Appends x of the live lanes to kept, in lane order; returns the new count. */
__device__ __forceinline__ uint32_t para_keep(uint32_t* kept, uint32_t count, uint32_t x, bool live) {
    const uint32_t ballot = __ballot_sync(0xffffffffu, live);
    __syncwarp(); /* all lanes have read kept */
    if (live) {
        kept[count + __popc(ballot & lanes_before())] = x;
    }
    return count + __popc(ballot);
}

/* Intersects one tile, by one warp. Writes the matches to kept, ascending, and returns their number. */
template <class Batch>
__device__ __forceinline__ uint32_t para_tile(const ParaSearchParams& p, const ParaTile& tile, uint32_t* kept) {
    const uint32_t lane = threadIdx.x & 31;
    const ParaQuery query = p.queries[tile.query];
    const auto* lists = static_cast<const typename Batch::List*>(p.lists) + query.firstList;
    uint32_t count = 0;
    uint32_t next = 1; /* the list to search */
    if constexpr (Batch::together) {
        uint32_t x[PARA_ITEMS];
        bool live[PARA_ITEMS];
        Batch::read(Batch::view(lists[0]), tile.from, x, live);
        if (query.numLists > 1) {
            Batch::find_all(Batch::view(lists[1]), x, live);
            next = 2;
        }
#pragma unroll
        for (uint32_t k = 0; k < PARA_ITEMS; k++) {
            count = para_keep(kept, count, x[k], live[k]);
        }
    } else {
        count = Batch::read(Batch::view(lists[0]), tile.from, kept);
    }
#pragma unroll 1
    for (uint32_t l = next; l < query.numLists && count > 0; l++) {
        const auto list = Batch::view(lists[l]);
        uint32_t left = 0;
#pragma unroll 1
        for (uint32_t from = 0; from < count; from += 32) {
            __syncwarp(); /* kept is written */
            const uint32_t i = from + lane;
            const uint32_t d = i < count ? kept[i] : 0;
            const bool found = i < count && Batch::find(list, d);
            left = para_keep(kept, left, d, found);
        }
        count = left;
    }
    __syncwarp();
    return count;
}

/* The last block to complete converts all counts to exclusive prefix sums. */
__device__ __forceinline__ void para_scan_blocks(uint32_t* blockBefore, uint32_t numBlocks) {
    __shared__ uint32_t sums[32];
    uint32_t total = 0;
    for (uint32_t base = 0; base < numBlocks; base += blockDim.x) {
        const uint32_t i = base + threadIdx.x;
        const uint32_t count = i < numBlocks ? ld_relaxed(&blockBefore[i]) : 0;
        const uint32_t earlier = total;
        const uint32_t before = earlier + block_exclusive_sum(count, total, sums);
        if (i < numBlocks) {
            blockBefore[i] = before;
        }
    }
    if (threadIdx.x == 0) {
        blockBefore[numBlocks] = total;
    }
}

template <class Batch>
__device__ __forceinline__ void para_search(const ParaSearchParams& p) {
    __shared__ uint32_t kept[PARA_WARPS][PARA_TILE];
    __shared__ uint32_t counts[PARA_WARPS];
    __shared__ bool isLast;
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t warp = threadIdx.x >> 5;
    const uint32_t tile = blockIdx.x * PARA_WARPS + warp;
    uint32_t count = 0;
    if (tile < p.numTiles) {
        count = para_tile<Batch>(p, p.tiles[tile], kept[warp]);
    }
    if (lane == 0) {
        counts[warp] = count;
    }
    __syncthreads();
    uint32_t before = 0;
    uint32_t total = 0;
    for (uint32_t w = 0; w < PARA_WARPS; w++) {
        before += w < warp ? counts[w] : 0;
        total += counts[w];
    }
    uint32_t* slots = p.slots + uint64_t(blockIdx.x) * PARA_BLOCK + before;
    for (uint32_t i = lane; i < count; i += 32) {
        slots[i] = kept[warp][i];
    }
    if (lane == 0 && tile < p.numTiles) {
        p.tileBefore[tile] = before;
    }
    if (threadIdx.x == 0) {
        st_relaxed(&p.blockBefore[blockIdx.x], total);
        __threadfence();
        isLast = atomicAdd(p.ticket, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (isLast) {
        para_scan_blocks(p.blockBefore, gridDim.x);
        if (threadIdx.x == 0) {
            *p.ticket = 0;
        }
    }
}

/* para_search_*: grid: numTiles / 8 blocks, rounded up. Block: 256 threads; warp w of block b has tile 8b + w. Shared
 * memory: 4.2 KiB. In: the batch (layout.go), ticket 0. Out: each block's matches in its slots, and the tables of
 * para_gather; ticket is 0 again. Reference: the intersection of each query's lists by package contraction,
 * codec.RegressionList. Ao et al. §4.2 to §4.4, Algorithm 1. Results do not depend on the order of blocks. */
GRIFFIN_KERNEL(para_search_binary, ParaSearchParams, 256) {
    para_search<RangeBatch<WholeList>>(p);
}
GRIFFIN_KERNEL(para_search_interpolation, ParaSearchParams, 256) {
    para_search<PlainBatch<InterpolationSearch>>(p);
}
GRIFFIN_KERNEL(para_search_lr, ParaSearchParams, 256) {
    para_search<RangeBatch<LineRange>>(p);
}
GRIFFIN_KERNEL(para_search_lr_local, ParaSearchParams, 256) {
    para_search<RangeBatch<PartRange>>(p);
}
GRIFFIN_KERNEL(para_search_hs, ParaSearchParams, 256) {
    para_search<RangeBatch<BucketRange>>(p);
}
GRIFFIN_KERNEL(para_search_lrc, ParaSearchParams, 256) {
    para_search<RegressionBatch<kSchemeLRC>>(p);
}
GRIFFIN_KERNEL(para_search_lrcseg, ParaSearchParams, 256) {
    para_search<RegressionBatch<kSchemeLRCSeg>>(p);
}
GRIFFIN_KERNEL(para_search_seglrc, ParaSearchParams, 256) {
    para_search<RegressionBatch<kSchemeSegLRC>>(p);
}
GRIFFIN_KERNEL(para_search_hslrc, ParaSearchParams, 256) {
    para_search<RegressionBatch<kSchemeHSLRC>>(p);
}
GRIFFIN_KERNEL(para_search_lrc_elements, ParaSearchParams, 256) {
    para_search<ElementBatch<kSchemeLRC>>(p);
}
GRIFFIN_KERNEL(para_search_lrcseg_elements, ParaSearchParams, 256) {
    para_search<ElementBatch<kSchemeLRCSeg>>(p);
}
GRIFFIN_KERNEL(para_search_seglrc_elements, ParaSearchParams, 256) {
    para_search<ElementBatch<kSchemeSegLRC>>(p);
}

/* Grid: any; block: 256 threads; a warp takes the slots of one block of para_search at a time. Out: starts and docIDs,
 * which may lie in page-locked host memory. Reference: as para_search. Ao et al. §4.1 ("scan" and "compaction"). */
GRIFFIN_KERNEL(para_gather, ParaGatherParams, 256) {
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t numThreads = gridDim.x * blockDim.x;
    const uint32_t total = p.blockBefore[p.numBlocks];
    if (thread == 0) {
        p.starts[p.numQueries] = total;
    }
    for (uint32_t q = thread; q < p.numQueries; q += numThreads) {
        const uint32_t tile = p.queries[q].firstTile;
        uint32_t start = total;
        if (tile < p.numTiles) {
            start = p.blockBefore[tile / PARA_WARPS] + p.tileBefore[tile];
        }
        p.starts[q] = start;
    }
    if (p.docIDs == nullptr) {
        return;
    }
    for (uint32_t b = thread / 32; b < p.numBlocks; b += numThreads / 32) {
        const uint32_t to = p.blockBefore[b];
        const uint32_t count = p.blockBefore[b + 1] - to;
        const uint32_t* slots = p.slots + uint64_t(b) * PARA_BLOCK;
        for (uint32_t i = lane; i < count; i += 32) {
            p.docIDs[to + i] = slots[i];
        }
    }
}
