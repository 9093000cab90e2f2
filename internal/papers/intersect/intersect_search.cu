#include "../../gpu/device/cuda.cuh"
#include "../../gpu/device/list_search.cuh"
#include "../../gpu/device/regression.cuh"
#include "compaction.cuh"

/* Element-wise searches of Ao et al., PVLDB 4(8), 2011, §4 and Algorithm 1: a thread searches an element of the
 * shortest list in the other lists in turn, until one lacks it. */

/* Mirrored by searchParams in search.go. */
struct IntersectSearchParams {
    IntersectSlots slots;
    const void* lists; /* [numLists] of ListView or RegressionList, the shortest first */
    uint32_t numLists;
    uint32_t numPostings; /* of the shortest */
};

/* Mirrored by placeParams in search.go. */
struct IntersectPlaceParams {
    const void* lists; /* [numLists], as above */
    uint32_t* docIDs;  /* [count]: in: positions of the common DocIDs in the first list; out: the DocIDs */
    const uint32_t* count;
    uint32_t* positions; /* [numLists][stride], or null */
    uint32_t numLists;
    uint32_t stride;
};

/* Reads and searches uncompressed lists. */
template <class Search>
struct PlainLists {
    using List = ListView;
    using View = const ListView&;
    __device__ static ListView view(const List& list) { return list; }
    __device__ static uint32_t element(View v, uint32_t i) { return __ldg(v.docIDs + i); }
    __device__ static bool find(View v, uint32_t x, uint32_t& index) { return Search::find(v, x, index); }
};

/* Reads and searches lists of a Regression codec. */
template <uint32_t Scheme>
struct RegressionLists {
    using List = RegressionList;
    using View = const RegressionView&;
    __device__ static RegressionView view(const List& list) {
        return regression_view<Scheme>(list.words, list.numWords, list.numPostings);
    }
    __device__ static uint32_t element(View v, uint32_t i) {
        const RegressionSegment s = regression_open<Scheme>(v, regression_find<Scheme>(v, i));
        return regression_at(v.list, s, i - s.begin);
    }
    __device__ static bool find(View v, uint32_t x, uint32_t& index) { return regression_search<Scheme>(v, x, index); }
};

template <class Lists>
__device__ __forceinline__ bool in_all(const typename Lists::List* lists, uint32_t numLists, uint32_t i) {
    const uint32_t x = Lists::element(Lists::view(lists[0]), i);
    for (uint32_t l = 1; l < numLists; l++) {
        uint32_t index;
        if (!Lists::find(Lists::view(lists[l]), x, index)) {
            return false;
        }
    }
    return true;
}

template <class Lists>
__device__ __forceinline__ void intersect_search(const IntersectSearchParams& p) {
    const auto* lists = static_cast<const typename Lists::List*>(p.lists);
    const uint32_t numTiles = (p.numPostings + INTERSECT_TILE - 1) / INTERSECT_TILE;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        intersect_begin(p.slots, numTiles, INTERSECT_TILE);
    }
    for (uint32_t tile = blockIdx.x; tile < numTiles; tile += gridDim.x) {
        uint32_t found = 0; /* bit k: item k is in all lists */
#pragma unroll 1
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            const uint32_t i = tile * INTERSECT_TILE + k * INTERSECT_THREADS + threadIdx.x;
            if (i < p.numPostings) {
                found |= static_cast<uint32_t>(in_all<Lists>(lists, p.numLists, i)) << k;
            }
        }
        bool match[INTERSECT_ITEMS];
        uint32_t position[INTERSECT_ITEMS];
#pragma unroll
        for (uint32_t k = 0; k < INTERSECT_ITEMS; k++) {
            match[k] = (found >> k & 1) != 0;
            position[k] = tile * INTERSECT_TILE + k * INTERSECT_THREADS + threadIdx.x;
        }
        intersect_emit(p.slots, tile, match, position, position);
    }
}

/* Converts positions in the first list to DocIDs, and finds their positions in the other lists: searching again costs
 * less than storing the positions of all elements. */
template <class Lists>
__device__ __forceinline__ void intersect_place(const IntersectPlaceParams& p) {
    const auto* lists = static_cast<const typename Lists::List*>(p.lists);
    const uint32_t count = *p.count;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const uint32_t first = p.docIDs[i];
        const uint32_t x = Lists::element(Lists::view(lists[0]), first);
        p.docIDs[i] = x;
        if (p.positions == nullptr) {
            continue;
        }
        p.positions[i] = first;
#pragma unroll 1
        for (uint32_t l = 1; l < p.numLists; l++) {
            uint32_t index = 0xffffffffu;
            Lists::find(Lists::view(lists[l]), x, index);
            p.positions[static_cast<uint64_t>(l) * p.stride + i] = index;
        }
    }
}

/* intersect_search_*: grid: any; block b takes tiles b, b + gridDim.x, … of 1,024 elements of the shortest list. Block:
 * 256 threads. Shared memory: 128 bytes. Out: slots with the positions in the shortest list, for intersect_gather.
 *
 * intersect_place_*: grid and block: any. In: the positions collected by intersect_gather. Out: DocIDs and positions in
 * each list.
 *
 * Reference: package contraction (uncompressed), codec.RegressionList (compressed). Ao et al. §4.2 (binary), §4.3
 * (interpolation, lr), §4.4 (hs), §5.3 (lrc and so on). */
#define INTERSECT_KERNELS(name, ...)                                      \
    GRIFFIN_KERNEL(intersect_search_##name, IntersectSearchParams, 256) { \
        intersect_search<__VA_ARGS__>(p);                                 \
    }                                                                     \
    GRIFFIN_KERNEL(intersect_place_##name, IntersectPlaceParams, 256) {   \
        intersect_place<__VA_ARGS__>(p);                                  \
    }

INTERSECT_KERNELS(binary, PlainLists<RangeSearch<WholeList>>)
INTERSECT_KERNELS(interpolation, PlainLists<InterpolationSearch>)
INTERSECT_KERNELS(lr, PlainLists<RangeSearch<LineRange>>)
INTERSECT_KERNELS(hs, PlainLists<RangeSearch<BucketRange>>)
INTERSECT_KERNELS(lrc, RegressionLists<kSchemeLRC>)
INTERSECT_KERNELS(lrcseg, RegressionLists<kSchemeLRCSeg>)
INTERSECT_KERNELS(seglrc, RegressionLists<kSchemeSegLRC>)
INTERSECT_KERNELS(hslrc, RegressionLists<kSchemeHSLRC>)
