#include "../device/bits.cuh"
#include "../device/block_reduce.cuh"
#include "../device/block_scan.cuh"
#include "../device/cuda.cuh"
#include "../device/list_search.cuh"
#include "../device/unpack.cuh"
#include "../device/warp_reduce.cuh"
#include "../device/warp_scan.cuh"

/* Results for comparison by devicetest_test.go. A thread takes a[i] and b[i] and writes result f to out[f * numWords +
 * i]. Blocks of 256 threads, grids of numWords / 256. */

/* Mirrored by params in devicetest_test.go. */
struct DeviceTestParams {
    const uint32_t* a; /* [numWords] */
    const uint32_t* b; /* [numWords] */
    uint32_t* out;     /* [results][numWords] */
    uint32_t numWords;
    uint32_t reserved;
};

struct Results {
    uint32_t* at;
    uint32_t numWords;
    __device__ __forceinline__ void put(uint32_t value) {
        *at = value;
        at += numWords;
    }
    __device__ __forceinline__ void put64(uint64_t value) {
        put(static_cast<uint32_t>(value));
        put(static_cast<uint32_t>(value >> 32));
    }
};

__device__ __forceinline__ Results results(const DeviceTestParams& p) {
    return {p.out + blockIdx.x * blockDim.x + threadIdx.x, p.numWords};
}

GRIFFIN_KERNEL(devicetest_integers, DeviceTestParams, 256) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, a = p.a[i], b = p.b[i];
    const uint64_t wide = static_cast<uint64_t>(a) << 32 | b;
    Results r = results(p);
    r.put(static_cast<uint32_t>(__popc(a)));
    r.put(static_cast<uint32_t>(__popcll(wide)));
    r.put(static_cast<uint32_t>(__clz(a)));
    r.put(static_cast<uint32_t>(__clzll(wide)));
    r.put(static_cast<uint32_t>(__ffs(a)));
    r.put(static_cast<uint32_t>(__ffsll(wide)));
    r.put(__brev(a));
    r.put64(__brevll(wide));
    r.put(__umulhi(a, b));
    r.put64(__umul64hi(wide, ~wide));
    r.put(__byte_perm(a, b, b & 0x7777));
    r.put(__funnelshift_l(a, b, b));
    r.put(__funnelshift_lc(a, b, b & 63));
    r.put(__funnelshift_r(a, b, b));
    r.put(__funnelshift_rc(a, b, b & 63));
    r.put(shift_left(a, b & 63));
    r.put(shift_right(a, b & 63));
    r.put(__vmaxu4(a, b));
    r.put(__vminu4(a, b));
    r.put(__vmaxu2(a, b));
    r.put(__vminu2(a, b));
    r.put(__vadd4(a, b));
    r.put(__vadd2(a, b));
    r.put(__vaddus4(a, b));
    r.put(__vaddus2(a, b));
    r.put(__vsub4(a, b));
    r.put(__vcmpgeu4(a, b));
    r.put(__vcmpgtu4(a, b));
    r.put(__vcmpeq4(a, b));
    r.put(__vcmpgeu2(a, b));
    r.put(__vcmpgtu2(a, b));
    r.put(__dp4a(a, b, 7));
    r.put(min(a, b));
    r.put(max(a, b));
    r.put(low_bits(b % 33));
    r.put(bit_width(a));
    r.put(a == 0 ? 32 : select_bit(a, b % static_cast<uint32_t>(__popc(a))));
}

