// The format of a list of one block of the Regression codecs (codec/lrc_block.go): one segment behind its line.

#pragma once

#include "../device/regression.cuh"
#include "decode.cuh"

// And the payload byte where it ends.
struct LrcBlock {
    RegressionSegment segment;
    uint32_t end;
};

// Reads a base-128 number and advances behind it.
__device__ __forceinline__ uint64_t lrc_varint(const RegressionWords& payload, uint32_t& byte) {
    uint64_t v = 0;
#pragma unroll 1
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        const uint32_t b = payload.byte(byte);
        byte++;
        v |= static_cast<uint64_t>(b & 0x7f) << shift;
        if (b < 0x80) {
            break;
        }
    }
    return v;
}

// Opens the block of a list of one block.
__device__ __forceinline__ LrcBlock lrc_open_block(const RegressionWords& payload, uint32_t offset, uint32_t n,
                                                   uint32_t widthByte) {
    constexpr uint32_t slopeShift = 24;
    uint32_t byte = offset;
    LrcBlock b;
    RegressionSegment& s = b.segment;
    s.slope = n > 1 ? lrc_varint(payload, byte) << slopeShift : 0;
    const uint64_t cut = lrc_varint(payload, byte);
    s.start = ((cut >> 1) ^ (uint64_t{0} - (cut & 1))) << 32;  // zigzag
    s.bits = static_cast<uint64_t>(byte) * 8;
    s.width = min(widthByte & kRegressionWidthMask, 32U);
    s.flags = widthByte & ~kRegressionWidthMask;
    s.begin = 0;
    s.end = n;
    b.end = byte + (n * s.width + 7) / 8;
    if (s.flags & kRegressionExceptions) {
        const RegressionExceptions e = regression_exceptions(payload, s.bits, s.width, n);
        b.end = static_cast<uint32_t>(e.highs / 8) + (e.count * e.highWidth + 7) / 8;
    }
    return b;
}

__device__ __forceinline__ RegressionWords lrc_words(const DecodeList& list) {
    return RegressionWords{list.payload, list.payloadWords - 1};
}
