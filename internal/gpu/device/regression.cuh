// Lists of the Regression codecs (lrc, lrcseg, seglrc, hs-lrc): the bytes written by package codec, 4-byte aligned and
// padded to whole words. Any DocID can be computed independently, and lists can be searched without decoding (Ao et
// al., PVLDB 4(8), 2011, §5.2, §5.3 and Appendix D). CPU reference: codec/lrc_list.go, lrc_deviations.go,
// lrc_search.go.
//
// For invalid bytes, reads stay inside the list's words and all functions terminate; their results are undefined.

#pragma once

#include "bits.cuh"
#include "cuda.cuh"
#include "list_search.cuh"

constexpr uint32_t kSchemeLRC = 0;
constexpr uint32_t kSchemeLRCSeg = 1;
constexpr uint32_t kSchemeSegLRC = 2;
constexpr uint32_t kSchemeHSLRC = 3;

// Of a width byte.
constexpr uint32_t kRegressionExceptions = 0x80;
constexpr uint32_t kRegressionWide = 0x40;
constexpr uint32_t kRegressionWidthMask = 0x3f;

// count u32, index width u8, high width u8.
constexpr uint32_t kExceptionsHeader = 6;

// Mirror of intersect.CompressedView.Words.
struct RegressionList {
    const uint32_t* words;  // the list's bytes, padded to whole words
    uint32_t numPostings;
    uint32_t numWords;  // readable words, at least 1
};

// Reads beyond the last word return the last word.
struct RegressionWords {
    const uint32_t* words;
    uint32_t last;

    __device__ __forceinline__ uint32_t word(uint64_t i) const { return __ldg(words + min(i, uint64_t{last})); }

    // The number of width bits, at most 32, at a bit.
    __device__ __forceinline__ uint32_t number(uint64_t bit, uint32_t width) const {
        const uint64_t at = bit >> 5;
        const uint32_t low = word(at);
        return __funnelshift_r(low, word(at + 1), static_cast<uint32_t>(bit) & 31) & low_bits(width);
    }
    __device__ __forceinline__ uint32_t byte(uint64_t i) const {
        return word(i >> 2) >> (8 * (static_cast<uint32_t>(i) & 3)) & 0xff;
    }
};

// The list's header (format: codec/lrc_list.go). Offsets are in words from the list's start, except widths and data, in
// bytes.
struct RegressionView {
    RegressionWords list;
    uint64_t slope;  // of the list, in units of 2^-32; not for hs-lrc
    uint32_t numPostings;
    uint32_t numSegments;
    uint32_t heads;  // for hs-lrc: the starts of the buckets, one more than segments
    uint32_t offsets;
    uint32_t cuts;
    uint32_t slopes;
    uint32_t widths;
    uint32_t data;
    uint32_t intercept;
    uint32_t length;  // binary logarithm of a segment's DocIDs; for hs-lrc: the shift
    float inverse;    // of the slope: line_inverse
    int32_t left;     // safe search range (contraction.SafeRange); not for hs-lrc
    int32_t right;
};

// DocID j is the high half of start + j*slope, plus the deviation, modulo 2^32.
struct RegressionSegment {
    uint64_t bits;   // bit offset in the list where the deviations begin
    uint32_t width;  // of the low parts, at most 32
    uint32_t flags;
    uint32_t begin;  // list index of its first DocID
    uint32_t end;
    uint64_t start;
    uint64_t slope;
};

struct RegressionExceptions {
    uint32_t count;
    uint32_t indexWidth;
    uint32_t highWidth;
    uint64_t indexes;  // bit offset in the list
    uint64_t highs;
};

// 26 significant bits and an exponent (codec/lrc_slope.go).
__device__ __forceinline__ uint64_t regression_slope(uint32_t packed) {
    return static_cast<uint64_t>(packed & 0x3ffffff) << (packed >> 26);
}

// n >= 1 DocIDs.
template <uint32_t Scheme>
__device__ __forceinline__ RegressionView regression_view(const uint32_t* words, uint32_t numWords, uint32_t n) {
    RegressionView v;
    v.list.words = words;
    v.list.last = numWords - 1;
    v.numPostings = n;
    v.length = v.list.word(1) & 0xff;
    const uint32_t third = v.list.word(2);
    if (Scheme == kSchemeHSLRC) {
        v.numSegments = max(1U, min(third, numWords));
        v.heads = 3;
        v.offsets = v.heads + v.numSegments + 1;
        v.slope = 0;
        v.inverse = 0;
        v.intercept = 0;
        v.left = v.right = 0;
    } else {
        v.numSegments = shift_right(n - 1, v.length) + 1;
        v.heads = 6;
        v.offsets = v.heads + v.numSegments;
        v.slope = regression_slope(third);
        v.inverse = line_inverse(v.slope);
        v.intercept = v.list.word(3);
        v.left = static_cast<int32_t>(v.list.word(4));
        v.right = static_cast<int32_t>(v.list.word(5));
    }
    v.cuts = v.offsets + v.numSegments;
    v.slopes = v.cuts + (Scheme == kSchemeLRC ? 0 : v.numSegments);
    const uint32_t widths = v.slopes + (Scheme >= kSchemeSegLRC ? v.numSegments : 0);
    v.widths = 4 * widths;
    v.data = v.widths + v.numSegments;
    return v;
}

