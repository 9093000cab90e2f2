#include "../device/cuda.cuh"

/* Mirrored by rebaseParams in rebase.go. */
struct PipelineRebaseParams {
    uint32_t* docIDs; /* [count], each at least base */
    uint32_t count;
    uint32_t base;
};

/*
 * Makes DocIDs of a segment those of a part of it: subtracts the part's first.
 *
 * Grid: enough blocks for a thread each. Block: 256 threads. No shared memory. Thread i of the grid writes
 * docIDs[i]. CPU reference: source.next in source.go.
 */
GRIFFIN_KERNEL(pipeline_rebase, PipelineRebaseParams, 256) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count) {
        p.docIDs[i] -= p.base;
    }
}
