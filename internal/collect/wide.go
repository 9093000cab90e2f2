package collect

import (
	"math"
	"math/big"
	"math/bits"
)

// wide is an integer of 128 bits.
type wide struct {
	hi int64
	lo uint64
}

func (w *wide) add(v int64) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, uint64(v), 0)
	w.hi += v>>63 + int64(carry)
}

// clamped is the nearest int64.
func (w *wide) clamped() int64 {
	switch {
	case w.hi == int64(w.lo)>>63:
		return int64(w.lo)
	case w.hi < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// mean divides by n and rounds to the nearest, halves up.
func (w *wide) mean(n int) int64 {
	if w.hi == int64(w.lo)>>63 && int64(w.lo) > math.MinInt64/4 && int64(w.lo) < math.MaxInt64/4 {
		v, d := 2*int64(w.lo)+int64(n), 2*int64(n)
		q := v / d
		if v%d < 0 {
			q--
		}
		return q
	}
	v := new(big.Int).Lsh(big.NewInt(w.hi), 64)
	v.Add(v, new(big.Int).SetUint64(w.lo))
	v.Add(v.Lsh(v, 1), big.NewInt(int64(n)))
	return v.Div(v, big.NewInt(2*int64(n))).Int64() // Div rounds down for a positive divisor
}
