// The emulator's version of device/cuda.cuh.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernel.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define GRIFFIN_DEVICE inline

// One block runs at a time, so shared memory of all kernels lies in one section. The address sanitizer places its gaps
// only around variables without a section.
#if __has_feature(address_sanitizer)
#define __shared__ static
#else
#define __shared__ static __attribute__((section("griffin_shared")))
#endif

#define GRIFFIN_KERNEL(name, Params, maxThreads)                                                            \
    static void griffin_body_##name(const Params& p);                                                       \
    static void griffin_run_##name(const void* params) {                                                    \
        griffin_body_##name(*static_cast<const Params*>(params));                                           \
    }                                                                                                       \
    static const ::griffin::emulator::Kernel griffin_kernel_##name(#name, sizeof(Params), maxThreads,       \
                                                                   griffin_run_##name, __FILE__, __LINE__); \
    static void griffin_body_##name(const Params& p)
#define GRIFFIN_KERNEL_BLOCKS(name, Params, maxThreads, minBlocks) GRIFFIN_KERNEL(name, Params, maxThreads)

#include "../../device/vectors.cuh"

#define GRIFFIN_COORDINATES(type, object, function)   \
    struct type {                                     \
        __declspec(property(get = readX)) uint32_t x; \
        __declspec(property(get = readY)) uint32_t y; \
        __declspec(property(get = readZ)) uint32_t z; \
        static uint32_t readX() {                     \
            return ::griffin::emulator::function(0);  \
        }                                             \
        static uint32_t readY() {                     \
            return ::griffin::emulator::function(1);  \
        }                                             \
        static uint32_t readZ() {                     \
            return ::griffin::emulator::function(2);  \
        }                                             \
    };                                                \
    static constexpr type object{};

GRIFFIN_COORDINATES(griffin_thread_index, threadIdx, threadIndex)
GRIFFIN_COORDINATES(griffin_block_index, blockIdx, blockIndex)
GRIFFIN_COORDINATES(griffin_block_dim, blockDim, blockSize)
GRIFFIN_COORDINATES(griffin_grid_dim, gridDim, gridSize)
#undef GRIFFIN_COORDINATES

constexpr int warpSize = 32;

// As default arguments of functions that a kernel calls.
#define GRIFFIN_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void griffin_sync_block(GRIFFIN_PLACE) {
    ::griffin::emulator::meetBlock(::griffin::emulator::Collective::syncBlock, 0, {file, line});
}
#define __syncthreads() griffin_sync_block()
inline int __syncthreads_or(int predicate, GRIFFIN_PLACE) {
    return ::griffin::emulator::meetBlock(::griffin::emulator::Collective::syncBlockOr, predicate, {file, line});
}
inline int __syncthreads_and(int predicate, GRIFFIN_PLACE) {
    return ::griffin::emulator::meetBlock(::griffin::emulator::Collective::syncBlockAnd, predicate, {file, line});
}
inline int __syncthreads_count(int predicate, GRIFFIN_PLACE) {
    return ::griffin::emulator::meetBlock(::griffin::emulator::Collective::syncBlockCount, predicate, {file, line});
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

inline void __syncwarp(uint32_t mask = 0xffffffffu, GRIFFIN_PLACE) {
    ::griffin::emulator::meetWarp(::griffin::emulator::Collective::syncWarp, mask, 0, 0, 32, {file, line});
}
inline int __all_sync(uint32_t mask, int predicate, GRIFFIN_PLACE) {
    return static_cast<int>(
        ::griffin::emulator::meetWarp(::griffin::emulator::Collective::all, mask, predicate != 0, 0, 32, {file, line}));
}
inline int __any_sync(uint32_t mask, int predicate, GRIFFIN_PLACE) {
    return static_cast<int>(
        ::griffin::emulator::meetWarp(::griffin::emulator::Collective::any, mask, predicate != 0, 0, 32, {file, line}));
}
inline uint32_t __ballot_sync(uint32_t mask, int predicate, GRIFFIN_PLACE) {
    return static_cast<uint32_t>(::griffin::emulator::meetWarp(::griffin::emulator::Collective::ballot, mask,
                                                               predicate != 0, 0, 32, {file, line}));
}
inline uint32_t __activemask() {
    return ::griffin::emulator::activeMask();
}

template <class T>
inline uint64_t griffin_bits(T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a warp exchanges 32 or 64 bits");
    if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(uint32_t, value);
    } else {
        return __builtin_bit_cast(uint64_t, value);
    }
}
template <class T>
inline T griffin_value(uint64_t bits) {
    if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(T, static_cast<uint32_t>(bits));
    } else {
        return __builtin_bit_cast(T, bits);
    }
}

