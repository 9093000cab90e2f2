#define GRIFFIN_PACKED_LISTS 0 /* images of bands have none */
#include "../decode/staged.cuh"
#include "band.cuh"

/* Of a block of imagesearch_band_fill, beside the ranges of its tile. */
struct ImageFillShared {
    DecodeStaging staging[kFillThreads / 32];
    uint32_t greatest[kMaxBandSupers]; /* by superblock, if there are no ranges */
    uint32_t first, end;               /* places of the postings in the tile */
};

struct ImageFillTile {
    const ImageBandList* list;
    ImageTerm term;
    uint32_t firstDoc, numDocs; /* counted from the band's first */
    uint32_t bandDoc;           /* the band's first */
    /* Of the tile's ranges; null if the list does not have them. */
    uint32_t *maxima, *bits, *ranks;
};

/* Stores four values of elements of T as one word or two, if all four are in the tile. */
template <class T>
__device__ __forceinline__ void imagesearch_fill_four(T* to, const uint32_t (&values)[4], const bool (&in)[4]) {
    if (in[0] && in[1] && in[2] && in[3]) {
        if constexpr (sizeof(T) == 1) {
            *reinterpret_cast<uint32_t*>(to) = values[0] | values[1] << 8 | values[2] << 16 | values[3] << 24;
        } else if constexpr (sizeof(T) == 2) {
            *reinterpret_cast<uint2*>(to) = make_uint2(values[0] | values[1] << 16, values[2] | values[3] << 16);
        } else {
            *reinterpret_cast<uint4*>(to) = make_uint4(values[0], values[1], values[2], values[3]);
        }
        return;
    }
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        if (in[j]) {
            to[j] = static_cast<T>(values[j]);
        }
    }
}

/* Postings of a lane in the same range: atomics are most of what a dense list costs. */
struct ImageFillRun {
    uint32_t range; /* of the tile; kNoPosting: none */
    uint32_t most, bits;
    uint32_t place; /* of the first */
};

__device__ __forceinline__ void imagesearch_fill_run(const ImageFillTile& tile, ImageFillShared& s,
                                                     const ImageFillRun& run) {
    if (run.range == kNoPosting) {
        return;
    }
    if (tile.maxima != nullptr) {
        atomicMax(tile.maxima + run.range, run.most);
    } else {
        atomicMax(s.greatest + run.range / kSuperRanges, run.most);
    }
    if (tile.bits != nullptr) {
        atomicOr(tile.bits + run.range, run.bits);
        atomicMin(tile.ranks + run.range, run.place);
    }
}

/* Four adjacent postings of a lane; place is of the first in the image. */
__device__ __forceinline__ void imagesearch_fill_quad(const ImageFillTile& tile, ImageFillShared& s, uint4 docIDs,
                                                      uint4 quadFreqs, uint32_t n, uint32_t place) {
    const uint32_t at = 4 * (threadIdx.x % 32);
    uint32_t docs[4] = {docIDs.x, docIDs.y, docIDs.z, docIDs.w};
    const uint32_t freqs[4] = {quadFreqs.x, quadFreqs.y, quadFreqs.z, quadFreqs.w};
    uint32_t steps[4], lengths[4];
    bool in[4];
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        docs[j] -= tile.bandDoc;
        in[j] = at + j < n && docs[j] - tile.firstDoc < tile.numDocs;
        lengths[j] = in[j] && tile.term.lengths != nullptr ? __ldg(tile.term.lengths + docs[j]) : 0;
    }
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        steps[j] = in[j] ? imagesearch_eighth(tile.list->steps, freqs[j], lengths[j]) : 0;
    }
    const ImageTerm& t = tile.term;
    imagesearch_fill_four(imagesearch_write<uint8_t>(t, t.sat) + place, steps, in);
    if (t.freqBytes == 1) {
        imagesearch_fill_four(imagesearch_write<uint8_t>(t, t.freq) + place, freqs, in);
    } else if (t.freqBytes == 2) {
        imagesearch_fill_four(imagesearch_write<uint16_t>(t, t.freq) + place, freqs, in);
    }
    if (t.kind != kDense) {
        imagesearch_fill_four(imagesearch_write<uint32_t>(t, t.docIDs) + place, docs, in);
    }
    ImageFillRun run = {kNoPosting, 0, 0, 0};
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        if (in[j]) {
            const uint32_t doc = docs[j] - tile.firstDoc;
            if (doc / kRangeDocs != run.range) {
                imagesearch_fill_run(tile, s, run);
                run = {doc / kRangeDocs, 0, 0, place + j};
            }
            run.most = max(run.most, steps[j]);
            run.bits |= 1U << doc % kRangeDocs;
        }
    }
    imagesearch_fill_run(tile, s, run);
    if (t.kind != kDense) {
        const uint32_t some = (in[0] ? 1U : 0U) | (in[1] ? 2U : 0U) | (in[2] ? 4U : 0U) | (in[3] ? 8U : 0U);
        if (some != 0) {
            atomicMin(&s.first, place + static_cast<uint32_t>(__ffs(static_cast<int>(some))) - 1);
            atomicMax(&s.end, place + 32 - static_cast<uint32_t>(__clz(static_cast<int>(some))));
        }
    }
}