// From a table of u32.
__device__ __forceinline__ uint32_t regression_word(const RegressionView& v, uint32_t table, uint32_t i) {
    return v.list.word(table + i);
}

template <uint32_t Scheme>
__device__ __forceinline__ RegressionSegment regression_open(const RegressionView& v, uint32_t i) {
    RegressionSegment s;
    if (Scheme == kSchemeHSLRC) {
        s.begin = regression_word(v, v.heads, i);
        s.end = regression_word(v, v.heads, i + 1);
    } else {
        s.begin = shift_left(i, v.length);
        s.end = s.begin + min(v.length < 32 ? 1U << v.length : v.numPostings, v.numPostings - s.begin);
    }
    s.bits = 8 * (static_cast<uint64_t>(v.data) + regression_word(v, v.offsets, i));
    const uint32_t w = v.list.byte(v.widths + i);
    s.width = min(w & kRegressionWidthMask, 32U);
    s.flags = w & ~kRegressionWidthMask;
    const uint32_t cut = Scheme == kSchemeLRC ? v.intercept : regression_word(v, v.cuts, i);
    s.start = static_cast<uint64_t>(cut) << 32;
    if (Scheme == kSchemeLRC || Scheme == kSchemeLRCSeg) {
        s.slope = v.slope;
        s.start += s.begin * v.slope;
    } else {
        s.slope = regression_slope(regression_word(v, v.slopes, i));
    }
    return s;
}

// Of a segment of length DocIDs that has the flag.
__device__ __forceinline__ RegressionExceptions regression_exceptions(const RegressionWords& list, uint64_t bits,
                                                                      uint32_t width, uint32_t length) {
    uint64_t at = bits + (static_cast<uint64_t>(length) * width + 7) / 8 * 8;
    RegressionExceptions e;
    e.count = min(list.number(at, 32), length);
    e.indexWidth = list.number(at + 32, 8);
    e.highWidth = list.number(at + 40, 8);
    at += 8 * kExceptionsHeader;
    e.indexes = at;
    e.highs = at + (static_cast<uint64_t>(e.count) * e.indexWidth + 7) / 8 * 8;
    return e;
}

// Without the high bits of exceptions.
__device__ __forceinline__ uint32_t regression_low(const RegressionWords& list, const RegressionSegment& s,
                                                   uint32_t j) {
    const uint32_t deviation = list.number(s.bits + static_cast<uint64_t>(j) * s.width, s.width);
    return static_cast<uint32_t>((s.start + j * s.slope) >> 32) + deviation;
}

// The high bits of exceptions, shifted to their position, of DocIDs j to j+3 of a segment of length DocIDs that has the
// flag. Not inlined: segments with exceptions are rare, and the code is long.
__device__ __noinline__ uint4 regression_highs(const uint32_t* words, uint32_t last, uint64_t bits, uint32_t width,
                                               uint32_t length, uint32_t j) {
    const RegressionWords list{words, last};
    const RegressionExceptions e = regression_exceptions(list, bits, width, length);
    // The first exception whose index is at least j.
    uint32_t from = 0;
    uint32_t hi = e.count;
    while (from < hi) {
        const uint32_t mid = from + (hi - from) / 2;
        if (list.number(e.indexes + static_cast<uint64_t>(mid) * e.indexWidth, e.indexWidth) < j) {
            from = mid + 1;
        } else {
            hi = mid;
        }
    }
    uint4 highs = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    for (uint32_t k = from; k < min(from + 4, e.count); k++) {
        const uint64_t at = k;
        const uint32_t index = list.number(e.indexes + at * e.indexWidth, e.indexWidth) - j;
        const uint32_t high = shift_left(list.number(e.highs + at * e.highWidth, e.highWidth), width);
        highs.x = index == 0 ? high : highs.x;
        highs.y = index == 1 ? high : highs.y;
        highs.z = index == 2 ? high : highs.z;
        highs.w = index == 3 ? high : highs.w;
    }
    return highs;
}

__device__ __forceinline__ uint32_t regression_at(const RegressionWords& list, const RegressionSegment& s, uint32_t j) {
    uint32_t docID = regression_low(list, s, j);
    if (s.flags & kRegressionExceptions) {
        docID += regression_highs(list.words, list.last, s.bits, s.width, s.end - s.begin, j).x;
    }
    return docID;
}

// The segment that contains DocID i; for buckets, the last that begins at or before i.
template <uint32_t Scheme>
__device__ __forceinline__ uint32_t regression_find(const RegressionView& v, uint32_t i) {
    if (Scheme != kSchemeHSLRC) {
        return min(shift_right(i, v.length), v.numSegments - 1);
    }
    uint32_t lo = 0;
    uint32_t hi = v.numSegments - 1;
    while (lo < hi) {
        const uint32_t mid = (lo + hi + 1) / 2;
        if (regression_word(v, v.heads, mid) > i) {
            hi = mid - 1;
        } else {
            lo = mid;
        }
    }
    return lo;
}

