// Blocks of codec simdbp, decoded by a warp through shared memory, with each byte read once.
#pragma once

#include "decode.cuh"

__device__ __forceinline__ uint32_t decode_doc_width(uint32_t entry) {
    return min(entry >> 16 & 0xff, 32U);
}

__device__ __forceinline__ uint32_t decode_freq_width(uint32_t entry) {
    return min(entry >> 24, 32U);
}

/* Shared memory for the bytes of a block, with padding for reads past the end. */
constexpr uint32_t decodeStagingQuads = 64 + 2;

struct DecodeStaging {
    uint4 quads[decodeStagingQuads];
};

/* By a warp. */
__device__ __forceinline__ void decode_clear_staging(DecodeStaging& s) {
    for (uint32_t i = threadIdx.x % 32; i < decodeStagingQuads; i += 32) {
        s.quads[i] = make_uint4(0, 0, 0, 0);
    }
    __syncwarp();
}

/* Values 4*lane to 4*lane+3 of width bits from a bit of the staging. */
__device__ __forceinline__ uint4 decode_staged_quad(const DecodeStaging& s, uint32_t bit, uint32_t width) {
    const auto* words = reinterpret_cast<const uint32_t*>(s.quads);
    DecodeQuad q;
    q.bit = bit + 4 * decode_lane() * width;
    const uint32_t at = q.bit >> 5;
    q.word[0] = words[at];
    q.word[1] = words[at + 1];
    q.word[2] = words[at + 2];
    return decode_quad_of(q, width, [&](uint32_t i) { return words[i]; });
}

struct DecodeWork {
    uint64_t payload; /* of its list */
    uint4 entry;
    uint32_t n; /* postings */
};

/* In quads of 16 bytes. */
template <bool withFreqs>
__device__ __forceinline__ uint32_t decode_staged_quads(uint32_t entry, uint32_t n) {
    uint32_t bytes = decode_packed_size(n, decode_doc_width(entry));
    if constexpr (withFreqs) {
        bytes += decode_packed_size(n, decode_freq_width(entry));
    }
    return (bytes + 15) / 16;
}

/* Decodes the blocks of the lanes in mask in turn and calls each(owner, docIDs, freqs, n), where a lane has postings
 * 4*lane to 4*lane+3 of n. Loads inFlight blocks at a time, each byte once. Returns the number of quads read. By a
 * warp. */
template <bool withFreqs, uint32_t inFlight, class Each>
__device__ __forceinline__ uint32_t decode_staged_blocks(DecodeStaging& s, uint32_t mask, const DecodeWork& work,
                                                         Each each) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t numRead = 0;
    while (mask != 0) {
        uint32_t batch = mask;
        uint4 quads[inFlight];
#pragma unroll
        for (uint32_t i = 0; i < inFlight; i++) {
            quads[i] = make_uint4(0, 0, 0, 0);
            if (mask != 0) {
                const int owner = __ffs(mask) - 1;
                mask &= mask - 1;
                const auto* from = reinterpret_cast<const uint4*>(__shfl_sync(decodeAllLanes, work.payload, owner));
                const uint32_t first = __shfl_sync(decodeAllLanes, work.entry.z, owner) / 16;
                const uint32_t entry = __shfl_sync(decodeAllLanes, work.entry.w, owner);
                const uint32_t size = decode_staged_quads<withFreqs>(entry, __shfl_sync(decodeAllLanes, work.n, owner));
                if (lane < size) {
                    quads[i] = __ldg(from + first + lane);
                }
                numRead += size;
            }
        }
        batch ^= mask;
#pragma unroll 1
        for (uint32_t i = 0; batch != 0; i++) { /* not unrolled: the code of each is long */
            const int owner = __ffs(batch) - 1;
            batch &= batch - 1;
            uint4 quad = quads[0];
#pragma unroll
            for (uint32_t j = 1; j < inFlight; j++) {
                quad = i == j ? quads[j] : quad;
            }
            const uint32_t entry = __shfl_sync(decodeAllLanes, work.entry.w, owner),
                           n = __shfl_sync(decodeAllLanes, work.n, owner);
            const uint32_t docID = __shfl_sync(decodeAllLanes, work.entry.x, owner);
            const uint32_t size = decode_staged_quads<withFreqs>(entry, n), docWidth = decode_doc_width(entry);
            if (lane < size) {
                s.quads[lane] = quad;
            }
            if (size > 32) { /* rare: large gaps */
                const auto* from = reinterpret_cast<const uint4*>(__shfl_sync(decodeAllLanes, work.payload, owner));
                const uint32_t first = __shfl_sync(decodeAllLanes, work.entry.z, owner) / 16;
                if (lane + 32 < size) {
                    s.quads[lane + 32] = __ldg(from + first + 32 + lane);
                }
            }
            __syncwarp();
            const uint4 docIDs = decode_sum(decode_staged_quad(s, 0, docWidth), docID);
            uint4 freqs = make_uint4(0, 0, 0, 0);
            if constexpr (withFreqs) {
                const uint32_t bit = 8 * decode_packed_size(n, docWidth);
                freqs = decode_plus(decode_staged_quad(s, bit, decode_freq_width(entry)), 1);
            }
            __syncwarp();
            each(owner, docIDs, freqs, n);
        }
    }
    return numRead;
}
