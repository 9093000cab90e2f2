#include "../device/cuda.cuh"

// Kernels for tests. Their launchers are in kernels.go.

struct GputestCopyParams {
    const uint4* source;  // [numQuads]
    uint4* target;        // [numQuads], does not overlap source
    uint32_t numQuads;
};

// Grid: any; block: up to 1024 threads. A thread copies 16 bytes per step, with four steps in flight, for the greatest
// bandwidth.
GRIFFIN_KERNEL(gputest_copy, GputestCopyParams, 1024) {
    const uint32_t stride = gridDim.x * blockDim.x;
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < p.numQuads && i + 3 * stride >= i; i += 4 * stride) {
        const uint4 a = __ldcs(&p.source[i]), b = __ldcs(&p.source[i + stride]);
        const uint4 c = __ldcs(&p.source[i + 2 * stride]), d = __ldcs(&p.source[i + 3 * stride]);
        __stcs(&p.target[i], a);
        __stcs(&p.target[i + stride], b);
        __stcs(&p.target[i + 2 * stride], c);
        __stcs(&p.target[i + 3 * stride], d);
    }
    for (; i < p.numQuads; i += stride) {
        p.target[i] = p.source[i];
    }
}

struct GputestStoreParams {
    uint32_t* target;
    uint32_t value;
};

// Grid and block: any. Thread 0 of block 0 writes value to target, which may be page-locked host memory that the host
// polls.
GRIFFIN_KERNEL(gputest_store, GputestStoreParams, 1024) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        __threadfence_system();
        st_release(p.target, p.value);
    }
}

struct GputestAddParams {
    const uint32_t* source;  // [numWords]
    uint32_t* target;        // [numWords], may be source
    uint32_t numWords;
    uint32_t addend;
};

// Grid: numWords / blockDim.x, rounded up; block: up to 1024 threads. target =
// source + addend, one word per thread.
GRIFFIN_KERNEL(gputest_add, GputestAddParams, 1024) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.numWords) {
        p.target[i] = p.source[i] + p.addend;
    }
}

struct GputestReverseParams {
    uint32_t* target;  // [numWords]
    uint32_t numWords;
};

// Grid: 1 block of up to 1024 threads; dynamic shared memory: numWords words.
// Writes numWords-1 … 0 to target through shared memory.
GRIFFIN_KERNEL(gputest_reverse, GputestReverseParams, 1024) {
    uint32_t* words = griffin_dynamic_shared<uint32_t>();
    for (uint32_t i = threadIdx.x; i < p.numWords; i += blockDim.x) {
        words[i] = i;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < p.numWords; i += blockDim.x) {
        p.target[i] = words[p.numWords - 1 - i];
    }
}
