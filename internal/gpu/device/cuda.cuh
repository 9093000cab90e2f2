// The part of CUDA that Griffin uses, without CUDA's headers. Every .cu and .cuh file includes this first. On a GPU,
// the names map to the compiler's builtins and single PTX instructions; with GRIFFIN_EMULATOR, the emulator implements
// them on the host.
//
// A kernel takes exactly one parameter, a struct by value, named p in its body:
//
//	struct CopyParams {
//	    const uint32_t* source;  // [numWords]
//	    uint32_t* target;        // [numWords]
//	    uint32_t numWords;
//	};
//	GRIFFIN_KERNEL(demo_copy, CopyParams, 256) {
//	    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
//	    if (i < p.numWords) p.target[i] = p.source[i];
//	}
//
// Its Go mirror has the same layout: 8-byte pointers first, then 4-byte
// numbers. The third argument is the maximum number of threads per block.
//
// Conventions beyond CUDA: ld_relaxed, ld_acquire, st_relaxed and st_release access words that other threads write
// concurrently; plain accesses to such words are races, which the emulator reports. st_relaxed_system is for words that
// the host reads. griffin_dynamic_shared<T>() is the launch's dynamic shared memory, aligned to 16 bytes.
#pragma once

#ifdef GRIFFIN_EMULATOR
#include "../emulator/src/device.hpp"
#else

#if !defined(__CUDA__) || !defined(__clang__)
#error "kernels are compiled by clang as CUDA (make kernels), or with GRIFFIN_EMULATOR for the host"
#endif

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

#define GRIFFIN_KERNEL(name, Params, maxThreads) \
    extern "C" __global__ __launch_bounds__(maxThreads) void name(const Params p)

// minBlocks resident blocks per multiprocessor limit the registers per thread.
#define GRIFFIN_KERNEL_BLOCKS(name, Params, maxThreads, minBlocks) \
    extern "C" __global__ __launch_bounds__(maxThreads, minBlocks) void name(const Params p)

// For both the device and host code.
#define GRIFFIN_DEVICE __device__ __forceinline__

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

#include "vectors.cuh"

