// Included by cuda.cuh; the emulator defines the same names.
#pragma once

// Lets atomicAdd(counter, 1) work on any counter.
template <class T>
struct griffin_same {
    typedef T type;
};

// On 32 or 64 bits of global or shared memory, relaxed, device scope. Each returns the previous value.
template <class T>
GRIFFIN_DEVICE T atomicAdd(T* address, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
template <class T>
GRIFFIN_DEVICE T atomicSub(T* address, typename griffin_same<T>::type value) {
    return atomicAdd(address, static_cast<T>(-value));
}
template <class T>
GRIFFIN_DEVICE T atomicMax(T* address, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    return __atomic_fetch_max(address, value, __ATOMIC_RELAXED);
}
template <class T>
GRIFFIN_DEVICE T atomicMin(T* address, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    return __atomic_fetch_min(address, value, __ATOMIC_RELAXED);
}
template <class T>
GRIFFIN_DEVICE T atomicOr(T* address, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T>
GRIFFIN_DEVICE T atomicAnd(T* address, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T>
GRIFFIN_DEVICE T atomicXor(T* address, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
template <class T>
GRIFFIN_DEVICE T atomicExch(T* address, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);
}
template <class T>
GRIFFIN_DEVICE T atomicCAS(T* address, typename griffin_same<T>::type expected, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 32 or 64 bits");
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

// For words that other threads access concurrently. ld_acquire sees everything written before the st_release that it
// reads from. st_relaxed_system is for words that the host reads while the kernel runs.
#define GRIFFIN_ORDERED(load, order)                                                                \
    template <class T>                                                                              \
    GRIFFIN_DEVICE T load(const T* address) {                                                       \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, #load " takes 32 or 64 bits");              \
        if constexpr (sizeof(T) == 4) {                                                             \
            uint32_t value;                                                                         \
            asm volatile("ld." order ".gpu.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory"); \
            return __builtin_bit_cast(T, value);                                                    \
        } else {                                                                                    \
            unsigned long long value;                                                               \
            asm volatile("ld." order ".gpu.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory"); \
            return __builtin_bit_cast(T, value);                                                    \
        }                                                                                           \
    }
GRIFFIN_ORDERED(ld_relaxed, "relaxed")
GRIFFIN_ORDERED(ld_acquire, "acquire")
#undef GRIFFIN_ORDERED

#define GRIFFIN_ORDERED(store, order, scope)                                                       \
    template <class T>                                                                             \
    GRIFFIN_DEVICE void store(T* address, typename griffin_same<T>::type value) {                  \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, #store " takes 32 or 64 bits");            \
        if constexpr (sizeof(T) == 4) {                                                            \
            uint32_t bits = __builtin_bit_cast(uint32_t, value);                                   \
            asm volatile("st." order scope ".u32 [%0], %1;" ::"l"(address), "r"(bits) : "memory"); \
        } else {                                                                                   \
            unsigned long long bits = __builtin_bit_cast(unsigned long long, value);               \
            asm volatile("st." order scope ".u64 [%0], %1;" ::"l"(address), "l"(bits) : "memory"); \
        }                                                                                          \
    }
GRIFFIN_ORDERED(st_relaxed, "relaxed", ".gpu")
GRIFFIN_ORDERED(st_relaxed_system, "relaxed", ".sys")
GRIFFIN_ORDERED(st_release, "release", ".gpu")
#undef GRIFFIN_ORDERED

// __ldg uses the read-only cache (the words must not be written while the kernel runs), __ldcs and __stcs are for data
// used once, __ldcg bypasses the first-level cache. For numbers of 1 to 8 bytes and the vectors of 8 and 16 bytes.
#define GRIFFIN_LOAD(name, modifier, ASM)                                                                            \
    template <class T>                                                                                               \
    GRIFFIN_DEVICE T name(const T* address) {                                                                        \
        constexpr bool quad = sizeof(T) == 16, pair = sizeof(T) == 8 && alignof(T) == 8;                             \
        static_assert(quad || sizeof(T) == 8 || sizeof(T) == 4 || sizeof(T) == 2 || sizeof(T) == 1, "no such load"); \
        if constexpr (quad) {                                                                                        \
            uint4 v;                                                                                                 \
            ASM("ld.global." modifier ".v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z),           \
                "=r"(v.w) : "l"(address));                                                                           \
            return __builtin_bit_cast(T, v);                                                                         \
        } else if constexpr (pair) {                                                                                 \
            unsigned long long v;                                                                                    \
            ASM("ld.global." modifier ".u64 %0, [%1];" : "=l"(v) : "l"(address));                                    \
            return __builtin_bit_cast(T, v);                                                                         \
        } else if constexpr (sizeof(T) == 4) {                                                                       \
            uint32_t v;                                                                                              \
            ASM("ld.global." modifier ".u32 %0, [%1];" : "=r"(v) : "l"(address));                                    \
            return __builtin_bit_cast(T, v);                                                                         \
        } else if constexpr (sizeof(T) == 2) {                                                                       \
            uint16_t v;                                                                                              \
            ASM("ld.global." modifier ".u16 %0, [%1];" : "=h"(v) : "l"(address));                                    \
            return __builtin_bit_cast(T, v);                                                                         \
        } else {                                                                                                     \
            uint16_t v;                                                                                              \
            ASM("ld.global." modifier ".u8 %0, [%1];" : "=h"(v) : "l"(address));                                     \
            return __builtin_bit_cast(T, static_cast<uint8_t>(v));                                                   \
        }                                                                                                            \
    }
GRIFFIN_LOAD(__ldg, "nc", asm)
GRIFFIN_LOAD(__ldcs, "cs", asm volatile)
GRIFFIN_LOAD(__ldcg, "cg", asm volatile)
#undef GRIFFIN_LOAD

template <class T>
GRIFFIN_DEVICE void __stcs(T* address, typename griffin_same<T>::type value) {
    static_assert(sizeof(T) == 16 || sizeof(T) == 8 || sizeof(T) == 4, "__stcs stores 4, 8 or 16 bytes");
    if constexpr (sizeof(T) == 16) {
        uint4 v = __builtin_bit_cast(uint4, value);
        asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x), "r"(v.y), "r"(v.z),
                     "r"(v.w)
                     : "memory");
    } else if constexpr (sizeof(T) == 8) {
        unsigned long long v = __builtin_bit_cast(unsigned long long, value);
        asm volatile("st.global.cs.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
    } else {
        uint32_t v = __builtin_bit_cast(uint32_t, value);
        asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(address), "r"(v) : "memory");
    }
}

extern __shared__ __attribute__((aligned(16))) unsigned char griffin_dynamic_shared_bytes[];

template <class T>
GRIFFIN_DEVICE T* griffin_dynamic_shared() {
    return reinterpret_cast<T*>(griffin_dynamic_shared_bytes);
}
