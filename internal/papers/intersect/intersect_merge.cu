#include "../../gpu/device/cuda.cuh"
#include "merge_kernels.cuh"

// See merge_kernels.cuh.

GRIFFIN_KERNEL(intersect_partition_7, IntersectPairParams, 256) {
    intersect_partition<7>(p);
}
GRIFFIN_KERNEL(intersect_partition_15, IntersectPairParams, 256) {
    intersect_partition<15>(p);
}
GRIFFIN_KERNEL(intersect_merge_7, IntersectPairParams, 256) {
    intersect_pair<7, false>(p);
}
GRIFFIN_KERNEL_BLOCKS(intersect_merge_15, IntersectPairParams, 256, 6) {
    intersect_pair<15, false>(p);
}
GRIFFIN_KERNEL(intersect_adaptive_7, IntersectPairParams, 256) {
    intersect_pair<7, true>(p);
}
GRIFFIN_KERNEL(intersect_adaptive_15, IntersectPairParams, 256) {
    intersect_pair<15, true>(p);
}
