// Frequencies of a posting list, each read alone: from an array, or from the packed
// bits of its block, in which every value has its place (codec.SIMDBP; Ding, He, Yan
// and Suel, WWW 2009, §8.2, where exceptions are looked for besides: there are none
// here).
#pragma once

#include "cuda.cuh"

// PackedFreqs has the layout of the Go type scoring.Freqs. With plain the frequency of
// posting i is plain[i]. Without it payload and directory are those of the list
// (postings.BlockEntry: first, last, offset, bound | docWidth << 16 | freqWidth << 24):
// the frequencies of a block lie behind its DocIDs.
struct PackedFreqs {
    const uint32_t* plain;
    const uint32_t* payload;  // words up to that with the last bit
    const uint4* directory;   // [ceil(numPostings / 128)]
    uint32_t numPostings;
    uint32_t reserved;  // the host's
};

// packed_value returns value i of those of width bits, at most 32, that begin at a
// byte of words.
__device__ __forceinline__ uint32_t packed_value(const uint32_t* words, uint32_t byte, uint32_t i, uint32_t width) {
    if (width == 0) return 0;
    uint64_t bit = static_cast<uint64_t>(byte) * 8 + i * width;
    uint32_t shift = static_cast<uint32_t>(bit) & 31;
    const uint32_t* word = words + (bit >> 5);
    uint32_t low = __ldg(word);
    uint32_t high = shift + width > 32 ? __ldg(word + 1) : 0;
    uint32_t value = __funnelshift_r(low, high, shift);
    return width < 32 ? value & ((1U << width) - 1) : value;
}

// packed_freqs sets freqs to the frequencies of n postings, each below numPostings, with
// the loads of all in flight together.
template <uint32_t n>
__device__ __forceinline__ void packed_freqs(const PackedFreqs& list, const uint32_t (&postings)[n],
                                             uint32_t (&freqs)[n]) {
    if (list.plain) {
#pragma unroll
        for (uint32_t j = 0; j < n; j++) freqs[j] = __ldg(list.plain + postings[j]);
        return;
    }
    uint4 entries[n];
#pragma unroll
    for (uint32_t j = 0; j < n; j++) entries[j] = __ldg(list.directory + postings[j] / 128);
#pragma unroll
    for (uint32_t j = 0; j < n; j++) {
        uint32_t docWidth = entries[j].w >> 16 & 0xFF, freqWidth = entries[j].w >> 24;
        uint32_t size = min(list.numPostings - postings[j] / 128 * 128, 128U);
        uint32_t byte = entries[j].z + (size * docWidth + 7) / 8;
        freqs[j] = packed_value(list.payload, byte, postings[j] % 128, freqWidth) + 1;
    }
}
