#include "../decode/ef.cuh"
#include "../decode/simdbp.cuh"
#include "../device/cuda.cuh"

/*
 * Variants of decode_simdbp_docids and decode_ef_docids: NAME_F_M has F blocks of
 * postings in flight, and registers for M blocks of threads on a multiprocessor. Grid,
 * block, shapes and results are those of the kernels. Shared memory: F * 384 bytes a
 * warp, ef only.
 */
#define DECODETEST_VARIANT(F, M)                                                                               \
    GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_##F##_##M, DecodeParams, decodeThreads, M) {                       \
        decode_tiles(p, [&](const DecodeTile& t) { simdbp_tile<decodeDocIDs, F>(t); });                        \
    }                                                                                                          \
    GRIFFIN_KERNEL_BLOCKS(decodetest_ef_##F##_##M, DecodeParams, decodeThreads, M) {                           \
        __shared__ UnaryNumbers numbers[decodeWarps][F];                                                       \
        decode_tiles(p, [&](const DecodeTile& t) { ef_tile<decodeDocIDs, F>(t, numbers[threadIdx.x / 32]); }); \
    }

DECODETEST_VARIANT(1, 12)
DECODETEST_VARIANT(1, 16)
DECODETEST_VARIANT(2, 8)
DECODETEST_VARIANT(2, 10)
DECODETEST_VARIANT(2, 12)
DECODETEST_VARIANT(2, 16)
DECODETEST_VARIANT(4, 8)
DECODETEST_VARIANT(4, 10)
