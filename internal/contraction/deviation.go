package contraction

import (
	"fmt"
	"math"
	"math/big"
)

// DefaultOrder of the central moment is Ao et al.'s to bound deviations.
const DefaultOrder = 22

// CentralMoment returns exactly E[(X - E(X))^r], X being the i-th smallest (1 <= i <= n) of n
// different numbers from 1..m, r even (Ao et al., Theorem E.3 with Lemma E.1):
//
//	E[(X)_j]      = (i)_j (m+1)_j / (n+1)_j
//	E[X^l]        = sum over j=0..l of E[(X)_j] (-1)^(l-j) S(l,j)
//	E[(X-E(X))^r] = sum over l=0..r of (-1)^(r-l) C(r,l) E[X^l] E(X)^(r-l)
//
// where (x)_j = x(x+1)...(x+j-1), S are Stirling numbers of the second kind, and E(X) =
// i(m+1)/(n+1).
func CentralMoment(i, n, m, r int) *big.Rat {
	rising := make([]*big.Rat, r+1) // E[(X)_j]
	rising[0] = big.NewRat(1, 1)
	for j := 1; j <= r; j++ {
		f := new(big.Rat).SetFrac(
			new(big.Int).Mul(big.NewInt(int64(i+j-1)), big.NewInt(int64(m+j))),
			big.NewInt(int64(n+j)))
		rising[j] = f.Mul(f, rising[j-1])
	}
	stirling := stirlingNumbers(r)
	mean := big.NewRat(int64(i)*int64(m+1), int64(n+1))
	sum := new(big.Rat)
	for l := 0; l <= r; l++ {
		moment := new(big.Rat) // E[X^l]
		for j := 0; j <= l; j++ {
			t := new(big.Rat).SetInt(stirling[l][j])
			moment.Add(moment, alternate(t.Mul(t, rising[j]), l-j))
		}
		t := new(big.Rat).SetInt(new(big.Int).Binomial(int64(r), int64(l)))
		t.Mul(t, moment)
		for range r - l {
			t.Mul(t, mean)
		}
		sum.Add(sum, alternate(t, r-l))
	}
	return sum
}

// (-1)^p * t, in t.
func alternate(t *big.Rat, p int) *big.Rat {
	if p%2 == 1 {
		return t.Neg(t)
	}
	return t
}

// Of the second kind, S(l, j) for j <= l <= r.
func stirlingNumbers(r int) [][]*big.Int {
	s := make([][]*big.Int, r+1)
	for l := range s {
		s[l] = make([]*big.Int, l+1)
		for j := range s[l] {
			s[l][j] = new(big.Int)
			switch {
			case l == j:
				s[l][j].SetInt64(1)
			case j > 0:
				s[l][j].Mul(big.NewInt(int64(j)), s[l-1][j])
				s[l][j].Add(s[l][j], s[l-1][j-1])
			}
		}
	}
	return s
}

// DeviationBound returns the least t such that Markov's inequality, with the central moment of
// order r, proves: an element of a random list of n out of 1..m deviates by t or more from its
// line with a probability below epsilon: (E[|X-E(X)|^r] / epsilon)^(1/r), at the middle of the
// list, where it is largest. (Ao et al., Appendix E: DefaultOrder, 1e-5.)
func DeviationBound(n, m, r int, epsilon float64) float64 {
	moment := CentralMoment((n+1)/2, n, m, r)
	return math.Exp((logOf(moment) - math.Log(epsilon)) / float64(r))
}

// DeviationBits returns ceil(log2(t) + 1) of DeviationBound, for deviations of either sign (Ao
// et al., Table 5).
func DeviationBits(n, m, r int, epsilon float64) int {
	return int(math.Ceil(DeviationLog2(n, m, r, epsilon) + 1))
}

// DeviationLog2 is DeviationBound's binary logarithm.
func DeviationLog2(n, m, r int, epsilon float64) float64 {
	return math.Log2(DeviationBound(n, m, r, epsilon))
}

// x > 0 may be far outside float64's range.
func logOf(x *big.Rat) float64 {
	if x.Sign() <= 0 {
		panic(fmt.Sprintf("contraction: logarithm of %s", x.FloatString(3)))
	}
	f := new(big.Float).SetPrec(200).SetRat(x)
	mantissa := new(big.Float)
	exponent := f.MantExp(mantissa)
	v, _ := mantissa.Float64()
	return math.Log(v) + float64(exponent)*math.Ln2
}
