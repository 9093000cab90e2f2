#include "../../gpu/device/cuda.cuh"
#include "../intersect/merge_kernels.cuh"

// Variants of intersect_merge_N: intersecttest_merge_N_M merges N elements per
// thread, with registers for M thread blocks per multiprocessor. Grid, block,
// shapes and results as in the kernels. Shared memory: N * 1.5 KiB.

GRIFFIN_KERNEL(intersecttest_partition_7, IntersectPairParams, 256) {
    intersect_partition<7>(p);
}
GRIFFIN_KERNEL(intersecttest_partition_11, IntersectPairParams, 256) {
    intersect_partition<11>(p);
}
GRIFFIN_KERNEL(intersecttest_partition_15, IntersectPairParams, 256) {
    intersect_partition<15>(p);
}
GRIFFIN_KERNEL(intersecttest_partition_19, IntersectPairParams, 256) {
    intersect_partition<19>(p);
}
GRIFFIN_KERNEL(intersecttest_partition_23, IntersectPairParams, 256) {
    intersect_partition<23>(p);
}
GRIFFIN_KERNEL(intersecttest_partition_31, IntersectPairParams, 256) {
    intersect_partition<31>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_7_1, IntersectPairParams, 256, 1) {
    intersect_pair<7, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_7_8, IntersectPairParams, 256, 8) {
    intersect_pair<7, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_11_1, IntersectPairParams, 256, 1) {
    intersect_pair<11, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_11_6, IntersectPairParams, 256, 6) {
    intersect_pair<11, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_11_8, IntersectPairParams, 256, 8) {
    intersect_pair<11, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_15_1, IntersectPairParams, 256, 1) {
    intersect_pair<15, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_15_5, IntersectPairParams, 256, 5) {
    intersect_pair<15, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_15_6, IntersectPairParams, 256, 6) {
    intersect_pair<15, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_15_8, IntersectPairParams, 256, 8) {
    intersect_pair<15, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_19_1, IntersectPairParams, 256, 1) {
    intersect_pair<19, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_19_5, IntersectPairParams, 256, 5) {
    intersect_pair<19, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_23_1, IntersectPairParams, 256, 1) {
    intersect_pair<23, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_23_4, IntersectPairParams, 256, 4) {
    intersect_pair<23, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersecttest_merge_31_1, IntersectPairParams, 256, 1) {
    intersect_pair<31, false>(p);
}
