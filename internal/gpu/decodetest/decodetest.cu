#include "../decode/ef.cuh"
#include "../decode/simdbp.cuh"
#include "../device/cuda.cuh"

/*
 * Variants of decode_simdbp_docids and decode_ef_docids: NAME_F_M has F blocks of
 * postings in flight, and registers for M blocks of threads on a multiprocessor. Grid,
 * block, shapes and results are those of the kernels. Shared memory: F * 768 bytes a
 * warp, ef only.
 */

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_1_1, DecodeParams, 256, 1) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 1>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_1_1, DecodeParams, 256, 1) {
    __shared__ UnaryNumbers numbers[decodeWarps][1];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 1>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_1_4, DecodeParams, 256, 4) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 1>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_1_4, DecodeParams, 256, 4) {
    __shared__ UnaryNumbers numbers[decodeWarps][1];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 1>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_1_6, DecodeParams, 256, 6) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 1>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_1_6, DecodeParams, 256, 6) {
    __shared__ UnaryNumbers numbers[decodeWarps][1];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 1>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_1_8, DecodeParams, 256, 8) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 1>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_1_8, DecodeParams, 256, 8) {
    __shared__ UnaryNumbers numbers[decodeWarps][1];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 1>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_2_1, DecodeParams, 256, 1) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 2>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_2_1, DecodeParams, 256, 1) {
    __shared__ UnaryNumbers numbers[decodeWarps][2];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 2>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_2_4, DecodeParams, 256, 4) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 2>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_2_4, DecodeParams, 256, 4) {
    __shared__ UnaryNumbers numbers[decodeWarps][2];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 2>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_2_6, DecodeParams, 256, 6) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 2>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_2_6, DecodeParams, 256, 6) {
    __shared__ UnaryNumbers numbers[decodeWarps][2];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 2>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_2_8, DecodeParams, 256, 8) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 2>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_2_8, DecodeParams, 256, 8) {
    __shared__ UnaryNumbers numbers[decodeWarps][2];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 2>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_4_1, DecodeParams, 256, 1) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 4>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_4_1, DecodeParams, 256, 1) {
    __shared__ UnaryNumbers numbers[decodeWarps][4];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 4>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_4_4, DecodeParams, 256, 4) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 4>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_4_4, DecodeParams, 256, 4) {
    __shared__ UnaryNumbers numbers[decodeWarps][4];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 4>(t, numbers[threadIdx.x / 32]);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_simdbp_4_6, DecodeParams, 256, 6) {
    DecodeTile t;
    if (decode_tile(p, t)) {
        simdbp_tile<decodeDocIDs, 4>(t);
    }
}

GRIFFIN_KERNEL_BLOCKS(decodetest_ef_4_6, DecodeParams, 256, 6) {
    __shared__ UnaryNumbers numbers[decodeWarps][4];
    DecodeTile t;
    if (decode_tile(p, t)) {
        ef_tile<decodeDocIDs, 4>(t, numbers[threadIdx.x / 32]);
    }
}
