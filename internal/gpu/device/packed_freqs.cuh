// Random access to frequencies of a posting list: in an array, or in the packed bits of a block (codec.SIMDBP; Ding,
// He, Yan and Suel, WWW 2009, §8.2. We differ: there are no exceptions to search).
#pragma once

#include "cuda.cuh"
#include "unpack.cuh"

// The layout of the Go type scoring.Freqs. If plain is set, the frequency of posting i is plain[i]. Otherwise payload
// and directory describe the list (postings.BlockEntry: first, last, offset, bound | docWidth << 16 | freqWidth << 24);
// the frequencies of a block follow its DocIDs.
struct PackedFreqs {
    const uint32_t* plain;
    const uint32_t* payload;  // at least all words of the list
    const uint4* directory;   // [ceil(numPostings / 128)]
    uint32_t numPostings;
    uint32_t reserved;  // for the host
};

// For n postings, each below numPostings, with all loads in flight together.
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