/* Writes the bounds, bits and ranks of the tile's ranges. By all threads, after a barrier. */
__device__ __forceinline__ void imagesearch_fill_ranges(const ImageFillTile& tile, uint32_t firstSuper,
                                                        uint32_t numSupers) {
    const ImageTerm& t = tile.term;
    const uint32_t firstRange = firstSuper * kSuperRanges;
    for (uint32_t i = threadIdx.x; i < numSupers * 32; i += blockDim.x) { /* a warp has a superblock */
        const uint4 most = reinterpret_cast<const uint4*>(tile.maxima)[i];
        reinterpret_cast<uint32_t*>(imagesearch_write<uint8_t>(t, t.rangeMax) + firstRange)[i] =
            most.x | most.y << 8 | most.z << 16 | most.w << 24;
        const uint32_t super = __reduce_max_sync(kAll, max(max(most.x, most.y), max(most.z, most.w)));
        if (i % 32 == 0) {
            imagesearch_write<uint8_t>(t, t.superMax)[firstSuper + i / 32] = static_cast<uint8_t>(super);
        }
        if (tile.bits != nullptr) {
            reinterpret_cast<uint4*>(imagesearch_write<uint32_t>(t, t.bitmap) + firstRange)[i] =
                reinterpret_cast<const uint4*>(tile.bits)[i];
            const uint4 ranks = reinterpret_cast<const uint4*>(tile.ranks)[i];
            const uint32_t base = __reduce_min_sync(kAll, min(min(ranks.x, ranks.y), min(ranks.z, ranks.w)));
            reinterpret_cast<uint2*>(imagesearch_write<uint16_t>(t, t.rank) + firstRange)[i] =
                make_uint2(((ranks.x - base) & 0xffff) | (ranks.y - base) << 16,
                           ((ranks.z - base) & 0xffff) | (ranks.w - base) << 16);
            if (i % 32 == 0) {
                imagesearch_write<uint32_t>(t, t.base)[firstSuper + i / 32] = base;
            }
        }
    }
}

/* Fills the images of the lists in a band.
 *
 * Grid: a block per tile. Block: kFillThreads threads. Dynamic shared memory: 4 bytes per range of a tile of a bounded
 * list, 12 of a dense one. A tile of a list that is not dense has the whole band. A warp decodes a group of compressed
 * blocks, of which it reads each byte once: they may be in host memory. Reference: Encode, in band_test.go. */
