#include "lrc.cuh"

// Ao et al., PVLDB 4(8), 2011, §5.2: a DocID is the value of a line plus a deviation, without a prefix sum. A list of
// several blocks begins with all of its DocIDs, encoded as one sequence; a list of one block has its own line
// (codec/lrc_block.go).

// Blocks whose loads are in flight together.
constexpr uint32_t lrcInFlight = 2;

// Four adjacent DocIDs of one segment, with the words of their deviations.
struct LrcQuad {
    DecodeBytes src;
    DecodeQuad words;
    uint64_t line;  // value of the line at the first DocID
};

// DocIDs j to j+3 of a segment. Values behind its end are not used; the reads stay in the payload.
__device__ __forceinline__ LrcQuad lrc_load(const DecodeList& list, const RegressionSegment& s, uint32_t j) {
    const uint64_t bit = s.bits + static_cast<uint64_t>(j) * s.width;
    LrcQuad q;
    q.src = DecodeBytes{list.payload, list.payloadWords - 1, static_cast<uint32_t>(bit >> 5), 0};
    q.words.bit = static_cast<uint32_t>(bit) & 31;
    q.words.word[0] = q.src.word(0);
    q.words.word[1] = q.src.word(1);
    q.words.word[2] = s.width > 8 ? q.src.word(2) : 0;
    q.line = s.start + j * s.slope;
    return q;
}

// Line plus deviations.
__device__ __forceinline__ uint4 lrc_finish(const DecodeList& list, const LrcQuad& q, const RegressionSegment& s,
                                            uint32_t j) {
    uint4 v = decode_quad(q.words, q.src, s.width);
    if ((s.flags & kRegressionExceptions) && j < s.end - s.begin) {
        const uint4 highs = regression_highs(list.payload, list.payloadWords - 1, s.bits, s.width, s.end - s.begin, j);
        v = make_uint4(v.x + highs.x, v.y + highs.y, v.z + highs.z, v.w + highs.w);
    }
    uint64_t line = q.line;
    v.x += static_cast<uint32_t>(line >> 32);
    line += s.slope;
    v.y += static_cast<uint32_t>(line >> 32);
    line += s.slope;
    v.z += static_cast<uint32_t>(line >> 32);
    line += s.slope;
    v.w += static_cast<uint32_t>(line >> 32);
    return v;
}

template <DecodeWhat what>
__device__ __forceinline__ void lrc_store(const DecodeTile& t, uint32_t i, uint32_t n, uint4 docIDs) {
    if constexpr (what == decodeGaps) {
        docIDs = decode_differences(docIDs, decode_base(t, i));
    }
    decode_store(t, i, n, docIDs);
}

// A list of one block. A selection may contain it more than once.
template <DecodeWhat what>
__device__ __forceinline__ void lrc_one_block(const DecodeTile& t) {
    const DecodeBlock b = decode_block(t, 0);
    const RegressionSegment s = lrc_open_block(lrc_words(t.list), b.offset, b.n, b.docWidth).segment;
    const uint32_t j = 4 * decode_lane();
    const uint4 docIDs = lrc_finish(t.list, lrc_load(t.list, s, j), s, j);
    for (uint32_t i = 0; i < t.count; i++) {
        lrc_store<what>(t, i, b.n, docIDs);
    }
}

// Segments of equal length of at least 16 DocIDs: four adjacent DocIDs lie in one.
template <uint32_t Scheme, DecodeWhat what>
__device__ __forceinline__ void lrc_tile(const DecodeTile& t) {
    if (t.list.numPostings <= decodeBlockLen) {
        lrc_one_block<what>(t);
        return;
    }
    const RegressionView v = regression_view<Scheme>(t.list.payload, t.list.payloadWords, t.list.numPostings);
    for (uint32_t from = 0; from < t.count; from += lrcInFlight) {
        RegressionSegment segments[lrcInFlight];
        uint32_t j[lrcInFlight];
        LrcQuad quads[lrcInFlight];
#pragma unroll
        for (uint32_t k = 0; k < lrcInFlight; k++) {
            const uint32_t block = decode_number(t, min(from + k, t.count - 1));
            const uint32_t first = block * decodeBlockLen + 4 * decode_lane();
            segments[k] = regression_open<Scheme>(v, regression_find<Scheme>(v, first));
            j[k] = first - segments[k].begin;
        }
#pragma unroll
        for (uint32_t k = 0; k < lrcInFlight; k++) {
            quads[k] = lrc_load(t.list, segments[k], j[k]);
        }
#pragma unroll
        for (uint32_t k = 0; k < lrcInFlight; k++) {
            if (from + k < t.count) {
                const DecodeBlock b = decode_block(t, from + k);
                lrc_store<what>(t, from + k, b.n, lrc_finish(t.list, quads[k], segments[k], j[k]));
            }
        }
    }
}

