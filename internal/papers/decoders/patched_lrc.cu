#include "../../gpu/decode/lrc.cuh"

// DocIDs of one block, by index in it.
struct PatchedMemory {
    uint32_t docIDs[decodeBlockLen];
};

// The number of exceptions with an index below j, for the same j in all lanes, which compare 32 at a time.
__device__ __forceinline__ uint32_t patched_below(const RegressionWords& list, const RegressionExceptions& e,
                                                  uint32_t j) {
    uint32_t below = 0;
    uint32_t size = e.count;
    while (size > 0) {
        const uint32_t step = (size + 31) / 32;
        const uint32_t at = (decode_lane() + 1) * step - 1;  // the last of this lane's part
        const uint64_t bit = e.indexes + static_cast<uint64_t>(below + at) * e.indexWidth;
        const bool passed = at < size && list.number(bit, e.indexWidth) < j;
        const uint32_t parts = __popc(__ballot_sync(decodeAllLanes, passed));
        below += parts * step;
        size = step == 1 ? 0 : min(step, size - parts * step);
    }
    return below;
}

// DocIDs [from, to) of a segment, which lie in the block that begins at index first of the list: line and deviation of
// each, then the exceptions, each by a lane of its own, as in Algorithm 2 of ao11, Appendix D.
__device__ __forceinline__ void patched_segment(const RegressionWords& list, const RegressionSegment& s, uint32_t first,
                                                uint32_t from, uint32_t to, PatchedMemory& memory) {
    for (uint32_t i = from + decode_lane(); i < to; i += 32) {
        memory.docIDs[i - first] = regression_low(list, s, i - s.begin);
    }
    __syncwarp();
    if (s.flags & kRegressionExceptions) {
        const RegressionExceptions e = regression_exceptions(list, s.bits, s.width, s.end - s.begin);
        uint32_t k = patched_below(list, e, from - s.begin) + decode_lane();
        for (; k < e.count; k += 32) {
            const uint64_t at = k;
            const uint32_t i = s.begin + list.number(e.indexes + at * e.indexWidth, e.indexWidth);
            if (i >= to) {
                break;
            }
            const uint32_t high = shift_left(list.number(e.highs + at * e.highWidth, e.highWidth), s.width);
            atomicAdd(memory.docIDs + (i - first) % decodeBlockLen, high);
        }
        __syncwarp();
    }
}

__device__ __forceinline__ void patched_store(const DecodeTile& t, uint32_t i, uint32_t n,
                                              const PatchedMemory& memory) {
    decode_store(t, i, n, *reinterpret_cast<const uint4*>(memory.docIDs + 4 * decode_lane()));
    __syncwarp();
}

template <uint32_t Scheme>
__device__ __forceinline__ void patched_tile(const DecodeTile& t, PatchedMemory& memory) {
    // The end of a short block is read, but not written to the output.
    *reinterpret_cast<uint4*>(memory.docIDs + 4 * decode_lane()) = make_uint4(0, 0, 0, 0);
    __syncwarp();
    const uint32_t numPostings = t.list.numPostings;
    if (numPostings <= decodeBlockLen) {
        const RegressionWords payload{t.list.payload, t.list.payloadWords - 1};
        const DecodeBlock b = decode_block(t, 0);
        const RegressionSegment s = lrc_open_block(payload, b.offset, b.n, b.docWidth).segment;
        patched_segment(payload, s, 0, 0, b.n, memory);
        for (uint32_t i = 0; i < t.count; i++) {
            patched_store(t, i, b.n, memory);
        }
        return;
    }
    const RegressionView v = regression_view<Scheme>(t.list.payload, t.list.payloadWords, numPostings);
    uint32_t segment = 0;
    for (uint32_t i = 0; i < t.count; i++) {
        const uint32_t first = decode_number(t, i) * decodeBlockLen;
        const uint32_t end = first + decode_block(t, i).n;
        if (i == 0 || t.list.selected != nullptr) {
            segment = regression_find_warp<Scheme>(v, first);
        }
        for (uint32_t from = first;; segment++) {
            const RegressionSegment s = regression_open<Scheme>(v, segment);
            const uint32_t to = min(s.end, end);
            if (from < to) {
                patched_segment(v.list, s, first, from, to, memory);
                from = to;
            }
            if (from >= end || segment + 1 >= v.numSegments) {
                break;
            }
        }
        patched_store(t, i, end - first, memory);
    }
}

/* DocIDs of the Regression codecs with exceptions that are recovered concurrently (ao11, §5.1 and Fig. 8). Grid: a warp
 * for each tile. Block: decodeThreads threads. Static shared memory: 512 bytes per warp. CPU reference:
 * codec.Regression. */
#define PATCHED_KERNEL(codec, Scheme)                                                                     \
    GRIFFIN_KERNEL(decode_patched_##codec##_docids, DecodeParams, decodeThreads) {                        \
        __shared__ __align__(16) PatchedMemory memory[decodeWarps];                                       \
        decode_tiles(p, [&](const DecodeTile& t) { patched_tile<Scheme>(t, memory[threadIdx.x / 32]); }); \
    }

PATCHED_KERNEL(lrc, kSchemeLRC)
PATCHED_KERNEL(lrcseg, kSchemeLRCSeg)
PATCHED_KERNEL(seglrc, kSchemeSegLRC)
PATCHED_KERNEL(hslrc, kSchemeHSLRC)