GRIFFIN_KERNEL(imagesearch_band_fill, ImageBandFill, kFillThreads) {
    __shared__ ImageFillShared s;
    const ImageBandTile from = p.tiles[blockIdx.x];
    const ImageBandImage image = p.images[from.list];
    const uint32_t firstSuper = from.supers & 0xffff, numSupers = from.supers >> 16;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    constexpr uint32_t numWarps = kFillThreads / 32;
    const ImageBandList& list = p.lists[from.list];
    ImageFillTile tile;
    tile.list = &list;
    tile.term = imagesearch_band_term(p, list, image);
    tile.bandDoc = p.firstDoc;
    tile.firstDoc = firstSuper * kSuperDocs;
    tile.numDocs = min(numSupers * kSuperDocs, p.numDocs - tile.firstDoc);
    const uint32_t numRanges = numSupers * kSuperRanges;
    tile.maxima = list.kind >= kBounded ? griffin_dynamic_shared<uint32_t>() : nullptr;
    tile.bits = list.kind == kDense ? tile.maxima + numRanges : nullptr;
    tile.ranks = list.kind == kDense ? tile.bits + numRanges : nullptr;
    if (tile.maxima != nullptr) {
        for (uint32_t i = threadIdx.x; i < numRanges; i += blockDim.x) {
            tile.maxima[i] = 0;
            if (tile.bits != nullptr) {
                tile.bits[i] = 0;
                tile.ranks[i] = kNoPosting;
            }
        }
    }
    for (uint32_t i = threadIdx.x; i < kMaxBandSupers; i += blockDim.x) {
        s.greatest[i] = 0;
    }
    if (threadIdx.x == 0) {
        s.first = kNoPosting;
        s.end = 0;
    }
    decode_clear_staging(s.staging[warp]);
    __syncthreads();
    const uint32_t firstDoc = tile.bandDoc + tile.firstDoc, lastDoc = firstDoc + (tile.numDocs - 1);
    const uint32_t group = min(max((from.numBlocks + numWarps - 1) / numWarps, kInFlight), 32U);
    for (uint32_t at = warp * group; at < from.numBlocks; at += numWarps * group) {
        const uint32_t first = from.firstBlock + at;
        DecodeWork work = {reinterpret_cast<uint64_t>(list.payload), make_uint4(0, 0, 0, 0), 0};
        bool in = lane < min(group, from.numBlocks - at);
        if (in) {
            work.entry = __ldg(list.directory + first + lane);
            work.n = min(decodeBlockLen, list.docFreq - (first + lane) * decodeBlockLen);
            in = work.entry.y >= firstDoc && work.entry.x <= lastDoc;
        }
        decode_staged_blocks<true, kInFlight>(
            s.staging[warp], __ballot_sync(kAll, in), work, [&](int owner, uint4 docIDs, uint4 freqs, uint32_t n) {
                const uint32_t block = first + static_cast<uint32_t>(owner) - image.firstBlock;
                imagesearch_fill_quad(tile, s, docIDs, freqs, n, block * decodeBlockLen + 4 * lane);
            });
    }
    __syncthreads();
    const ImageTerm& t = tile.term;
    if (firstSuper == 0 && threadIdx.x == 0) {
        p.terms[from.list] = t;
    }
    if (tile.maxima != nullptr) {
        imagesearch_fill_ranges(tile, firstSuper, numSupers);
    } else {
        for (uint32_t i = threadIdx.x; i < numSupers; i += blockDim.x) {
            imagesearch_write<uint8_t>(t, t.superMax)[i] = static_cast<uint8_t>(s.greatest[i]);
        }
    }
    if (t.kind == kDense) {
        return;
    }
    const uint32_t begin = min(s.first, s.end), end = s.end;
    const auto* docIDs = imagesearch_part<uint32_t>(t, t.docIDs);
    auto* starts = imagesearch_write<uint32_t>(t, t.starts);
    const uint32_t numBuckets = ((p.numDocs - 1) >> t.shift) + 1;
    for (uint32_t i = threadIdx.x; i <= numBuckets; i += blockDim.x) {
        starts[i] = i == numBuckets ? end : imagesearch_search(docIDs, begin, end, i << t.shift);
    }
}

/* bandSearchParams in band.go. */
struct ImageBandSearch {
    ImageSearch search;           /* of the band; hits are the keys of the bands before, by query */
    const ImageBandTerm* terms;   /* of the queries */
    const ImageTerm* lists;       /* in the band, if they have blocks there */
    const ImageBandImage* images; /* of the lists */
    uint32_t* counts;             /* of keys, by query */
    uint32_t firstDoc;            /* of the band */
    uint32_t padding;
};

/* Chooses the terms that the band has and the threshold, and copies the terms to shared memory. Returns whether a
 * document of the band can be a hit, identical in all threads. By all threads; begins after a barrier and ends with
 * one. */