#define GRIFFIN_COORDINATE(member, reg)                        \
    __declspec(property(get = read_##member)) uint32_t member; \
    static GRIFFIN_DEVICE uint32_t read_##member() {           \
        return __nvvm_read_ptx_sreg_##reg();                   \
    }

struct griffin_thread_index {
    GRIFFIN_COORDINATE(x, tid_x)
    GRIFFIN_COORDINATE(y, tid_y)
    GRIFFIN_COORDINATE(z, tid_z)
};
struct griffin_block_index {
    GRIFFIN_COORDINATE(x, ctaid_x)
    GRIFFIN_COORDINATE(y, ctaid_y)
    GRIFFIN_COORDINATE(z, ctaid_z)
};
struct griffin_block_dim {
    GRIFFIN_COORDINATE(x, ntid_x)
    GRIFFIN_COORDINATE(y, ntid_y)
    GRIFFIN_COORDINATE(z, ntid_z)
};
struct griffin_grid_dim {
    GRIFFIN_COORDINATE(x, nctaid_x)
    GRIFFIN_COORDINATE(y, nctaid_y)
    GRIFFIN_COORDINATE(z, nctaid_z)
};
#undef GRIFFIN_COORDINATE

extern const __device__ __attribute__((weak)) griffin_thread_index threadIdx;
extern const __device__ __attribute__((weak)) griffin_block_index blockIdx;
extern const __device__ __attribute__((weak)) griffin_block_dim blockDim;
extern const __device__ __attribute__((weak)) griffin_grid_dim gridDim;

constexpr int warpSize = 32;

// Every thread of the block must reach the same one.

// clang provides __syncthreads().
GRIFFIN_DEVICE int __syncthreads_or(int predicate) {
    return __nvvm_bar0_or(predicate);
}
GRIFFIN_DEVICE int __syncthreads_and(int predicate) {
    return __nvvm_bar0_and(predicate);
}
GRIFFIN_DEVICE int __syncthreads_count(int predicate) {
    return __nvvm_bar0_popc(predicate);
}

GRIFFIN_DEVICE void __threadfence() {
    __nvvm_membar_gl();
}
GRIFFIN_DEVICE void __threadfence_block() {
    __nvvm_membar_cta();
}
GRIFFIN_DEVICE void __threadfence_system() {
    __nvvm_membar_sys();
}

// Exactly the lanes of mask must reach the same one.

GRIFFIN_DEVICE void __syncwarp(uint32_t mask = 0xffffffffu) {
    __nvvm_bar_warp_sync(mask);
}
GRIFFIN_DEVICE int __all_sync(uint32_t mask, int predicate) {
    return __nvvm_vote_all_sync(mask, predicate);
}
GRIFFIN_DEVICE int __any_sync(uint32_t mask, int predicate) {
    return __nvvm_vote_any_sync(mask, predicate);
}
GRIFFIN_DEVICE uint32_t __ballot_sync(uint32_t mask, int predicate) {
    return __nvvm_vote_ballot_sync(mask, predicate);
}
GRIFFIN_DEVICE uint32_t __activemask() {
    return __nvvm_activemask();
}

#define GRIFFIN_SHUFFLE(name, instruction, clamp, Source)                                                            \
    GRIFFIN_DEVICE int32_t name(uint32_t mask, int32_t value, Source source, int width = 32) {                       \
        return instruction##_i32(mask, value, source, ((32 - width) << 8) | clamp);                                  \
    }                                                                                                                \
    GRIFFIN_DEVICE uint32_t name(uint32_t mask, uint32_t value, Source source, int width = 32) {                     \
        return static_cast<uint32_t>(name(mask, static_cast<int32_t>(value), source, width));                        \
    }                                                                                                                \
    GRIFFIN_DEVICE float name(uint32_t mask, float value, Source source, int width = 32) {                           \
        return instruction##_f32(mask, value, source, ((32 - width) << 8) | clamp);                                  \
    }                                                                                                                \
    GRIFFIN_DEVICE unsigned long long name(uint32_t mask, unsigned long long value, Source source, int width = 32) { \
        uint32_t low = name(mask, static_cast<uint32_t>(value), source, width);                                      \
        uint32_t high = name(mask, static_cast<uint32_t>(value >> 32), source, width);                               \
        return static_cast<unsigned long long>(high) << 32 | low;                                                    \
    }                                                                                                                \
    GRIFFIN_DEVICE unsigned long name(uint32_t mask, unsigned long value, Source source, int width = 32) {           \
        return name(mask, static_cast<unsigned long long>(value), source, width);                                    \
    }                                                                                                                \
    GRIFFIN_DEVICE long long name(uint32_t mask, long long value, Source source, int width = 32) {                   \
        return static_cast<long long>(name(mask, static_cast<unsigned long long>(value), source, width));            \
    }                                                                                                                \
    GRIFFIN_DEVICE long name(uint32_t mask, long value, Source source, int width = 32) {                             \
        return static_cast<long>(name(mask, static_cast<unsigned long long>(value), source, width));                 \
    }

GRIFFIN_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx, 0x1f, int)
GRIFFIN_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up, 0, uint32_t)
GRIFFIN_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down, 0x1f, uint32_t)
GRIFFIN_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly, 0x1f, int)
#undef GRIFFIN_SHUFFLE

// The lanes of mask that have the caller's value.
template <class T>
GRIFFIN_DEVICE uint32_t __match_any_sync(uint32_t mask, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_any_sync takes 32 or 64 bits");
    uint32_t lanes;
    if constexpr (sizeof(T) == 4) {
        asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(lanes) : "r"(value), "r"(mask));
    } else {
        asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(lanes) : "l"(value), "r"(mask));
    }
    return lanes;
}