#define GRIFFIN_SHUFFLE(name, what)                                                                               \
    template <class T>                                                                                            \
    inline T name(uint32_t mask, T value, int source, int width = 32, GRIFFIN_PLACE) {                            \
        static_assert(std::is_arithmetic_v<T>, #name " takes numbers");                                           \
        return griffin_value<T>(::griffin::emulator::meetWarp(::griffin::emulator::Collective::what, mask,        \
                                                              griffin_bits(value), static_cast<uint32_t>(source), \
                                                              static_cast<uint32_t>(width), {file, line}));       \
    }
GRIFFIN_SHUFFLE(__shfl_sync, shuffle)
GRIFFIN_SHUFFLE(__shfl_up_sync, shuffleUp)
GRIFFIN_SHUFFLE(__shfl_down_sync, shuffleDown)
GRIFFIN_SHUFFLE(__shfl_xor_sync, shuffleXor)
#undef GRIFFIN_SHUFFLE

template <class T>
inline uint32_t __match_any_sync(uint32_t mask, T value, GRIFFIN_PLACE) {
    return static_cast<uint32_t>(::griffin::emulator::meetWarp(::griffin::emulator::Collective::matchAny, mask,
                                                               griffin_bits(value), 0, 32, {file, line}));
}

#define GRIFFIN_REDUCE(name, what, T)                                                                            \
    inline T name(uint32_t mask, T value, GRIFFIN_PLACE) {                                                       \
        return static_cast<T>(::griffin::emulator::meetWarp(::griffin::emulator::Collective::what, mask,         \
                                                            static_cast<uint32_t>(value), 0, 32, {file, line})); \
    }
GRIFFIN_REDUCE(__reduce_add_sync, reduceAdd, uint32_t)
GRIFFIN_REDUCE(__reduce_add_sync, reduceAdd, int32_t)
GRIFFIN_REDUCE(__reduce_min_sync, reduceMin, uint32_t)
GRIFFIN_REDUCE(__reduce_min_sync, reduceMinSigned, int32_t)
GRIFFIN_REDUCE(__reduce_max_sync, reduceMax, uint32_t)
GRIFFIN_REDUCE(__reduce_max_sync, reduceMaxSigned, int32_t)
GRIFFIN_REDUCE(__reduce_or_sync, reduceOr, uint32_t)
GRIFFIN_REDUCE(__reduce_and_sync, reduceAnd, uint32_t)
GRIFFIN_REDUCE(__reduce_xor_sync, reduceXor, uint32_t)
#undef GRIFFIN_REDUCE

inline int __popc(uint32_t x) {
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline int __clz(uint32_t x) {
    return x ? __builtin_clz(x) : 32;
}
inline int __clzll(unsigned long long x) {
    return x ? __builtin_clzll(x) : 64;
}
inline int __ffs(uint32_t x) {
    return __builtin_ffs(static_cast<int>(x));
}
inline int __ffsll(unsigned long long x) {
    return __builtin_ffsll(static_cast<long long>(x));
}
inline uint32_t __brev(uint32_t x) {
    return __builtin_bitreverse32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
    return __builtin_bitreverse64(x);
}
inline uint32_t __umulhi(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

// PTX prmt: a nibble's low three bits select a byte, the fourth replicates its sign.
inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t nibble = selector >> (4 * i) & 0xf;
        uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (nibble & 7))) & 0xff;
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

inline uint64_t griffin_pair(uint32_t low, uint32_t high) {
    return static_cast<uint64_t>(high) << 32 | low;
}
inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift) {
    return static_cast<uint32_t>(griffin_pair(low, high) << (shift & 31) >> 32);
}
inline uint32_t __funnelshift_lc(uint32_t low, uint32_t high, uint32_t shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift) {
    return static_cast<uint32_t>(griffin_pair(low, high) >> (shift & 31));
}
inline uint32_t __funnelshift_rc(uint32_t low, uint32_t high, uint32_t shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline uint32_t shift_left(uint32_t x, uint32_t distance) {
    return distance >= 32 ? 0 : x << distance;
}
inline uint32_t shift_right(uint32_t x, uint32_t distance) {
    return distance >= 32 ? 0 : x >> distance;
}

// Applies f to the fields of width bits of two words.
template <int width, class F>
inline uint32_t griffin_each(uint32_t a, uint32_t b, F f) {
    constexpr uint32_t all = (1u << width) - 1;
    uint32_t result = 0;
    for (int i = 0; i < 32; i += width) result |= (f(a >> i & all, b >> i & all) & all) << i;
    return result;
}
#define GRIFFIN_SIMD_WORD(name, width, expression)                                                       \
    inline uint32_t name(uint32_t a, uint32_t b) {                                                       \
        return griffin_each<width>(a, b, [](uint32_t x, uint32_t y) -> uint32_t { return expression; }); \
    }
GRIFFIN_SIMD_WORD(__vmaxu4, 8, x > y ? x : y)
GRIFFIN_SIMD_WORD(__vminu4, 8, x < y ? x : y)
GRIFFIN_SIMD_WORD(__vmaxu2, 16, x > y ? x : y)
GRIFFIN_SIMD_WORD(__vminu2, 16, x < y ? x : y)
GRIFFIN_SIMD_WORD(__vadd4, 8, x + y)
GRIFFIN_SIMD_WORD(__vadd2, 16, x + y)
GRIFFIN_SIMD_WORD(__vaddus4, 8, x + y > 0xff ? 0xff : x + y)
GRIFFIN_SIMD_WORD(__vaddus2, 16, x + y > 0xffff ? 0xffff : x + y)
GRIFFIN_SIMD_WORD(__vsub4, 8, x - y)
GRIFFIN_SIMD_WORD(__vcmpgeu4, 8, x >= y ? 0xff : 0)
GRIFFIN_SIMD_WORD(__vcmpgtu4, 8, x > y ? 0xff : 0)
GRIFFIN_SIMD_WORD(__vcmpeq4, 8, x == y ? 0xff : 0)
GRIFFIN_SIMD_WORD(__vcmpgeu2, 16, x >= y ? 0xffff : 0)
GRIFFIN_SIMD_WORD(__vcmpgtu2, 16, x > y ? 0xffff : 0)
#undef GRIFFIN_SIMD_WORD

inline uint32_t __dp4a(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 0xff) * (b >> i & 0xff);
    return c;
}

