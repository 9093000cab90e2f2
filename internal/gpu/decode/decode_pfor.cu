#include "decode.cuh"

// See pfor_segment.go.
constexpr uint32_t pforWidthBits = 63;
constexpr uint32_t pforExceptions = 64;

// Parsed from its first bytes.
struct PforSegment {
    DecodeBytes slots;
    DecodeBytes behind;  // the exceptions, or the segment's end if there are none
    uint32_t width;      // bits per slot
    uint32_t exceptions;
    uint32_t size;                    // bytes, without a leading width byte
    uint32_t indexWidth, upperWidth;  // parapfor: bits per element of the arrays of exceptions
    uint32_t first, valueSize;        // pfordelta: index of the first exception, bytes per value
};

// Exceptions have their indices and upper bits in two arrays.
struct ParapforKind {
    static __device__ __forceinline__ PforSegment parse(const DecodeBytes& src, uint32_t n, uint32_t widthByte) {
        PforSegment s{};
        s.width = widthByte & pforWidthBits;
        s.size = decode_packed_size(n, s.width);
        s.slots = src;
        if (widthByte < pforExceptions) {
            s.behind = src.behind(s.size);
            return s;
        }
        const uint32_t header = src.number(0, 16);
        s.slots = src.behind(2);
        s.behind = s.slots.behind(s.size);
        s.exceptions = (header & 127) + 1;
        s.indexWidth = header >> 7 & 7;
        s.upperWidth = (header >> 10 & 31) + 1;
        s.size += 2 + decode_packed_size(s.exceptions, s.indexWidth) + decode_packed_size(s.exceptions, s.upperWidth);
        return s;
    }
};

// Exceptions are whole values, linked through their slots.
struct PfordeltaKind {
    static __device__ __forceinline__ PforSegment parse(const DecodeBytes& src, uint32_t n, uint32_t widthByte) {
        PforSegment s{};
        s.width = widthByte & pforWidthBits;
        s.size = decode_packed_size(n, s.width);
        s.slots = src;
        s.behind = src.behind(s.size);
        if (widthByte < pforExceptions) {
            return s;
        }
        const uint32_t header = s.behind.number(0, 16);
        s.behind = s.behind.behind(2);
        s.first = header & 0xff;
        s.exceptions = min((header >> 8) + 1, n);
        s.valueSize = (1u << (widthByte >> 6)) / 2;
        s.size += 2 + s.exceptions * s.valueSize;
        return s;
    }
};

// For placing exceptions. Writes are atomic, because damaged bytes could send two exceptions to one index.
struct PforMemory {
    uint32_t values[decodeBlockLen];
    uint32_t places[decodeBlockLen];
};

// Visits the segments of n values at src, calls each(first value, segment), and returns the end. 1 << shift is the
// segment length; if a segment is a whole block, its width byte is the block's.
template <class Kind, class Each>
__device__ __forceinline__ DecodeBytes pfor_segments(DecodeBytes src, uint32_t n, uint32_t blockWidth, uint32_t shift,
                                                     Each each) {
    if (shift == 7) {
        const PforSegment s = Kind::parse(src, n, blockWidth);
        each(0u, s);
        return src.behind(s.size);
    }
    for (uint32_t from = 0; from < n; from += 1u << shift) {
        const PforSegment s = Kind::parse(src.behind(1), min(1u << shift, n - from), src.byte(0));
        each(from, s);
        src = src.behind(1 + s.size);
    }
    return src;
}

// Algorithm 2 of ao11, Appendix D: a thread unpacks its slots, then adds the upper bits of an exception at its index.
// We differ: a thread has four slots, and a warp, instead of a block of threads, decodes all segments of a block.
__device__ __forceinline__ uint4 pfor_values(ParapforKind, const DecodeBytes& src, uint32_t n, uint32_t blockWidth,
                                             uint32_t shift, PforMemory& memory) {
    uint4* mine = reinterpret_cast<uint4*>(memory.values + 4 * decode_lane());
    *mine = make_uint4(0, 0, 0, 0);
    __syncwarp();
    DecodeBytes slots = src;
    uint32_t width = 0;
    pfor_segments<ParapforKind>(src, n, blockWidth, shift, [&](uint32_t from, const PforSegment& s) {
        if (4 * decode_lane() >= from) {  // the last segment that begins here or before
            slots = s.slots;
            width = s.width;
        }
        const DecodeBytes uppers = s.behind.behind(decode_packed_size(s.exceptions, s.indexWidth));
        for (uint32_t j = decode_lane(); j < s.exceptions; j += 32) {
            const uint32_t index = s.behind.number(j * s.indexWidth, s.indexWidth);
            atomicOr(memory.values + (from + index) % decodeBlockLen, uppers.number(j * s.upperWidth, s.upperWidth)
                                                                          << (s.width & 31));
        }
    });
    // Lane l's slots begin at 4l in the block.
    const uint32_t i = 4 * decode_lane() & ((1u << shift) - 1);
    const uint4 low = decode_unpack(slots, min(width, 32u), i);
    __syncwarp();
    const uint4 upper = *mine;
    __syncwarp();
    return make_uint4(low.x + upper.x, low.y + upper.y, low.z + upper.z, low.w + upper.w);
}

