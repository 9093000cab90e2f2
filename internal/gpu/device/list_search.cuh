// Searches by one thread in one uncompressed list. CPU reference: package contraction (Ao et al., PVLDB 4(8), 2011,
// §4.2 to §4.4).

#pragma once

#include "cuda.cuh"

// Mirror of intersect.View. Fields that a search does not use may be null or 0.
struct ListView {
    const uint32_t* docIDs;  // [numPostings], ascending
    const uint32_t* table;   // hash segmentation: [numBuckets+1] starts, and the list's
                             // length; bitmap: [numBuckets] pairs of bits and rank
    int64_t intercept;       // of the line
    uint32_t numPostings;
    int32_t left;  // safe search range around the line
    int32_t right;
    uint32_t shift;  // maps a DocID to its bucket
    uint32_t numBuckets;
    uint32_t isBitmap;  // table is a bitmap
    float inverse;      // of the line's slope: line_inverse
    uint32_t reserved[3];
};

// The number of indexes over which a line with the given slope (in units of 2^-32) rises by 1, rounded as on the host.
__device__ __forceinline__ float line_inverse(uint64_t slope) {
    return __fdiv_rn(4294967296.0F, static_cast<float>(max(slope, uint64_t{1})));
}

// The approximate index at which a line reaches rise above its start. margin bounds the error, including the two
// roundings of contraction.Line.Position. An exact 64-bit division would be as slow as a memory access.
__device__ __forceinline__ int64_t line_position(int64_t rise, float inverse, int64_t& margin) {
    // Three roundings of 2^-24 each: less than 2^-22 of the result.
    const float at = __fmul_rn(static_cast<float>(rise), inverse);
    const int64_t p = static_cast<int64_t>(max(-1e15F, min(at, 1e15F)));
    margin = 3 + ((p < 0 ? -p : p) >> 21);
    return p;
}

// The safe range is the whole list.
constexpr int32_t kNoRange = 0x7fffffff;

// Sets [lo, hi], within a list of n, to the range of the first element that is at least rise above the start of the
// line (contraction.SafeRange.Range, plus the margin).
__device__ __forceinline__ void safe_range(int64_t rise, float inverse, int32_t left, int32_t right, uint32_t n,
                                           uint32_t& lo, uint32_t& hi) {
    if (left == kNoRange) {
        lo = 0;
        hi = n;
        return;
    }
    int64_t margin;
    const int64_t p = line_position(rise, inverse, margin);
    const int64_t length = n;
    const int64_t from = max(min(p - left - margin, length), int64_t{0});
    const int64_t to = max(min(p + right + 1 + margin, length), from);
    lo = static_cast<uint32_t>(from);
    hi = static_cast<uint32_t>(to);
}

// range sets [lo, hi) such that it contains x if the list does.

struct WholeList {
    static constexpr bool usesBitmap = false;
    __device__ __forceinline__ static void range(const ListView& v, uint32_t, uint32_t& lo, uint32_t& hi) {
        lo = 0;
        hi = v.numPostings;
    }
};

// LR.
struct LineRange {
    static constexpr bool usesBitmap = false;
    __device__ __forceinline__ static void range(const ListView& v, uint32_t x, uint32_t& lo, uint32_t& hi) {
        safe_range(static_cast<int64_t>(x) - v.intercept, v.inverse, v.left, v.right, v.numPostings, lo, hi);
    }
};

// HS, unless the list has a bitmap. Branch-free: an x without a bucket gets an empty range.
struct BucketRange {
    static constexpr bool usesBitmap = true;
    __device__ __forceinline__ static void range(const ListView& v, uint32_t x, uint32_t& lo, uint32_t& hi) {
        const uint32_t bucket = shift_right(x, v.shift);  // by 32 if there is one bucket
        const bool known = bucket < v.numBuckets;
        const uint32_t* start = v.table + (known ? bucket : 0);
        lo = __ldg(start);
        hi = __ldg(start + 1);
        hi = known ? hi : lo;
    }
};

// Binary search for x in [lo, hi); if found, sets index.
__device__ __forceinline__ bool find_in(const uint32_t* docIDs, uint32_t lo, uint32_t hi, uint32_t x, uint32_t& index) {
#pragma unroll 1
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        const uint32_t docID = __ldg(docIDs + mid);
        if (docID == x) {
            index = mid;
            return true;
        }
        lo = docID < x ? mid + 1 : lo;
        hi = docID < x ? hi : mid;
    }
    return false;
}

// Bit x%32 of word x/32 is the membership; the rank next to the word counts the DocIDs before it.
__device__ __forceinline__ bool find_bit(const ListView& v, uint32_t x, uint32_t& index) {
    const uint32_t bucket = x >> 5;
    const bool known = bucket < v.numBuckets;
    const uint2 word = __ldg(reinterpret_cast<const uint2*>(v.table) + (known ? bucket : 0));
    const uint32_t bit = 1u << (x & 31);
    index = word.y + static_cast<uint32_t>(__popc(word.x & (bit - 1)));
    return known && (word.x & bit) != 0;
}

// Each find reports whether x is in the list; if so, it sets index.

template <class Range>
struct RangeSearch {
    __device__ __forceinline__ static bool find(const ListView& v, uint32_t x, uint32_t& index) {
        if (v.numPostings == 0) {
            return false;
        }
        if (Range::usesBitmap && v.isBitmap) {
            return find_bit(v, x, index);
        }
        uint32_t lo;
        uint32_t hi;
        Range::range(v, x, lo, hi);
        return find_in(v.docIDs, lo, hi, x, index);
    }
};

// Perl, Itai and Avni, CACM 21(7), 1978: each step probes the expected index of x in a uniform distribution.
struct InterpolationSearch {
    __device__ __forceinline__ static bool find(const ListView& v, uint32_t x, uint32_t& index) {
        if (v.numPostings == 0) {
            return false;
        }
        uint32_t lo = 0;
        uint32_t hi = v.numPostings - 1;
        uint32_t first = __ldg(v.docIDs);
        uint32_t last = __ldg(v.docIDs + hi);
        if (x <= first || x >= last) {
            index = x == first ? 0 : hi;
            return x == first || x == last;
        }
        // Invariant: list[lo] < x < list[hi].
        while (hi - lo > 1) {
            const uint64_t rise = static_cast<uint64_t>(x - first) * (hi - lo);
            const uint32_t step = static_cast<uint32_t>(rise / (last - first));
            const uint32_t mid = max(lo + 1, min(lo + step, hi - 1));
            const uint32_t docID = __ldg(v.docIDs + mid);
            if (docID == x) {
                index = mid;
                return true;
            }
            if (docID < x) {
                lo = mid;
                first = docID;
            } else {
                hi = mid;
                last = docID;
            }
        }
        return false;
    }
};
