#include "../device/block_topk.cuh"
#include "../device/cuda.cuh"

// Tests of device/block_topk.cuh. The launcher is in topk.go.

struct GputestTopKParams {
    const uint64_t* keys;  // [numKeys]
    uint64_t* out;         // [k]
    uint32_t* count;       // [1]
    uint64_t threshold;
    uint32_t numKeys;
    uint32_t capacity;
    uint32_t k;
    uint32_t byWarps;
};

// Grid: 1; block: any multiple of 32; shared memory: capacity keys. The block pushes all keys, thread i those at i, i +
// threads, and so on. It compacts after a failed push, which it repeats, and sorts after half of the keys and at the
// end; out[0, *count) is the result.
GRIFFIN_KERNEL(gputest_block_topk, GputestTopKParams, 1024) {
    __shared__ BlockTopK top;
    block_topk_init(top, griffin_dynamic_shared<uint64_t>(), p.capacity, p.k, p.threshold);
    bool halfway = false;
    for (uint32_t from = 0; from < p.numKeys; from += blockDim.x) {
        uint32_t i = from + threadIdx.x;
        uint64_t key = i < p.numKeys ? p.keys[i] : 0;
        for (;;) {
            uint32_t pushed = p.byWarps ? block_topk_push_warp(top, key) : block_topk_push(top, key);
            if (pushed <= p.capacity) key = 0;  // stored, or too low
            if (!__syncthreads_or(key != 0)) break;
            block_topk_compact(top);
        }
        if (!halfway && from >= p.numKeys / 2) {
            halfway = true;
            block_topk_sort(top);
        }
    }
    block_topk_sort(top);
    for (uint32_t i = threadIdx.x; i < top.count; i += blockDim.x) p.out[i] = top.keys[i];
    if (threadIdx.x == 0) *p.count = top.count;
}
