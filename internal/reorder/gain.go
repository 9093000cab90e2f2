package reorder

import "math"

// Most degrees in a node are small.
var logTable = func() (t [4096]float32) {
	for i := 1; i < len(t); i++ {
		t[i] = float32(math.Log2(float64(i)))
	}
	return t
}()

func log2(n uint32) float32 {
	if n < uint32(len(logTable)) {
		return logTable[n]
	}
	return float32(math.Log2(float64(n)))
}

// cost estimates the bits of a term's gaps in one half of a node, deg documents of n (KDD 2016,
// §3.1):
//
//	cost(deg, n) = deg * log2(n / (deg+1))
//
// Worked number: 3 of 16 documents cost 3 * log2(16/4) = 6 bits (tested).
func cost(deg uint32, logN float32) float32 {
	return float32(float32(deg) * (logN - log2(deg+1))) // the conversion prevents a fused operation
}

// Bits saved by moving a document with a term from the left half to the right, and the reverse.
type gains struct {
	toRight, toLeft float32
}

// Degrees and logarithms of the halves' sizes. A move from a half without the term has gain 0;
// no document uses it.
func termGains(left, right uint32, logLeft, logRight float32) (g gains) {
	now := cost(left, logLeft) + cost(right, logRight)
	if left > 0 {
		g.toRight = now - cost(left-1, logLeft) - cost(right+1, logRight)
	}
	if right > 0 {
		g.toLeft = now - cost(left+1, logLeft) - cost(right-1, logRight)
	}
	return g
}

// sortable maps a float, except NaN, to an integer of the same order.
func sortable(f float32) uint32 {
	bits := math.Float32bits(f)
	if bits>>31 != 0 {
		return ^bits
	}
	return bits | 1<<31
}
