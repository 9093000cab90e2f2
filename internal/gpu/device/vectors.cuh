// CUDA's vector types as compiler vectors, so that each is loaded, stored and moved as one access (the compiler would
// split a struct, and copy it through local memory). Their members' address cannot be taken.
#pragma once

#define GRIFFIN_VECTOR2(name, T)                            \
    typedef T name __attribute__((ext_vector_type(2)));     \
    __device__ __forceinline__ name make_##name(T x, T y) { \
        return name{x, y};                                  \
    }

#define GRIFFIN_VECTOR4(name, T)                                      \
    typedef T name __attribute__((ext_vector_type(4)));               \
    __device__ __forceinline__ name make_##name(T x, T y, T z, T w) { \
        return name{x, y, z, w};                                      \
    }

GRIFFIN_VECTOR2(uchar2, uint8_t)
GRIFFIN_VECTOR4(uchar4, uint8_t)
GRIFFIN_VECTOR2(ushort2, uint16_t)
GRIFFIN_VECTOR4(ushort4, uint16_t)
GRIFFIN_VECTOR2(int2, int32_t)
GRIFFIN_VECTOR4(int4, int32_t)
GRIFFIN_VECTOR2(uint2, uint32_t)
GRIFFIN_VECTOR4(uint4, uint32_t)
GRIFFIN_VECTOR2(ulonglong2, unsigned long long)
GRIFFIN_VECTOR2(float2, float)
GRIFFIN_VECTOR4(float4, float)

#undef GRIFFIN_VECTOR2
#undef GRIFFIN_VECTOR4
