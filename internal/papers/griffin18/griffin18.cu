#include "../../gpu/decode/decode.cuh"
#include "../../gpu/device/warp_scan.cuh"

/* Para-EF decompression: Liu, Wang and Swanson, PPoPP 2018, §3.1.1, Algorithm 1, for lists of codec.EF with Plain. A
 * warp decodes a block of 128 postings, the partition, so the arrays of the algorithm are those of a warp.
 *
 * We differ: a lane recovers four elements, because a block has 128, and its threads only need a warp's barrier. */
constexpr uint32_t EF_WARPS = 4;
constexpr uint32_t EF_WORDS = 12; /* at most 3*128 - 1 bits of high parts: below 2n zero bits, and n one bits */

/* Positions of the one bits of a byte, 4 bits each: the paper's look-up table in shared memory. */
using EfTable = uint32_t[256];

struct EfArrays {
    uint32_t hb[EF_WORDS];         /* hb_array */
    uint32_t ps[EF_WORDS];         /* ps_array: elements in earlier words */
    uint8_t index[decodeBlockLen]; /* index_array: word of each element */
};

/* decodeParams in kernels.go. */
struct Griffin18DecodeParams {
    const uint32_t* payload;   /* [payloadWords] */
    const uint32_t* directory; /* 4 words for each block of the list: lists.List */
    const uint32_t* selected;  /* [numBlocks] numbers of the blocks to decode; null: all */
    const uint32_t* offsets;   /* [numBlocks] byte of each of them in payload; null: those of the directory */
    uint32_t* out;             /* [numBlocks][128] */
    uint32_t numPostings;      /* of the list */
    uint32_t numBlocks;        /* to decode */
    uint32_t payloadWords;
    uint32_t reserved;
};

__device__ __forceinline__ void ef_fill(EfTable& table) {
    for (uint32_t byte = threadIdx.x; byte < 256; byte += blockDim.x) {
        uint32_t positions = 0;
        uint32_t ones = 0;
        for (uint32_t bit = 0; bit < 8; bit++) {
            if ((byte >> bit & 1) != 0) {
                positions |= bit << 4 * ones;
                ones++;
            }
        }
        table[byte] = positions;
    }
}

/* The position of the one bit of a word that has n one bits below it. */
__device__ __forceinline__ uint32_t ef_one(const EfTable& table, uint32_t word, uint32_t n) {
    uint32_t at = 0;
    for (; at < 24; at += 8) {
        const uint32_t ones = __popc(word >> at & 0xff);
        if (n < ones) {
            break;
        }
        n -= ones;
    }
    return at + (table[word >> at & 0xff] >> 4 * n & 7);
}

/* Lines 1 to 8: the words of the high-bits array, and the word of each element. numBits is its length. */
__device__ __forceinline__ void ef_schedule(const DecodeBytes& src, uint32_t from, uint32_t numBits, EfArrays& a) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t word = 0;
    if (32 * lane < numBits) {
        word = src.number(from + 32 * lane, 32) & decode_mask(min(numBits - 32 * lane, 32U));
    }
    const uint32_t count = __popc(word);
    const uint32_t before = warp_inclusive_sum(count) - count;
    if (lane < EF_WORDS) {
        a.hb[lane] = word;
        a.ps[lane] = before;
    }
    for (uint32_t offset = 0; offset < count && before + offset < decodeBlockLen; offset++) {
        a.index[before + offset] = static_cast<uint8_t>(lane);
    }
}

/* Grid: any; a warp for each block of postings. Block: 128 threads. Static shared memory: 1,920 bytes. Lane l writes
 * the elements l, l+32, l+64 and l+96 of a block; words behind the last are not written. CPU reference: codec.EF. */
GRIFFIN_KERNEL(griffin18_decode, Griffin18DecodeParams, 32 * EF_WARPS) {
    __shared__ EfTable table;
    __shared__ EfArrays arrays[EF_WARPS];
    ef_fill(table);
    __syncthreads();
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t lane = threadIdx.x & 31;
    EfArrays& a = arrays[warp];
    for (uint32_t i = blockIdx.x * EF_WARPS + warp; i < p.numBlocks; i += gridDim.x * EF_WARPS) {
        const uint32_t number = p.selected == nullptr ? i : p.selected[i];
        const uint32_t* entry = p.directory + size_t{4} * number;
        const uint32_t n = min(p.numPostings - number * decodeBlockLen, decodeBlockLen);
        const uint32_t least = number == 0 ? 0 : entry[-3] + 1; /* the smallest possible DocID */
        const uint32_t offset = p.offsets == nullptr ? entry[2] : p.offsets[i];
        const uint32_t widthByte = entry[3] >> 16 & 0xff;
        uint32_t* out = p.out + size_t{decodeBlockLen} * i;
        if (widthByte == 0) { /* only the smallest possible DocID */
            if (lane == 0) {
                out[0] = least;
            }
            continue;
        }
        const uint32_t b = widthByte - 1;
        const DecodeBytes src{p.payload, p.payloadWords - 1, offset / 4, offset % 4 * 8};
        ef_schedule(src, n * b, n + ((entry[1] - least) >> b), a);
        __syncwarp();
        for (uint32_t e = lane; e < n; e += 32) { /* lines 9 and 10 */
            const uint32_t w = a.index[e];
            const uint32_t high = 32 * w + ef_one(table, a.hb[w], e - a.ps[w]) - e;
            out[e] = least + (high << b | src.number(e * b, b));
        }
        __syncwarp();
    }
}

/* followParams in kernels.go. */
struct Griffin18FollowParams {
    const uint32_t* prior; /* [numPrior][stride]: positions of the candidates before; null: those are the first list */
    const uint32_t*
        pair;       /* [2][pairStride]: index of each candidate in those before, and its position in the new list */
    uint32_t* next; /* [numPrior + 1][stride] */
    uint32_t numCandidates;
    uint32_t numPrior; /* at least 1 */
    uint32_t stride;
    uint32_t pairStride;
};

/* Sets the positions of candidates in all lists after an intersection of two. Grid: any. Block: 256 threads. */
GRIFFIN_KERNEL(griffin18_follow, Griffin18FollowParams, 256) {
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < p.numCandidates; i += gridDim.x * blockDim.x) {
        const uint32_t from = p.pair[i];
        for (uint32_t l = 0; l < p.numPrior; l++) {
            p.next[size_t{p.stride} * l + i] = p.prior == nullptr ? from : p.prior[size_t{p.stride} * l + from];
        }
        p.next[size_t{p.stride} * p.numPrior + i] = p.pair[size_t{p.pairStride} + i];
    }
}

/* compactParams in kernels.go. */
struct Griffin18CompactParams {
    uint32_t* positions;     /* [numCandidates], ascending */
    const uint32_t* numbers; /* [numBlocks], ascending: includes the block of each position */
    uint32_t numCandidates;
    uint32_t numBlocks;
};

/* Replaces positions in a list by those in the sequence of some of its blocks. Grid: any. Block: 256 threads. */
GRIFFIN_KERNEL(griffin18_compact, Griffin18CompactParams, 256) {
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < p.numCandidates; i += gridDim.x * blockDim.x) {
        const uint32_t position = p.positions[i];
        uint32_t from = 0;
        uint32_t to = p.numBlocks - 1;
        while (from < to) {
            const uint32_t middle = (from + to) / 2;
            if (p.numbers[middle] < position / decodeBlockLen) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        p.positions[i] = from * decodeBlockLen + position % decodeBlockLen;
    }
}
