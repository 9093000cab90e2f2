#pragma once

#include "../../gpu/device/cuda.cuh"
#include "../../gpu/device/hit_key.cuh"

// Go type selection.source.
struct SelectionSource {
    const void* scores;         // [numScores]: uint32_t, or uint64_t sums with matches (package scoring) if wide
    const uint32_t* docIDs;     // [numScores], distinct; null: score i belongs to document i
    const uint32_t* live;       // bit d % 32 of word d / 32: document d is not deleted; null: all live
    const uint32_t* numScores;  // null: maxScores
    const uint32_t* matches;    // the kernel does nothing if *matches >= enough; null: no condition
    uint32_t enough;
    uint32_t maxScores;
    uint32_t base;          // added to DocIDs
    uint32_t leastScore;    // documents that score less are excluded
    uint32_t leastMatches;  // wide: documents with fewer postings are excluded
    uint32_t reserved;
};

GRIFFIN_DEVICE bool is_skipped(const SelectionSource& source) {
    return source.matches && *source.matches >= source.enough;
}

GRIFFIN_DEVICE uint32_t num_scores(const SelectionSource& source) {
    return source.numScores ? min(*source.numScores, source.maxScores) : source.maxScores;
}

// Narrow keys are hit keys. Wide keys have a score of 48 bits above the 32 of the DocID. Key 0 is not a hit.
typedef unsigned __int128 uint128_t;

// Of a score in memory.
template <typename Key>
struct ScoreOf;

template <>
struct ScoreOf<uint64_t> {
    typedef uint32_t type;
};

template <>
struct ScoreOf<uint128_t> {
    typedef uint64_t type;
};

// 0 if the score is excluded.
GRIFFIN_DEVICE uint64_t make_key(const SelectionSource& source, uint32_t score, uint32_t docID) {
    return score < source.leastScore ? 0 : hit_key(score, docID + source.base);
}

GRIFFIN_DEVICE uint128_t make_key(const SelectionSource& source, uint64_t sum, uint32_t docID) {
    uint64_t score = sum & ((static_cast<uint64_t>(1) << 48) - 1);
    if (sum >> 48 < source.leastMatches || score < source.leastScore) return 0;
    return static_cast<uint128_t>(score) << 32 | static_cast<uint32_t>(~(docID + source.base));
}

// Key j is of score first + j * step, 0 if there is none; count > 0. All loads are in flight together.
template <uint32_t n, typename Key>
GRIFFIN_DEVICE void source_keys(const SelectionSource& source, uint64_t first, uint64_t step, uint32_t count,
                                Key (&keys)[n]) {
    typedef typename ScoreOf<Key>::type Score;
    Score scores[n];
    uint32_t docIDs[n], live[n];
#pragma unroll
    for (uint32_t j = 0; j < n; j++) {
        docIDs[j] = min(first + j * step, static_cast<uint64_t>(count - 1));
        scores[j] = __ldg(static_cast<const Score*>(source.scores) + docIDs[j]);
    }
    if (source.docIDs) {
#pragma unroll
        for (uint32_t j = 0; j < n; j++) docIDs[j] = __ldg(source.docIDs + docIDs[j]);
    }
#pragma unroll
    for (uint32_t j = 0; j < n; j++) {
        keys[j] = first + j * step < count ? make_key(source, scores[j], docIDs[j]) : 0;
    }
    if (source.live) {
#pragma unroll
        for (uint32_t j = 0; j < n; j++) live[j] = __ldg(source.live + docIDs[j] / 32);
#pragma unroll
        for (uint32_t j = 0; j < n; j++) keys[j] = live[j] >> docIDs[j] % 32 & 1 ? keys[j] : 0;
    }
}

// Keys that a thread loads together.
constexpr uint32_t kAtOnce = 4;

// Visits the keys of scores i, i + threads, and so on below count, for thread i of the grid.
template <typename Key, typename Visit>
GRIFFIN_DEVICE void each_key(const SelectionSource& source, uint32_t count, Visit visit) {
    const uint64_t threads = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += kAtOnce * threads) {
        Key keys[kAtOnce];
        source_keys(source, i, threads, count, keys);
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; j++) {
            if (keys[j] != 0) visit(keys[j]);
        }
    }
}

// By a whole warp.
GRIFFIN_DEVICE uint64_t shuffle_xor(uint64_t key, uint32_t lanes) {
    return __shfl_xor_sync(0xFFFFFFFFU, key, lanes);
}

GRIFFIN_DEVICE uint128_t shuffle_xor(uint128_t key, uint32_t lanes) {
    uint64_t low = shuffle_xor(static_cast<uint64_t>(key), lanes);
    uint64_t high = shuffle_xor(static_cast<uint64_t>(key >> 64), lanes);
    return static_cast<uint128_t>(high) << 64 | low;
}

// In all lanes of a warp.
template <typename Key>
GRIFFIN_DEVICE Key warp_max_key(Key key) {
    for (uint32_t d = 16; d > 0; d /= 2) key = max(key, shuffle_xor(key, d));
    return key;
}

template <typename Key>
GRIFFIN_DEVICE Key warp_min_key(Key key) {
    for (uint32_t d = 16; d > 0; d /= 2) key = min(key, shuffle_xor(key, d));
    return key;
}

// Keys that other blocks access concurrently, in words that one access moves.
GRIFFIN_DEVICE uint64_t load_key(const uint64_t* at) {
    return ld_relaxed(at);
}

GRIFFIN_DEVICE void store_key(uint64_t* at, uint64_t key) {
    st_relaxed(at, key);
}

GRIFFIN_DEVICE uint128_t load_key(const uint128_t* at) {
    const uint64_t* words = reinterpret_cast<const uint64_t*>(at);
    return static_cast<uint128_t>(ld_relaxed(words + 1)) << 64 | ld_relaxed(words);
}

GRIFFIN_DEVICE void store_key(uint128_t* at, uint128_t key) {
    uint64_t* words = reinterpret_cast<uint64_t*>(at);
    st_relaxed(words, static_cast<uint64_t>(key));
    st_relaxed(words + 1, static_cast<uint64_t>(key >> 64));
}

// Counts the blocks that have called it, and returns true in all threads of the last one, which then sees all earlier
// stores of the others; the counter is 0 again. Called by all threads of the block.
__device__ inline bool is_last_block(uint32_t* counter) {
    __shared__ uint32_t last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(counter, 1U) == gridDim.x - 1;
        if (last) st_relaxed(counter, 0U);
    }
    __syncthreads();
    bool result = last;
    __threadfence();
    return result;
}
