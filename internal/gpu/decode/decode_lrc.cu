#include "../device/regression.cuh"
#include "decode.cuh"

// Ao et al., PVLDB 4(8), 2011, §5.2: a DocID is the line's value and a deviation, so that
// there is no prefix sum. Lists of several blocks begin with all of their DocIDs, encoded
// as one; a list of one block has a line of its own (codec/lrc_block.go).

// A segment of one block, and where it ends in the payload.
struct LrcBlock {
    RegressionSegment segment;
    uint64_t endBits;
};

// Returns the number in base 128 at a byte of words, and moves on behind it.
__device__ __forceinline__ uint64_t lrc_varint(const uint32_t* words, uint32_t& byte) {
    uint64_t v = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        const uint32_t b = __ldg(words + (byte >> 2)) >> (8 * (byte & 3)) & 0xff;
        byte++;
        v |= static_cast<uint64_t>(b & 0x7f) << shift;
        if (b < 0x80) {
            break;
        }
    }
    return v;
}

// Opens the block of a list of one, of n DocIDs, at a byte of its payload.
__device__ __forceinline__ LrcBlock lrc_open_block(const uint32_t* payload, uint32_t offset, uint32_t n,
                                                   uint32_t widthByte) {
    constexpr uint32_t slopeShift = 24;
    uint32_t byte = offset;
    LrcBlock b;
    RegressionSegment& s = b.segment;
    s.slope = n > 1 ? lrc_varint(payload, byte) << slopeShift : 0;
    const uint64_t cut = lrc_varint(payload, byte);
    s.start = ((cut >> 1) ^ (uint64_t{0} - (cut & 1))) << 32;  // zigzag
    s.words = payload + (byte >> 2);
    s.skew = 8 * (byte & 3);
    s.width = widthByte & kRegressionWidthMask;
    s.flags = widthByte & ~kRegressionWidthMask;
    s.begin = 0;
    s.end = n;
    b.endBits = static_cast<uint64_t>(byte) * 8 + (static_cast<uint64_t>(n) * s.width + 7) / 8 * 8;
    if (s.flags & kRegressionExceptions) {
        const RegressionExceptions e = regression_exceptions(s);
        const uint64_t end = e.highs + (static_cast<uint64_t>(e.count) * e.highWidth + 7) / 8 * 8;
        b.endBits = static_cast<uint64_t>(byte >> 2) * 32 + end;
    }
    return b;
}

// DocIDs j to j+3 of a segment, as many as it has.
__device__ __forceinline__ uint4 lrc_quad(const RegressionSegment& s, uint32_t j) {
    uint32_t v[4];
    uint64_t at = s.start + j * s.slope;
    uint64_t bit = static_cast<uint64_t>(j) * s.width + s.skew;
    const uint32_t count = s.end - s.begin;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        v[k] = static_cast<uint32_t>(at >> 32) + (j + k < count ? regression_bits(s.words, bit, s.width) : 0);
        at += s.slope;
        bit += s.width;
    }
    if ((s.flags & kRegressionExceptions) && j < count) {
        const uint4 highs = regression_highs(s.words, s.skew, s.width, count, j);
        return make_uint4(v[0] + highs.x, v[1] + highs.y, v[2] + highs.z, v[3] + highs.w);
    }
    return make_uint4(v[0], v[1], v[2], v[3]);
}

// DocIDs i to i+3 of a list in buckets, as many as it has. segment is one at or before
// that of i, and becomes that of the last.
__device__ __forceinline__ uint4 lrc_quad_of_buckets(const RegressionView& v, uint32_t i, uint32_t& segment) {
    uint32_t docIDs[4] = {0, 0, 0, 0};
    RegressionSegment s;
    s.end = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        if (i + k < v.numPostings) {
            if (i + k >= s.end) {
                segment = regression_next<kSchemeHSLRC>(v, segment, i + k);
                s = regression_open<kSchemeHSLRC>(v, segment);
            }
            docIDs[k] = regression_at(s, i + k - s.begin);
        }
    }
    return make_uint4(docIDs[0], docIDs[1], docIDs[2], docIDs[3]);
}

template <DecodeWhat what>
__device__ __forceinline__ void lrc_store(const DecodeTile& t, uint32_t i, const DecodeBlock& b, uint4 docIDs) {
    if constexpr (what == decodeGaps) {
        docIDs = decode_differences(docIDs, decode_base(t, i));
    }
    decode_store(t, i, b.n, docIDs);
}

