// Frequencies of a posting list, each read alone: from an array, or from the packed
// bits of its block, in which every value has its place (codec.SIMDBP; Ding, He, Yan
// and Suel, WWW 2009, §8.2, where exceptions are looked for besides: there are none
// here).
#pragma once

#include "cuda.cuh"
#include "unpack.cuh"

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
        freqs[j] = unpack_at(list.payload, uint64_t{byte} * 8 + postings[j] % 128 * freqWidth, freqWidth) + 1;
    }
}