template <class T>
inline T min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
inline T max(T a, T b) {
    return a < b ? b : a;
}

// The host rounds to nearest, and nothing is fused.

inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fsub_rn(float a, float b) {
    return a - b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline float __fdiv_rn(float a, float b) {
    return a / b;
}
inline float __fsqrt_rn(float a) {
    return std::sqrt(a);
}
// Conversions saturate, and convert NaN to 0, as in PTX.
template <class T>
inline T griffin_saturate(float a) {
    if (std::isnan(a)) return 0;
    if (a >= std::ldexp(1.0f, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
    if (a <= static_cast<float>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(a);
}
inline uint32_t __float2uint_rz(float a) {
    return griffin_saturate<uint32_t>(std::trunc(a));
}
inline uint32_t __float2uint_rn(float a) {
    return griffin_saturate<uint32_t>(std::nearbyint(a));
}
inline int32_t __float2int_rz(float a) {
    return griffin_saturate<int32_t>(std::trunc(a));
}
inline int32_t __float2int_rn(float a) {
    return griffin_saturate<int32_t>(std::nearbyint(a));
}
inline float __uint2float_rn(uint32_t a) {
    return static_cast<float>(a);
}
inline float __int2float_rn(int32_t a) {
    return static_cast<float>(a);
}
inline uint32_t __float_as_uint(float a) {
    return __builtin_bit_cast(uint32_t, a);
}
inline float __uint_as_float(uint32_t a) {
    return __builtin_bit_cast(float, a);
}

// One thread runs at a time, so each is a read and a write, with a check of conflicting accesses.

template <class T>
struct griffin_same {
    typedef T type;
};

// Accesses without the compiler's checks.
template <class T>
__attribute__((no_sanitize("thread"), noinline)) T griffin_load(const T* address) {
    T value;
    __builtin_memcpy_inline(&value, address, sizeof(T));
    return value;
}
template <class T>
__attribute__((no_sanitize("thread"), noinline)) void griffin_store(T* address, T value) {
    __builtin_memcpy_inline(address, &value, sizeof(T));
}

#define GRIFFIN_ATOMIC(name, expression)                                                           \
    template <class T>                                                                             \
    inline T name(T* address, typename griffin_same<T>::type value) {                              \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");             \
        ::griffin::emulator::checkAccess(address, sizeof(T), ::griffin::emulator::Access::update); \
        T old = griffin_load(address);                                                             \
        griffin_store<T>(address, expression);                                                     \
        return old;                                                                                \
    }
GRIFFIN_ATOMIC(atomicAdd, old + value)
GRIFFIN_ATOMIC(atomicSub, old - value)
GRIFFIN_ATOMIC(atomicMax, old > value ? old : value)
GRIFFIN_ATOMIC(atomicMin, old < value ? old : value)
GRIFFIN_ATOMIC(atomicOr, old | value)
GRIFFIN_ATOMIC(atomicAnd, old& value)
GRIFFIN_ATOMIC(atomicXor, old ^ value)
GRIFFIN_ATOMIC(atomicExch, value)
#undef GRIFFIN_ATOMIC
template <class T>
inline T atomicCAS(T* address, typename griffin_same<T>::type expected, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    ::griffin::emulator::checkAccess(address, sizeof(T), ::griffin::emulator::Access::update);
    T old = griffin_load(address);
    if (old == expected) griffin_store<T>(address, value);
    return old;
}

#define GRIFFIN_LOAD(name, access)                                                                 \
    template <class T>                                                                             \
    inline T name(const T* address) {                                                              \
        ::griffin::emulator::checkAccess(address, sizeof(T), ::griffin::emulator::Access::access); \
        return griffin_load(address);                                                              \
    }
GRIFFIN_LOAD(ld_relaxed, relaxedRead)
GRIFFIN_LOAD(ld_acquire, relaxedRead)
GRIFFIN_LOAD(__ldg, read)
GRIFFIN_LOAD(__ldcs, read)
GRIFFIN_LOAD(__ldcg, read)
#undef GRIFFIN_LOAD

#define GRIFFIN_STORE(name, access)                                                                \
    template <class T>                                                                             \
    inline void name(T* address, typename griffin_same<T>::type value) {                           \
        ::griffin::emulator::checkAccess(address, sizeof(T), ::griffin::emulator::Access::access); \
        griffin_store<T>(address, value);                                                          \
    }
GRIFFIN_STORE(st_relaxed, relaxedWrite)
GRIFFIN_STORE(st_relaxed_system, relaxedWrite)
GRIFFIN_STORE(st_release, relaxedWrite)
GRIFFIN_STORE(__stcs, write)
#undef GRIFFIN_STORE

template <class T>
inline T* griffin_dynamic_shared() {
    return static_cast<T*>(::griffin::emulator::dynamicShared());
}

inline long long clock64() {
    return __builtin_readcyclecounter();
}
inline void __nanosleep(uint32_t) {}