#define GRIFFIN_REDUCE(name, operation, T)                                                           \
    GRIFFIN_DEVICE T name(uint32_t mask, T value) {                                                  \
        T result;                                                                                    \
        asm volatile("redux.sync." operation " %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask)); \
        return result;                                                                               \
    }

GRIFFIN_REDUCE(__reduce_add_sync, "add.u32", uint32_t)
GRIFFIN_REDUCE(__reduce_add_sync, "add.s32", int32_t)
GRIFFIN_REDUCE(__reduce_min_sync, "min.u32", uint32_t)
GRIFFIN_REDUCE(__reduce_min_sync, "min.s32", int32_t)
GRIFFIN_REDUCE(__reduce_max_sync, "max.u32", uint32_t)
GRIFFIN_REDUCE(__reduce_max_sync, "max.s32", int32_t)
GRIFFIN_REDUCE(__reduce_or_sync, "or.b32", uint32_t)
GRIFFIN_REDUCE(__reduce_and_sync, "and.b32", uint32_t)
GRIFFIN_REDUCE(__reduce_xor_sync, "xor.b32", uint32_t)
#undef GRIFFIN_REDUCE

GRIFFIN_DEVICE int __popc(uint32_t x) {
    return __builtin_popcount(x);
}
GRIFFIN_DEVICE int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
GRIFFIN_DEVICE int __clz(uint32_t x) {
    return __builtin_clzg(x, 32);
}
GRIFFIN_DEVICE int __clzll(unsigned long long x) {
    return __builtin_clzg(x, 64);
}
GRIFFIN_DEVICE int __ffs(uint32_t x) {
    return __builtin_ffs(static_cast<int>(x));
}
GRIFFIN_DEVICE int __ffsll(unsigned long long x) {
    return __builtin_ffsll(static_cast<long long>(x));
}
GRIFFIN_DEVICE uint32_t __brev(uint32_t x) {
    return __builtin_bitreverse32(x);
}
GRIFFIN_DEVICE unsigned long long __brevll(unsigned long long x) {
    return __builtin_bitreverse64(x);
}
GRIFFIN_DEVICE uint32_t __umulhi(uint32_t a, uint32_t b) {
    return __nvvm_mulhi_ui(a, b);
}
GRIFFIN_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return __nvvm_mulhi_ull(a, b);
}

// Bytes of b:a (a holds bytes 0 to 3), selected by the low four nibbles of selector, whose top bits must be 0.
GRIFFIN_DEVICE uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
    return static_cast<uint32_t>(__nvvm_prmt(a, b, selector));
}

// The high (l) or low (r) word of high:low shifted by shift modulo 32; variant c: by at most 32.
#define GRIFFIN_FUNNEL(name, instruction)                                                     \
    GRIFFIN_DEVICE uint32_t name(uint32_t low, uint32_t high, uint32_t shift) {               \
        uint32_t result;                                                                      \
        asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift)); \
        return result;                                                                        \
    }
GRIFFIN_FUNNEL(__funnelshift_l, "shf.l.wrap.b32")
GRIFFIN_FUNNEL(__funnelshift_lc, "shf.l.clamp.b32")
GRIFFIN_FUNNEL(__funnelshift_r, "shf.r.wrap.b32")
GRIFFIN_FUNNEL(__funnelshift_rc, "shf.r.clamp.b32")
#undef GRIFFIN_FUNNEL

// Shifts by 32 or more give 0; in C++ that is undefined.
GRIFFIN_DEVICE uint32_t shift_left(uint32_t x, uint32_t distance) {
    uint32_t result;
    asm("shl.b32 %0, %1, %2;" : "=r"(result) : "r"(x), "r"(distance));
    return result;
}
GRIFFIN_DEVICE uint32_t shift_right(uint32_t x, uint32_t distance) {
    uint32_t result;
    asm("shr.u32 %0, %1, %2;" : "=r"(result) : "r"(x), "r"(distance));
    return result;
}

// Two 16-bit or four 8-bit numbers together.
#define GRIFFIN_SIMD_WORD(name, instruction)                                         \
    GRIFFIN_DEVICE uint32_t name(uint32_t a, uint32_t b) {                           \
        uint32_t result;                                                             \
        asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0)); \
        return result;                                                               \
    }
GRIFFIN_SIMD_WORD(__vmaxu4, "vmax4.u32.u32.u32")
GRIFFIN_SIMD_WORD(__vminu4, "vmin4.u32.u32.u32")
GRIFFIN_SIMD_WORD(__vmaxu2, "vmax2.u32.u32.u32")
GRIFFIN_SIMD_WORD(__vminu2, "vmin2.u32.u32.u32")
GRIFFIN_SIMD_WORD(__vadd4, "vadd4.u32.u32.u32")
GRIFFIN_SIMD_WORD(__vadd2, "vadd2.u32.u32.u32")
GRIFFIN_SIMD_WORD(__vaddus4, "vadd4.u32.u32.u32.sat")
GRIFFIN_SIMD_WORD(__vaddus2, "vadd2.u32.u32.u32.sat")
GRIFFIN_SIMD_WORD(__vsub4, "vsub4.u32.u32.u32")
#undef GRIFFIN_SIMD_WORD