__device__ __forceinline__ bool imagesearch_band_begin(ImageBlock& b, const ImageBandSearch& p, uint32_t carried) {
    ImageShared& s = *b.shared;
    const ImageBandTerm* terms = p.terms + s.query.firstTerm;
    if (b.warp == 0) {
        uint32_t n = 0, most = 0;
        for (uint32_t first = 0; first < b.numTerms; first += 32) {
            const uint32_t i = first + b.lane;
            ImageBandTerm t = {};
            const bool has = i < b.numTerms && p.images[(t = terms[i]).list].numBlocks > 0;
            const uint32_t some = __ballot_sync(kAll, has);
            if (has) {
                s.listOrder[n + static_cast<uint32_t>(__popc(some & ((1U << b.lane) - 1)))] = static_cast<uint16_t>(i);
            }
            n += static_cast<uint32_t>(__popc(some));
            most += __reduce_add_sync(kAll, has ? 255 * t.step : 0);
        }
        if (b.lane == 0) {
            ImageQuery& q = s.query;
            uint32_t theta = q.threshold;
            if (carried == q.k) {
                theta = max(theta, hit_score(p.search.hits[q.firstHit + q.k - 1]));
            }
            const bool can = n > 0 && most >= theta && (!b.all || n == b.numTerms);
            constexpr uint32_t bucketBits = 32 - __builtin_clz(kNumBuckets - 1);
            const auto bits = 32 - static_cast<uint32_t>(__clz(static_cast<int>(most - min(theta, most))));
            q.threshold = theta;
            q.bucketShift = bits - min(bits, bucketBits);
            s.theta = theta;
            s.last = can ? n : 0;
        }
    }
    __syncthreads();
    b.numTerms = s.last;
    if (b.numTerms == 0) {
        return false;
    }
    constexpr uint32_t quads = sizeof(ImageTerm) / 16;
    for (uint32_t i = threadIdx.x; i < b.numTerms * quads; i += blockDim.x) {
        const ImageTerm* from = p.lists + terms[s.listOrder[i / quads]].list;
        reinterpret_cast<uint4*>(b.terms)[i] = reinterpret_cast<const uint4*>(from)[i % quads];
    }
    __syncthreads();
    b.numDense = 0;
    b.numBounded = 0;
    for (uint32_t first = 0; first < b.numTerms; first += 32) { /* by each warp */
        const bool in = first + b.lane < b.numTerms;
        b.numDense += static_cast<uint32_t>(__popc(__ballot_sync(kAll, in && b.terms[first + b.lane].kind == kDense)));
        b.numBounded +=
            static_cast<uint32_t>(__popc(__ballot_sync(kAll, in && b.terms[first + b.lane].kind != kSparse)));
    }
    for (uint32_t i = threadIdx.x; i < b.numTerms; i += blockDim.x) {
        const ImageBandTerm from = terms[s.listOrder[i]];
        ImageTerm& t = b.terms[i];
        t.score = from.score;
        t.step = from.step;
        t.satStep = from.step;
        t.maxStep = from.step;
    }
    __syncthreads();
    return true;
}

/* Merges the query's keys in the band with those of the bands before. By all threads, after a barrier. */
__device__ __forceinline__ void imagesearch_band_end(const ImageBlock& b, const ImageBandSearch& p, uint32_t carried) {
    BlockTopK& top = b.shared->top;
    if (top.count == 0) {
        return;
    }
    block_topk_compact(top); /* at most k are left */
    const ImageQuery& q = b.shared->query;
    uint64_t* hits = p.search.hits + q.firstHit;
    const uint32_t own = top.count;
    for (uint32_t i = threadIdx.x; i < own; i += blockDim.x) {
        b.keys[i] -= p.firstDoc; /* a key has the complement of its DocID */
    }
    for (uint32_t i = threadIdx.x; i < carried; i += blockDim.x) {
        b.keys[own + i] = hits[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        top.count = own + carried;
    }
    __syncthreads();
    const uint32_t count = block_write_hits(top, b.keys, q.k, [hits](uint32_t i, uint64_t key) { hits[i] = key; });
    if (threadIdx.x == 0) {
        p.counts[q.result] = count;
    }
}

/* Searches a band for the queries of a pass, each from the hits and the threshold of the bands before.
 *
 * Grid: a block per entry of blocks. Block: 256 threads. Shared memory: sharedBytes (tuning.go), with room for 2*k
 * keys. In and out: hits, best first, and counts. Reference: package traverse, exhaustive-daat. */
GRIFFIN_KERNEL_BLOCKS(imagesearch_band_search, ImageBandSearch, 256, 4) {
    __shared__ ImageShared shared;
    ImageBlock b;
    const uint2 block = p.search.blocks[blockIdx.x];
    imagesearch_begin<false, kLate>(b, shared, p.search, p.search.queries + block.x, nullptr, block.y);
    /* Only the last of the query's blocks to end writes counts and hits: all see the same. */
    const uint32_t carried = p.counts[shared.query.result];
    if (!imagesearch_band_begin(b, p, carried)) {
        return;
    }
    const uint32_t numSupers = (p.search.numDocs + kSuperDocs - 1) / kSuperDocs;
    imagesearch_window<false, kLate, false, true>(b, 0, (numSupers + b.splits - 1 - b.split) / b.splits);
    __syncthreads();
    if (b.state != nullptr && !imagesearch_join<false>(b)) {
        return;
    }
    imagesearch_band_end(b, p, carried);
    if (b.state != nullptr) {
        __syncthreads();
        block_clear(b.state);
    }
}