// PForDelta in the CPU's format. One lane of each segment follows its linked list of exceptions; the papers warn of
// this (griffin18, §2.3; ao11, §5.1).
__device__ __forceinline__ uint4 pfor_values(PfordeltaKind, const DecodeBytes& src, uint32_t n, uint32_t blockWidth,
                                             uint32_t shift, PforMemory& memory) {
    uint4* mine = reinterpret_cast<uint4*>(memory.values + 4 * decode_lane());
    PforSegment own{};
    uint32_t begin = 0;  // start of the segment that this lane follows
    PforSegment slots{};
    pfor_segments<PfordeltaKind>(src, n, blockWidth, shift, [&](uint32_t from, const PforSegment& s) {
        if (4 * decode_lane() >= from) {
            slots = s;
        }
        if (decode_lane() == from >> shift) {
            own = s;
            begin = from;
        }
    });
    const uint32_t i = 4 * decode_lane() & ((1u << shift) - 1);
    *mine = decode_unpack(slots.slots, min(slots.width, 32u), i);
    __syncwarp();
    uint32_t place = begin + own.first;
    for (uint32_t k = 0; k < own.exceptions; k++) {
        place %= decodeBlockLen;
        memory.places[begin + k] = place;
        place += memory.values[place] + 1;
    }
    __syncwarp();
    for (uint32_t segment = 0; segment << shift < n; segment++) {
        const uint32_t exceptions = __shfl_sync(decodeAllLanes, own.exceptions, segment);
        const uint32_t size = __shfl_sync(decodeAllLanes, own.valueSize, segment);
        DecodeBytes values = src;
        values.first = __shfl_sync(decodeAllLanes, own.behind.first, segment);
        values.bit = __shfl_sync(decodeAllLanes, own.behind.bit, segment);
        for (uint32_t j = decode_lane(); j < exceptions; j += 32) {
            atomicExch(memory.values + memory.places[(segment << shift) + j], values.number(8 * size * j, 8 * size));
        }
    }
    __syncwarp();
    const uint4 all = *mine;
    __syncwarp();
    return all;
}

template <class Kind, DecodeWhat what>
__device__ __forceinline__ void pfor_tile(const DecodeTile& t, uint32_t shift, PforMemory& memory) {
    for (uint32_t i = 0; i < t.count; i++) {
        const DecodeBlock b = decode_block(t, i);
        DecodeBytes src = decode_bytes(t, b);
        if constexpr (what == decodeFreqs) {
            src = pfor_segments<Kind>(src, b.n, b.docWidth, shift, [](uint32_t, const PforSegment&) {});
        }
        const uint32_t width = what == decodeFreqs ? b.freqWidth : b.docWidth;
        const uint4 v = pfor_values(Kind{}, src, b.n, width, shift, memory);
        decode_store(t, i, b.n, what == decodeDocIDs ? decode_sum(v, b.first) : decode_plus(v, 1));
    }
}

/* Grid: a warp for each tile. Block: decodeThreads threads. Static shared memory: 1,024 bytes per warp.
 * DecodeParams.option is the logarithm of the segment length. Lane l of the tile's warp writes values 4l to 4l+3 of
 * each block. CPU reference: codec.ParaPFor and codec.PForDelta. */
#define PFOR_KERNEL(codec, Kind, name, what)                                                                         \
    GRIFFIN_KERNEL(decode_##codec##_##name, DecodeParams, decodeThreads) {                                           \
        __shared__ __align__(16) PforMemory memory[decodeWarps];                                                     \
        decode_tiles(p, [&](const DecodeTile& t) { pfor_tile<Kind, what>(t, p.option, memory[threadIdx.x / 32]); }); \
    }

PFOR_KERNEL(parapfor, ParapforKind, docids, decodeDocIDs)
PFOR_KERNEL(parapfor, ParapforKind, gaps, decodeGaps)
PFOR_KERNEL(parapfor, ParapforKind, freqs, decodeFreqs)
PFOR_KERNEL(pfordelta, PfordeltaKind, docids, decodeDocIDs)
PFOR_KERNEL(pfordelta, PfordeltaKind, gaps, decodeGaps)
PFOR_KERNEL(pfordelta, PfordeltaKind, freqs, decodeFreqs)
