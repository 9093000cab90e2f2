#include "../device/cuda.cuh"

/*
 * Kernels that are faulty if p.fault is 1. Grid and block are in emulatortest_test.go, one thread per word of data
 * unless stated otherwise.
 */

/* Mirrored by params in emulatortest_test.go. */
struct FaultParams {
    uint32_t* data;  /* [numWords], written before the launch unless stated otherwise */
    uint32_t* other; /* [numWords], not written */
    uint32_t numWords;
    uint32_t fault;
};

/* Copies data to other; with the fault, shifted by a word. */
GRIFFIN_KERNEL(emulatortest_past_end, FaultParams, 256) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.numWords) p.other[i] = p.data[i + p.fault];
}

GRIFFIN_KERNEL(emulatortest_before_begin, FaultParams, 256) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.numWords) (p.other - p.fault)[i] = p.data[i];
}

/* One thread; with the fault, data is null. */
GRIFFIN_KERNEL(emulatortest_null, FaultParams, 32) {
    if (threadIdx.x == 0) p.other[0] = p.data[0];
}

/* One thread; reads 16 bytes at the address of a word. */
GRIFFIN_KERNEL(emulatortest_misaligned, FaultParams, 32) {
    uint4 v = *reinterpret_cast<const uint4*>(p.data + p.fault);
    if (threadIdx.x == 0) p.other[0] = v.x + v.w;
}

/* Half of the threads write other, and it is read by them or, with the fault, by all. */
GRIFFIN_KERNEL(emulatortest_uninitialised, FaultParams, 256) {
    uint32_t i = threadIdx.x, half = blockDim.x / 2;
    if (i < half) p.other[i] = i;
    __syncthreads();
    if (p.fault || i < half) p.data[i] = p.other[i];
}

/* The same with shared memory, which blocks before have written. */
GRIFFIN_KERNEL(emulatortest_uninitialised_shared, FaultParams, 256) {
    __shared__ uint32_t words[256];
    uint32_t i = threadIdx.x;
    if (blockIdx.x != 1 || !p.fault) words[i] = i;
    __syncthreads();
    if (blockIdx.x == 1) p.other[i] = words[blockDim.x - 1 - i];
}

/* A byte of a word that is not written. */
GRIFFIN_KERNEL(emulatortest_uninitialised_byte, FaultParams, 32) {
    auto* bytes = reinterpret_cast<uint8_t*>(p.other);
    if (threadIdx.x == 0) {
        bytes[0] = bytes[1] = bytes[3] = 1;
        if (!p.fault) bytes[2] = 1;
        p.data[0] = p.other[0];
    }
}

/* 4 bytes a thread; with the fault, one word more. */
GRIFFIN_KERNEL(emulatortest_dynamic_shared, FaultParams, 256) {
    uint32_t* words = griffin_dynamic_shared<uint32_t>();
    words[threadIdx.x + p.fault] = threadIdx.x;
    __syncthreads();
    p.other[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x + p.fault];
}

/* A read after another thread's write, without a barrier. */
GRIFFIN_KERNEL(emulatortest_race_read, FaultParams, 256) {
    __shared__ uint32_t words[256];
    words[threadIdx.x] = p.data[threadIdx.x];
    if (!p.fault) __syncthreads();
    if (threadIdx.x >= 32) p.other[threadIdx.x] = words[threadIdx.x - 32];
}

/* A write after other threads' reads, without a barrier. */
GRIFFIN_KERNEL(emulatortest_race_write, FaultParams, 256) {
    __shared__ uint32_t words[256];
    words[threadIdx.x] = p.data[threadIdx.x];
    __syncthreads();
    uint32_t sum = words[(threadIdx.x + 1) % blockDim.x] + words[(threadIdx.x + 2) % blockDim.x];
    if (!p.fault) __syncthreads();
    words[threadIdx.x] = sum;
    __syncthreads();
    p.other[threadIdx.x] = words[threadIdx.x];
}

/* A scan that relies on lanes running in step. */
GRIFFIN_KERNEL(emulatortest_race_warp, FaultParams, 256) {
    __shared__ uint32_t words[256];
    uint32_t lane = threadIdx.x % 32;
    words[threadIdx.x] = p.data[threadIdx.x];
    __syncwarp();
    for (uint32_t d = 1; d < 32; d *= 2) {
        uint32_t before = lane >= d ? words[threadIdx.x - d] : 0;
        __syncwarp();
        words[threadIdx.x] += before;
        if (!p.fault) __syncwarp();
    }
    p.other[threadIdx.x] = words[threadIdx.x];
}

/* Halves of a warp that synchronise separately; with the fault, one reads the other's data. */
GRIFFIN_KERNEL(emulatortest_race_half_warp, FaultParams, 32) {
    __shared__ uint32_t words[32];
    uint32_t mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
    words[threadIdx.x] = 0;
    __syncwarp();
    words[threadIdx.x] = p.data[threadIdx.x];
    __syncwarp(mask);
    p.other[threadIdx.x] = words[threadIdx.x ^ (p.fault ? 16 : 8)];
}

/* Device memory, within a block. */
GRIFFIN_KERNEL(emulatortest_race_global, FaultParams, 256) {
    p.other[threadIdx.x] = 0;
    __syncthreads();
    p.other[threadIdx.x] = p.data[threadIdx.x];
    if (!p.fault) __syncthreads();
    p.data[threadIdx.x] = p.other[blockDim.x - 1 - threadIdx.x];
}

