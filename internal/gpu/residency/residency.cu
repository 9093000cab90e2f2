#include "../device/cuda.cuh"

/* Mirrored by rebaseParams in rebase.go. */
struct ResidencyRebaseParams {
    uint32_t* docIDs; /* [count], each at least base */
    uint32_t count;
    uint32_t base;
};

/*
 * Converts DocIDs of a segment to DocIDs of a shard: subtracts the shard's first DocID.
 *
 * Grid: one thread per DocID. Block: 256 threads. No shared memory. Thread i of the grid writes
 * docIDs[i]. CPU reference: source.next in source.go.
 */
GRIFFIN_KERNEL(residency_rebase, ResidencyRebaseParams, 256) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count) {
        p.docIDs[i] -= p.base;
    }
}
