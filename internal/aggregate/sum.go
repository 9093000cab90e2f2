package aggregate

import (
	"math"
	"math/big"
	"math/bits"
)

// exactSum adds floating-point numbers without error, so that the sum, rounded once, does not depend on
// their order. It is the small superaccumulator of R. M. Neal, "Fast exact summation using small and large
// superaccumulators", arXiv:1505.05571, 2015, section 3: digits of 32 bits in words of 64, whose carries
// are propagated before they overflow. We differ: only digits in use are stored.
type exactSum struct {
	digits []int64 // digits[i] counts 2^(32*(low+i) - bias)
	low    int
	adds   int // since carries were propagated
	// Infinities and NaN, which have no digits.
	special    float64
	hasSpecial bool
}

const (
	sumBias = 1074    // 2^-1074 is the least number
	maxAdds = 1 << 30 // each adds less than 2^32 to a digit, after a carry of less than 2^32
)

func (s *exactSum) add(f float64) {
	b := math.Float64bits(f)
	exponent := int(b >> 52 & 0x7ff)
	mantissa := b & (1<<52 - 1)
	switch exponent {
	case 0x7ff:
		s.special, s.hasSpecial = s.special+f, true
		return
	case 0:
		if mantissa == 0 {
			return
		}
	default:
		mantissa |= 1 << 52
		exponent--
	}
	// The number is mantissa * 2^(exponent - sumBias).
	s.addShifted(mantissa, exponent, b>>63 != 0)
}

// addShifted adds m * 2^(shift - sumBias).
func (s *exactSum) addShifted(m uint64, shift int, negative bool) {
	at, by := shift/32, uint(shift%32)
	hi, lo := bits.Mul64(m, 1<<by)
	parts := [3]int64{int64(lo & math.MaxUint32), int64(lo >> 32), int64(hi)}
	if at < s.low || at+len(parts) > s.low+len(s.digits) {
		s.reserve(at, at+len(parts))
	}
	d := s.digits[at-s.low:][:len(parts)]
	if negative {
		d[0], d[1], d[2] = d[0]-parts[0], d[1]-parts[1], d[2]-parts[2]
	} else {
		d[0], d[1], d[2] = d[0]+parts[0], d[1]+parts[1], d[2]+parts[2]
	}
	if s.adds++; s.adds == maxAdds {
		s.propagate()
	}
}

// reserve makes room for digits from the first to before the last.
func (s *exactSum) reserve(from, to int) {
	if len(s.digits) == 0 {
		s.low = from
	}
	if from < s.low {
		s.digits = append(make([]int64, s.low-from, s.low-from+len(s.digits)), s.digits...)
		s.low = from
	}
	if n := to - s.low; n > len(s.digits) {
		s.digits = append(s.digits, make([]int64, n-len(s.digits))...)
	}
}

func (s *exactSum) propagate() {
	s.adds = 0
	s.reserve(s.low, s.low+len(s.digits)+1)
	for i := range len(s.digits) - 1 {
		carry := s.digits[i] >> 32
		s.digits[i] -= carry << 32
		s.digits[i+1] += carry
	}
}

// value is the sum, rounded to the nearest number.
func (s *exactSum) value() float64 {
	if s.hasSpecial {
		return s.special
	}
	total := new(big.Int)
	for i := len(s.digits) - 1; i >= 0; i-- {
		total.Add(total.Lsh(total, 32), big.NewInt(s.digits[i]))
	}
	if total.Sign() == 0 {
		return 0
	}
	f := new(big.Float).SetPrec(uint(max(total.BitLen(), 64))).SetInt(total)
	f.SetMantExp(f, 32*s.low-sumBias)
	v, _ := f.Float64()
	return v
}

// sumOf is a sum of values of a field.
type sumOf struct {
	exact exactSum
	// Integers, in 128 bits.
	hi int64
	lo uint64
}

func (s *sumOf) addInteger(v int64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, uint64(v), 0)
	s.hi += v>>63 + int64(carry)
}

func (s *sumOf) addFloat(f float64) { s.exact.add(f) }

func (s *sumOf) value() float64 {
	if s.hi == 0 && s.lo == 0 {
		return s.exact.value()
	}
	total := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	total.Add(total, new(big.Int).SetUint64(s.lo))
	f, _ := new(big.Float).SetInt(total).Float64()
	return f
}