// Hash buckets of any length: a lane opens further buckets only if its four values lie in several.
template <DecodeWhat what>
__device__ __forceinline__ void lrc_tile_of_buckets(const DecodeTile& t) {
    if (t.list.numPostings <= decodeBlockLen) {
        lrc_one_block<what>(t);
        return;
    }
    const RegressionView v = regression_view<kSchemeHSLRC>(t.list.payload, t.list.payloadWords, t.list.numPostings);
    uint32_t bucket = 0;
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        const uint32_t first = decode_number(t, i) * decodeBlockLen;
        if (i == 0 || t.list.selected != nullptr) {
            bucket = regression_find_warp<kSchemeHSLRC>(v, first);
        }
        const uint32_t last = first + b.n - 1;
        uint32_t index = min(first + 4 * decode_lane(), last);
        bucket = regression_next<kSchemeHSLRC>(v, bucket, index);
        RegressionSegment s = regression_open<kSchemeHSLRC>(v, bucket);
        uint32_t docIDs[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            if (index >= s.end) {
                bucket = regression_next<kSchemeHSLRC>(v, bucket, index);
                s = regression_open<kSchemeHSLRC>(v, bucket);
            }
            docIDs[k] = regression_at(v.list, s, index - s.begin);
            index = min(index + 1, last);
        }
        bucket = __shfl_sync(decodeAllLanes, bucket, 31);
        lrc_store<what>(t, i, b.n, make_uint4(docIDs[0], docIDs[1], docIDs[2], docIDs[3]));
    }
}

// Frequencies are packed as in simdbp.
__device__ __forceinline__ void lrc_freqs(const DecodeTile& t) {
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        DecodeBytes src = decode_bytes(t, b);
        if (t.list.numPostings <= decodeBlockLen) {
            src = src.behind(lrc_open_block(lrc_words(t.list), b.offset, b.n, b.docWidth).end - b.offset);
        }
        decode_store(t, i, b.n, decode_plus(decode_unpack(src, b.freqWidth), 1));
    }
}

// Mirror of atParams in lrc.go.
struct DecodeAtParams {
    const uint32_t* payload;
    const uint32_t* directory;
    const uint32_t* indexes;  // [count], below numPostings
    uint32_t* out;            // [count]
    uint32_t numPostings;
    uint32_t count;
    uint32_t payloadWords;
    uint32_t reserved;
};

template <uint32_t Scheme>
__device__ __forceinline__ void lrc_at(const DecodeAtParams& p) {
    const uint32_t stride = gridDim.x * blockDim.x;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (p.numPostings <= decodeBlockLen) {
        const RegressionWords payload{p.payload, p.payloadWords - 1};
        const uint32_t widths = __ldg(p.directory + 3);
        const LrcBlock b = lrc_open_block(payload, __ldg(p.directory + 2), p.numPostings, widths >> 16 & 0xff);
        for (uint32_t i = thread; i < p.count; i += stride) {
            p.out[i] = regression_at(payload, b.segment, __ldg(p.indexes + i));
        }
        return;
    }
    const RegressionView v = regression_view<Scheme>(p.payload, p.payloadWords, p.numPostings);
    for (uint32_t i = thread; i < p.count; i += stride) {
        const uint32_t index = __ldg(p.indexes + i);
        const RegressionSegment s = regression_open<Scheme>(v, regression_find<Scheme>(v, index));
        p.out[i] = regression_at(v.list, s, index - s.begin);
    }
}

/* The tile kernels: grid: a warp for each tile; block: decodeThreads threads; no shared memory; lane l of the tile's
 * warp writes values 4l to 4l+3 of each block. decode_*_at: any grid and block; thread i writes out[i], the DocID at
 * indexes[i] (random access, ao11 §5.3: without exceptions it reads twice, the segment's table entry and the
 * deviation). CPU reference: codec.Regression. */
#define DECODE_LRC_KERNELS(codec, Scheme, tile)                            \
    GRIFFIN_KERNEL(decode_##codec##_docids, DecodeParams, decodeThreads) { \
        decode_tiles(p, tile(decodeDocIDs));                               \
    }                                                                      \
    GRIFFIN_KERNEL(decode_##codec##_gaps, DecodeParams, decodeThreads) {   \
        decode_tiles(p, tile(decodeGaps));                                 \
    }                                                                      \
    GRIFFIN_KERNEL(decode_##codec##_freqs, DecodeParams, decodeThreads) {  \
        decode_tiles(p, [&](const DecodeTile& t) { lrc_freqs(t); });       \
    }                                                                      \
    GRIFFIN_KERNEL(decode_##codec##_at, DecodeAtParams, decodeThreads) {   \
        lrc_at<Scheme>(p);                                                 \
    }

#define DECODE_LRC(what) [&](const DecodeTile& t) { lrc_tile<kSchemeLRC, what>(t); }
#define DECODE_LRCSEG(what) [&](const DecodeTile& t) { lrc_tile<kSchemeLRCSeg, what>(t); }
#define DECODE_SEGLRC(what) [&](const DecodeTile& t) { lrc_tile<kSchemeSegLRC, what>(t); }
#define DECODE_HSLRC(what) [&](const DecodeTile& t) { lrc_tile_of_buckets<what>(t); }

DECODE_LRC_KERNELS(lrc, kSchemeLRC, DECODE_LRC)
DECODE_LRC_KERNELS(lrcseg, kSchemeLRCSeg, DECODE_LRCSEG)
DECODE_LRC_KERNELS(seglrc, kSchemeSegLRC, DECODE_SEGLRC)
DECODE_LRC_KERNELS(hslrc, kSchemeHSLRC, DECODE_HSLRC)