// True is 0xff in the byte (0xffff in the half).
GRIFFIN_DEVICE uint32_t __vcmpgeu4(uint32_t a, uint32_t b) {
    uint32_t bits;
    asm("vset4.u32.u32.ge %0, %1, %2, %3;" : "=r"(bits) : "r"(a), "r"(b), "r"(0));
    return (bits << 8) - bits;
}
GRIFFIN_DEVICE uint32_t __vcmpgtu4(uint32_t a, uint32_t b) {
    uint32_t bits;
    asm("vset4.u32.u32.gt %0, %1, %2, %3;" : "=r"(bits) : "r"(a), "r"(b), "r"(0));
    return (bits << 8) - bits;
}
GRIFFIN_DEVICE uint32_t __vcmpeq4(uint32_t a, uint32_t b) {
    uint32_t bits;
    asm("vset4.u32.u32.eq %0, %1, %2, %3;" : "=r"(bits) : "r"(a), "r"(b), "r"(0));
    return (bits << 8) - bits;
}
GRIFFIN_DEVICE uint32_t __vcmpgeu2(uint32_t a, uint32_t b) {
    uint32_t bits;
    asm("vset2.u32.u32.ge %0, %1, %2, %3;" : "=r"(bits) : "r"(a), "r"(b), "r"(0));
    return (bits << 16) - bits;
}
GRIFFIN_DEVICE uint32_t __vcmpgtu2(uint32_t a, uint32_t b) {
    uint32_t bits;
    asm("vset2.u32.u32.gt %0, %1, %2, %3;" : "=r"(bits) : "r"(a), "r"(b), "r"(0));
    return (bits << 16) - bits;
}

// c plus the dot product of the four bytes of a and b.
GRIFFIN_DEVICE uint32_t __dp4a(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}

template <class T>
GRIFFIN_DEVICE T min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
GRIFFIN_DEVICE T max(T a, T b) {
    return a < b ? b : a;
}

// Each operation is rounded separately, never fused.

GRIFFIN_DEVICE float __fadd_rn(float a, float b) {
    return __nvvm_add_rn_f(a, b);
}
GRIFFIN_DEVICE float __fsub_rn(float a, float b) {
    return __nvvm_add_rn_f(a, -b);
}
GRIFFIN_DEVICE float __fmul_rn(float a, float b) {
    return __nvvm_mul_rn_f(a, b);
}
GRIFFIN_DEVICE float __fdiv_rn(float a, float b) {
    return __nvvm_div_rn_f(a, b);
}
GRIFFIN_DEVICE float __fsqrt_rn(float a) {
    return __nvvm_sqrt_rn_f(a);
}
GRIFFIN_DEVICE uint32_t __float2uint_rz(float a) {
    return __nvvm_f2ui_rz(a);
}
GRIFFIN_DEVICE uint32_t __float2uint_rn(float a) {
    return __nvvm_f2ui_rn(a);
}
GRIFFIN_DEVICE int32_t __float2int_rz(float a) {
    return __nvvm_f2i_rz(a);
}
GRIFFIN_DEVICE int32_t __float2int_rn(float a) {
    return __nvvm_f2i_rn(a);
}
GRIFFIN_DEVICE float __uint2float_rn(uint32_t a) {
    return __nvvm_ui2f_rn(a);
}
GRIFFIN_DEVICE float __int2float_rn(int32_t a) {
    return __nvvm_i2f_rn(a);
}
GRIFFIN_DEVICE uint32_t __float_as_uint(float a) {
    return __builtin_bit_cast(uint32_t, a);
}
GRIFFIN_DEVICE float __uint_as_float(uint32_t a) {
    return __builtin_bit_cast(float, a);
}

#include "memory.cuh"

GRIFFIN_DEVICE long long clock64() {
    return __nvvm_read_ptx_sreg_clock64();
}
GRIFFIN_DEVICE void __nanosleep(uint32_t nanoseconds) {
    asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
}

#endif
