#include "../decode/ef.cuh"
#include "../decode/simdbp.cuh"
#include "../device/cuda.cuh"

/* NAME_F_M has F blocks of postings in flight, and registers for M thread blocks per multiprocessor. Otherwise as
 * decode_simdbp_docids. No shared memory. */
#define DECODETEST_SIMDBP(F, M)                                                          \
    GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_##F##_##M, DecodeParams, decodeThreads, M) { \
        decode_tiles(p, [&](const DecodeTile& t) { simdbp_tile<decodeDocIDs, F>(t); });  \
    }

/* NAME_M has registers for M thread blocks per multiprocessor. Otherwise as decode_ef_docids_one. */
#define DECODETEST_EF(M)                                                       \
    GRIFFIN_KERNEL_BLOCKS(decodetest_ef_##M, DecodeParams, decodeThreads, M) { \
        __shared__ EfRoom rooms[decodeWarps];                                  \
        DecodeTile t;                                                          \
        if (decode_place<true, true>(p, t)) {                                  \
            ef_tile<decodeDocIDs, true>(t, rooms[threadIdx.x / 32]);           \
        }                                                                      \
    }

DECODETEST_SIMDBP(1, 12)
DECODETEST_SIMDBP(1, 16)
DECODETEST_SIMDBP(2, 8)
DECODETEST_SIMDBP(2, 10)
DECODETEST_SIMDBP(2, 12)
DECODETEST_SIMDBP(2, 16)
DECODETEST_SIMDBP(4, 8)
DECODETEST_SIMDBP(4, 10)
DECODETEST_EF(8)
DECODETEST_EF(10)
DECODETEST_EF(12)
DECODETEST_EF(16)
