// Bit-identical to score.Term.Score:
//
//	contribution = round(weight * freq / (freq + (c0 + c1*length)))
//	linear:        round(weight * freq)
//
// in float32. Each operation rounds to nearest even; then 0.5 is added, rounded, and the result truncated. Worked
// number, tested: weight 4.5574*2^16, c0 0.54, c1 0.0036, freq 3, length 120 give 225583.
//
// Robertson, Walker, Jones, Hancock-Beaulieu and Gatford, "Okapi at TREC-3",
// 1994; on a GPU: Ding, He, Yan and Suel, WWW 2009, §8.2. We differ: fixed
// point, so that sums do not depend on the order of addition.
#pragma once

#include "cuda.cuh"

// score.Term, with the layout of the Go type scoring.Term.
struct Bm25Term {
    float weight;
    float c0, c1;
    uint32_t linear;  // not 0: contributions do not depend on lengths
};

// freq >= 1; length is the document's number of tokens, ignored if the term is linear. The result is below 2^32 for
// every term of a valid query.
__device__ __forceinline__ uint32_t bm25_contribution(const Bm25Term& term, uint32_t freq, uint32_t length) {
    float f = static_cast<float>(freq);
    float s = __fmul_rn(term.weight, f);
    if (!term.linear) {
        float k = __fadd_rn(term.c0, __fmul_rn(term.c1, static_cast<float>(length)));
        s = __fdiv_rn(s, __fadd_rn(f, k));
    }
    return __float2uint_rz(__fadd_rn(s, 0.5F));
}