/* a and b are the bits of floating-point numbers. */
GRIFFIN_KERNEL(devicetest_floats, DeviceTestParams, 256) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const float a = __uint_as_float(p.a[i]), b = __uint_as_float(p.b[i]);
    Results r = results(p);
    r.put(__float_as_uint(__fadd_rn(a, b)));
    r.put(__float_as_uint(__fsub_rn(a, b)));
    r.put(__float_as_uint(__fmul_rn(a, b)));
    r.put(__float_as_uint(__fdiv_rn(a, b)));
    r.put(__float_as_uint(__fsqrt_rn(a < 0 ? -a : a)));
    r.put(__float_as_uint(a * b + a));
    r.put(__float2uint_rz(a));
    r.put(__float2uint_rn(a));
    r.put(static_cast<uint32_t>(__float2int_rz(a)));
    r.put(static_cast<uint32_t>(__float2int_rn(a)));
    r.put(__float_as_uint(__uint2float_rn(p.a[i])));
    r.put(__float_as_uint(__int2float_rn(static_cast<int32_t>(p.a[i]))));
}

GRIFFIN_KERNEL(devicetest_warps, DeviceTestParams, 256) {
    constexpr uint32_t all = 0xffffffffu;
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, a = p.a[i], b = p.b[i];
    const auto wide = static_cast<unsigned long long>(a) << 32 | b;
    Results r = results(p);
    r.put(__shfl_sync(all, a, 5));
    r.put(__shfl_sync(all, a, static_cast<int>(b), 8));
    r.put(__shfl_up_sync(all, a, 3u));
    r.put(__shfl_up_sync(all, a, 3u, 16));
    r.put(__shfl_down_sync(all, a, 4u));
    r.put(__shfl_down_sync(all, a, 4u, 8));
    r.put(__shfl_xor_sync(all, a, 9));
    r.put64(__shfl_up_sync(all, wide, 1u));
    r.put(__float_as_uint(__shfl_xor_sync(all, __uint_as_float(a), 1)));
    r.put(__ballot_sync(all, a & 1));
    r.put(static_cast<uint32_t>(__any_sync(all, (a & 0xff) == 0)));
    r.put(static_cast<uint32_t>(__all_sync(all, (a & 3) != 0)));
    r.put(__match_any_sync(all, a % 5));
    r.put(__match_any_sync(all, static_cast<unsigned long long>(a % 7) << 32));
    r.put(__reduce_add_sync(all, a));
    r.put(__reduce_min_sync(all, a));
    r.put(__reduce_max_sync(all, a));
    r.put(static_cast<uint32_t>(__reduce_min_sync(all, static_cast<int32_t>(a))));
    r.put(static_cast<uint32_t>(__reduce_max_sync(all, static_cast<int32_t>(a))));
    r.put(__reduce_or_sync(all, a & b));
    r.put(__reduce_and_sync(all, a | b));
    r.put(__reduce_xor_sync(all, a));
    /* Lanes of one parity by themselves. */
    const uint32_t half = threadIdx.x % 2 == 0 ? 0x55555555u : 0xaaaaaaaau;
    r.put(__reduce_add_sync(half, a));
    r.put(__ballot_sync(half, a & 2));
    r.put(__shfl_xor_sync(half, a, 2));
    r.put(warp_inclusive_sum(a));
    uint32_t total;
    r.put(warp_exclusive_sum(a, total));
    r.put(total);
    r.put(warp_inclusive_max(a));
    r.put64(warp_inclusive_sum(wide));
    r.put64(warp_sum(wide));
    r.put64(warp_min(wide));
    r.put64(warp_max(wide));
    r.put(lanes_before());
}

GRIFFIN_KERNEL(devicetest_blocks, DeviceTestParams, 256) {
    __shared__ uint32_t words[32];
    __shared__ unsigned long long wideWords[32];
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, a = p.a[i], b = p.b[i];
    const auto wide = static_cast<unsigned long long>(a) << 32 | b;
    Results r = results(p);
    r.put(static_cast<uint32_t>(__syncthreads_count(a & 1)));
    r.put(__syncthreads_or((a & 0xfff) == 0) != 0);
    r.put(__syncthreads_and((a & 0xff) != 0) != 0);
    uint32_t total = 3;
    r.put(block_exclusive_sum(a, total, words));
    r.put(total);
    r.put(block_exclusive_sum(b, total, words));
    r.put(total);
    r.put(block_sum(a, words));
    r.put(block_max(a, 0u, words));
    r.put(block_min(a, 0xffffffffu, words));
    r.put64(block_sum(wide, wideWords));
    r.put64(block_max(wide, 0ull, wideWords));
}