// As above, for the same i in all 32 lanes, which compare 32 buckets at a time.
template <uint32_t Scheme>
__device__ __forceinline__ uint32_t regression_find_warp(const RegressionView& v, uint32_t i) {
    if (Scheme != kSchemeHSLRC) {
        return min(shift_right(i, v.length), v.numSegments - 1);
    }
    const uint32_t lane = threadIdx.x & 31;
    // Invariant: starts[lo] <= i, and starts[lo + size] > i or there is no such bucket.
    uint32_t lo = 0;
    uint32_t size = v.numSegments;
    while (size > 1) {
        const uint32_t step = (size + 31) / 32;
        const uint32_t at = lane * step;
        const bool reached = lane == 0 || (at < size && regression_word(v, v.heads, lo + at) <= i);
        const uint32_t last = 31 - __clz(__ballot_sync(0xffffffffu, reached));
        lo += last * step;
        size = min(step, size - last * step);
    }
    return lo;
}

// Given a segment at or before it.
template <uint32_t Scheme>
__device__ __forceinline__ uint32_t regression_next(const RegressionView& v, uint32_t segment, uint32_t i) {
    if (Scheme != kSchemeHSLRC) {
        return min(shift_right(i, v.length), v.numSegments - 1);
    }
    while (segment + 1 < v.numSegments && regression_word(v, v.heads, segment + 1) <= i) {
        segment++;
    }
    return segment;
}

// Narrows [lo, hi] for the first DocID that is at least t above the intercept: a DocID lies between the line and
// 2^width - 1 above it (lrcSegment.around).
__device__ __forceinline__ void regression_around(const RegressionWords& list, const RegressionSegment& s, int64_t t,
                                                  uint32_t& lo, uint32_t& hi) {
    uint32_t width = s.width;
    if (s.flags & kRegressionExceptions) {
        width = min(width + regression_exceptions(list, s.bits, s.width, s.end - s.begin).highWidth, 32U);
    }
    const float inverse = line_inverse(s.slope);
    int64_t margin;
    const int64_t to = line_position(t, inverse, margin) + 1 + margin;
    const int64_t from = line_position(t - ((int64_t{1} << width) - 1), inverse, margin) - margin;
    const int64_t low = lo;
    const int64_t high = hi;
    lo = static_cast<uint32_t>(max(low, min(from, high)));
    hi = static_cast<uint32_t>(min(high, max(to, low)));
}

// Whether x is in the list; if so, sets index. The segment is found by hash (hs-lrc) or by binary search over the
// segments' first DocIDs within the safe search range; a binary search in it decodes only the DocIDs that it compares
// (Ao et al., Algorithm 1, lines 4 to 6).
template <uint32_t Scheme>
__device__ __forceinline__ bool regression_search(const RegressionView& v, uint32_t x, uint32_t& index) {
    uint32_t lo = 0;
    uint32_t hi = v.numPostings;
    uint32_t segment;
    if (Scheme == kSchemeHSLRC) {
        segment = shift_right(x, v.length);
        if (segment >= v.numSegments) {
            return false;
        }
    } else {
        const int64_t rise = static_cast<int64_t>(x) - static_cast<int32_t>(v.intercept);
        safe_range(rise, v.inverse, v.left, v.right, v.numPostings, lo, hi);
        if (lo >= v.numPostings) {
            return false;
        }
        // The last segment in [first, last] that does not begin above x.
        const int32_t first = static_cast<int32_t>(shift_right(lo, v.length));
        int32_t a = first - 1;
        int32_t b = static_cast<int32_t>(shift_right(min(hi, v.numPostings - 1), v.length));
        while (a < b) {
            const int32_t mid = (a + b + 1) >> 1;
            if (regression_word(v, v.heads, static_cast<uint32_t>(mid)) > x) {
                b = mid - 1;
            } else {
                a = mid;
            }
        }
        if (a < first) {
            // x is below the first head of the range; a DocID equal to x could
            // only be at a head, and heads are not above x.
            return false;
        }
        segment = static_cast<uint32_t>(a);
    }
    const RegressionSegment s = regression_open<Scheme>(v, segment);
    if (s.begin == s.end) {
        return false;
    }
    const uint32_t count = s.end - s.begin;
    hi = min(hi > s.begin ? hi - s.begin : 0, count);
    lo = min(lo > s.begin ? lo - s.begin : 0, hi);
    if (Scheme >= kSchemeSegLRC && !(s.flags & kRegressionWide)) {
        const int64_t t = static_cast<int64_t>(x) - static_cast<int32_t>(s.start >> 32);
        regression_around(v.list, s, t, lo, hi);
    }
    // If x is in the list, it is in [lo, hi): ranges include their last index
    // and a margin.
    while (lo < hi) {
        const uint32_t mid = (lo + hi) / 2;
        const uint32_t docID = regression_at(v.list, s, mid);
        if (docID == x) {
            index = s.begin + mid;
            return true;
        }
        if (docID < x) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return false;
}