template <uint32_t Scheme, DecodeWhat what>
__device__ __forceinline__ void lrc_tile(const DecodeTile& t) {
    if (t.list.numPostings <= decodeBlockLen) {
        const DecodeBlock b = decode_block(t, 0);
        const LrcBlock block = lrc_open_block(t.list.payload, b.offset, b.n, b.docWidth);
        const uint4 docIDs = lrc_quad(block.segment, 4 * decode_lane());
        for (uint32_t i = 0; i < t.count; i++) {  // a selection may name it more than once
            lrc_store<what>(t, i, b, docIDs);
        }
        return;
    }
    const RegressionView v = regression_view<Scheme>(t.list.payload, t.list.numPostings);
    uint32_t segment = 0;
    bool known = false;  // segment is at or before that of the next block
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        const uint32_t first = decode_number(t, i) * decodeBlockLen;
        const uint32_t from = first + 4 * decode_lane();
        uint4 docIDs;
        if constexpr (Scheme == kSchemeHSLRC) {
            if (!known) {
                segment = regression_find_warp<Scheme>(v, first);
            }
            docIDs = lrc_quad_of_buckets(v, from, segment);
            segment = __shfl_sync(decodeAllLanes, segment, 31);
            known = t.list.selected == nullptr;
        } else {
            // Segments are of 16 DocIDs at least: four side by side are of one.
            const RegressionSegment s = regression_open<Scheme>(v, min(from >> v.length, v.numSegments - 1));
            docIDs = lrc_quad(s, from - s.begin);
        }
        lrc_store<what>(t, i, b, docIDs);
    }
}

// Frequencies are packed as those of simdbp.
__device__ __forceinline__ void lrc_freqs(const DecodeTile& t) {
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        DecodeBytes src = decode_bytes(t, b);
        if (t.list.numPostings <= decodeBlockLen) {
            const uint64_t end = lrc_open_block(t.list.payload, b.offset, b.n, b.docWidth).endBits / 8;
            src = src.behind(static_cast<uint32_t>(end) - b.offset);
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
};

template <uint32_t Scheme>
__device__ __forceinline__ void lrc_at(const DecodeAtParams& p) {
    const uint32_t stride = gridDim.x * blockDim.x;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (p.numPostings <= decodeBlockLen) {
        const uint32_t widths = __ldg(p.directory + 3);
        const LrcBlock b = lrc_open_block(p.payload, __ldg(p.directory + 2), p.numPostings, widths >> 16 & 0xff);
        for (uint32_t i = thread; i < p.count; i += stride) {
            p.out[i] = regression_at(b.segment, __ldg(p.indexes + i));
        }
        return;
    }
    const RegressionView v = regression_view<Scheme>(p.payload, p.numPostings);
    for (uint32_t i = thread; i < p.count; i += stride) {
        const uint32_t index = __ldg(p.indexes + i);
        const RegressionSegment s = regression_open<Scheme>(v, regression_find<Scheme>(v, index));
        p.out[i] = regression_at(s, index - s.begin);
    }
}

/*
 * Kernels of this file. Those named as all of this package: grid: a warp for each tile;
 * block: decodeThreads threads; no shared memory; lane l of the tile's warp writes
 * values 4l to 4l+3 of each block. decode_*_at: grid and block: any; thread i writes out[i],
 * the DocID at indexes[i] (random access, ao11 §5.3: two reads where there are no
 * exceptions, of the segment's table and of the deviation). CPU reference:
 * codec.Regression.
 */
#define DECODE_LRC_KERNELS(codec, Scheme)                        \
    GRIFFIN_KERNEL(decode_##codec##_docids, DecodeParams, 256) { \
        DecodeTile t;                                            \
        if (decode_tile(p, t)) {                                 \
            lrc_tile<Scheme, decodeDocIDs>(t);                   \
        }                                                        \
    }                                                            \
    GRIFFIN_KERNEL(decode_##codec##_gaps, DecodeParams, 256) {   \
        DecodeTile t;                                            \
        if (decode_tile(p, t)) {                                 \
            lrc_tile<Scheme, decodeGaps>(t);                     \
        }                                                        \
    }                                                            \
    GRIFFIN_KERNEL(decode_##codec##_freqs, DecodeParams, 256) {  \
        DecodeTile t;                                            \
        if (decode_tile(p, t)) {                                 \
            lrc_freqs(t);                                        \
        }                                                        \
    }                                                            \
    GRIFFIN_KERNEL(decode_##codec##_at, DecodeAtParams, 256) {   \
        lrc_at<Scheme>(p);                                       \
    }

DECODE_LRC_KERNELS(lrc, kSchemeLRC)
DECODE_LRC_KERNELS(lrcseg, kSchemeLRCSeg)
DECODE_LRC_KERNELS(seglrc, kSchemeSegLRC)
DECODE_LRC_KERNELS(hslrc, kSchemeHSLRC)