/* out is [8] and filled by the test; one block, whose threads update it all. */
GRIFFIN_KERNEL(devicetest_atomics, DeviceTestParams, 256) {
    __shared__ uint32_t words[4];
    const uint32_t a = p.a[threadIdx.x];
    if (threadIdx.x < 4) words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    atomicAdd(&p.out[0], a);
    atomicSub(&p.out[1], a);
    atomicMax(&p.out[2], a);
    atomicMin(&p.out[3], a);
    atomicOr(&p.out[4], a);
    atomicAnd(&p.out[5], a);
    atomicXor(&p.out[6], a);
    uint32_t seen = ld_relaxed(&p.out[7]);
    for (;;) { /* the greatest, by compare and swap */
        if (seen >= a) break;
        const uint32_t before = atomicCAS(&p.out[7], seen, a);
        if (before == seen) break;
        seen = before;
    }
    auto* wide = reinterpret_cast<unsigned long long*>(p.out + 8);
    const auto value = static_cast<unsigned long long>(a) << 20;
    atomicAdd(&wide[0], value);
    atomicMax(&wide[1], value);
    atomicMin(&wide[2], value);
    atomicAdd(&words[a & 3], 1);
    __syncthreads();
    if (threadIdx.x < 4) p.out[14 + threadIdx.x] = atomicExch(&words[threadIdx.x], 9);
    if (threadIdx.x == 0) st_release(&p.out[18], ld_acquire(&p.out[0]));
}

/* a holds numWords packed numbers of b[i] bits, 0 to 32, of the thread's block. */
GRIFFIN_KERNEL(devicetest_unpack, DeviceTestParams, 256) {
    const uint32_t i = threadIdx.x, width = p.b[0];
    p.out[i] = unpack_at(p.a, uint64_t{i} * width, width);
}

/* a is x; b is a slope, 26 bits and their shift, and in its low bits an intercept. */
GRIFFIN_KERNEL(devicetest_lines, DeviceTestParams, 256) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, b = p.b[i];
    const uint64_t slope = max(uint64_t{b & 0x3ffffff} << (b >> 26), uint64_t{1} << 32);
    const int64_t rise = static_cast<int64_t>(p.a[i]) - static_cast<int32_t>(b << 12);
    int64_t margin;
    Results r = results(p);
    r.put64(static_cast<uint64_t>(line_position(rise, line_inverse(slope), margin)));
    r.put64(static_cast<uint64_t>(margin));
}

/* Loads and stores of every width, and vectors. */
GRIFFIN_KERNEL(devicetest_loads, DeviceTestParams, 256) {
    const uint32_t i = threadIdx.x;
    const auto* quads = reinterpret_cast<const uint4*>(p.a);
    const auto* pairs = reinterpret_cast<const uint2*>(p.a);
    const auto* halves = reinterpret_cast<const uint16_t*>(p.a);
    const auto* bytes = reinterpret_cast<const uint8_t*>(p.a);
    auto* out = reinterpret_cast<uint4*>(p.out) + 4 * i;
    out[0] = __ldg(&quads[i]);
    const uint2 pair = __ldcs(&pairs[i]);
    out[1] = make_uint4(pair.x, pair.y, __ldg(&halves[i]), __ldcg(&bytes[i]));
    __stcs(&out[2], make_uint4(__ldg(&p.a[i]), __ldcs(&p.a[i + 1]), 1, 2));
    uint32_t* words = griffin_dynamic_shared<uint32_t>();
    words[i] = i;
    __syncthreads();
    const uint4 shared = reinterpret_cast<const uint4*>(words)[i / 4];
    out[3] = make_uint4(shared.x, shared.y, shared.z, shared.w);
}