/* All threads raise a count, and one clears it; with the fault, without a barrier. */
GRIFFIN_KERNEL(emulatortest_race_atomic, FaultParams, 256) {
    __shared__ uint32_t count;
    if (threadIdx.x == 0) count = 0;
    if (!p.fault || threadIdx.x < 32) {
        if (!p.fault) __syncthreads();
        atomicAdd(&count, 1);
    }
    __syncthreads();
    p.other[threadIdx.x] = count;
}

/* Two threads each write a byte of one word: no race. With the fault the same byte. */
GRIFFIN_KERNEL(emulatortest_race_bytes, FaultParams, 256) {
    __shared__ uint8_t bytes[256];
    bytes[p.fault ? threadIdx.x / 2 : threadIdx.x] = 1;
    __syncthreads();
    p.other[threadIdx.x] = bytes[threadIdx.x / 2];
}

/* Each block writes the words of its threads. The last block sums all words. Fault: each block also copies the words of
 * the previous block. data[0] counts blocks and is initially 0. */
GRIFFIN_KERNEL(emulatortest_race_blocks, FaultParams, 64) {
    __shared__ uint32_t last;
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t before = (blockIdx.x + gridDim.x - 1) % gridDim.x * blockDim.x + threadIdx.x;
    if (i > 1) p.data[i] = i;
    if (p.fault && i > 1 && before > 1) p.other[i] = p.data[before];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&p.data[0], 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    uint32_t sum = 0;
    for (uint32_t k = 2 + threadIdx.x; k < p.numWords; k += blockDim.x) sum += p.data[k];
    atomicAdd(&p.data[1], sum);
}

/* With the fault, half of the threads do not reach it. */
GRIFFIN_KERNEL(emulatortest_barrier_half, FaultParams, 256) {
    if (!p.fault || threadIdx.x < blockDim.x / 2) __syncthreads();
    p.other[threadIdx.x] = threadIdx.x;
}

/* A barrier after a return. */
GRIFFIN_KERNEL(emulatortest_barrier_return, FaultParams, 256) {
    if (p.fault && threadIdx.x == 70) return;
    uint32_t n = __syncthreads_count(threadIdx.x % 2);
    p.other[threadIdx.x] = n;
}

/* Two barriers, of which threads take one or the other. */
GRIFFIN_KERNEL(emulatortest_barrier_branches, FaultParams, 256) {
    if (p.fault && threadIdx.x % 64 == 1) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    p.other[threadIdx.x] = threadIdx.x;
}

/* A vote of all lanes, with the fault of some. */
GRIFFIN_KERNEL(emulatortest_vote_part, FaultParams, 256) {
    uint32_t lane = threadIdx.x % 32, votes = 0;
    if (!p.fault || lane < 20) votes = __ballot_sync(0xffffffffu, lane % 2);
    p.other[threadIdx.x] = votes;
}

/* A shuffle whose mask lacks the caller. */
GRIFFIN_KERNEL(emulatortest_mask_without_caller, FaultParams, 256) {
    uint32_t lane = threadIdx.x % 32, value = lane;
    if (lane < 16 + p.fault) value = __shfl_xor_sync(0xffffu, value, 1);
    p.other[threadIdx.x] = value;
}

/* Lanes of one warp that meet in different collectives. */
GRIFFIN_KERNEL(emulatortest_vote_kinds, FaultParams, 256) {
    uint32_t lane = threadIdx.x % 32;
    if (p.fault && lane == 3) {
        p.other[threadIdx.x] = __any_sync(0xffffffffu, lane > 3);
    } else {
        p.other[threadIdx.x] = __all_sync(0xffffffffu, lane > 3);
    }
}

/* __activemask, taken for all lanes in the branch. */
GRIFFIN_KERNEL(emulatortest_active_mask, FaultParams, 32) {
    uint32_t mask = p.fault ? __activemask() : 0xffffffffu;
    p.other[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 5);
}

GRIFFIN_KERNEL(emulatortest_shift, FaultParams, 256) {
    uint32_t distance = p.fault ? threadIdx.x : threadIdx.x % 32;
    p.other[threadIdx.x] = (1u << distance) + shift_left(1, threadIdx.x);
}

GRIFFIN_KERNEL(emulatortest_index, FaultParams, 256) {
    __shared__ uint32_t words[64];
    uint32_t local[8];
    for (uint32_t k = 0; k < 8; k++) local[k] = p.data[k];
    words[(threadIdx.x + p.fault) % (64 + p.fault)] = threadIdx.x;
    __syncthreads();
    p.other[threadIdx.x] = words[threadIdx.x] + local[words[threadIdx.x] % 8];
}

/* A thread's own array, passed by address; with the fault it is read to one word past its end. */
__device__ __noinline__ uint32_t emulatortest_sum(const uint32_t* words, uint32_t numWords) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < numWords; i++) sum += words[i];
    return sum;
}
GRIFFIN_KERNEL(emulatortest_local, FaultParams, 256) {
    uint32_t own[33] = {};
    for (uint32_t i = 0; i < 32; i++) own[(i * 7 + threadIdx.x) % 32] = p.data[i];
    __syncthreads();
    p.other[threadIdx.x] = emulatortest_sum(own, 33 + p.fault);
}

/* A thread waits until another has written; with the fault that comes after it. */
GRIFFIN_KERNEL(emulatortest_spin, FaultParams, 256) {
    if (p.fault && threadIdx.x == 0) {
        while (ld_acquire(&p.data[1]) == 1) {
        }
    }
    if (threadIdx.x == 32) st_release(&p.data[1], 7);
    p.other[threadIdx.x] = threadIdx.x;
}
