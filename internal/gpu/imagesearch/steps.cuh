/* 8-bit contributions of postings. */
#pragma once

#include "imagesearch.cuh"

/* Steps of a list's contributions: Shape.saturation in kernels.go. */
struct ImageSteps {
    uint32_t linear;
    uint32_t max;  /* maximum frequency if linear */
    float c0, c1;  /* K = c0 + c1*length */
    float perUnit; /* steps of a saturation of 1 */
};

/* In steps, rounded up: 1 to 255. length is not used if linear. As eighth in encode.go. */
__device__ __forceinline__ uint32_t imagesearch_eighth(const ImageSteps& s, uint32_t freq, uint32_t length) {
    if (s.linear != 0) {
        return s.max <= 255 ? freq : (freq * 255 + s.max - 1) / s.max;
    }
    const float f = static_cast<float>(freq);
    const float k = __fadd_rn(s.c0, __fmul_rn(s.c1, static_cast<float>(length)));
    const float v = __fmul_rn(__fdiv_rn(f, __fadd_rn(f, k)), s.perUnit);
    uint32_t steps = __float2uint_rz(v);
    steps += static_cast<float>(steps) < v ? 1 : 0;
    return max(min(steps, 255U), 1U);
}

template <class T>
__device__ __forceinline__ T* imagesearch_write(const ImageTerm& t, uint32_t part) {
    return const_cast<T*>(imagesearch_part<T>(t, part));
}
