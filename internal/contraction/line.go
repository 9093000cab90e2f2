package contraction

import "math/bits"

// Line is f(i) = Intercept + i*Slope/2^32.
type Line struct {
	Slope     uint64 // in units of 2^-32
	Intercept int64  // in (-2^34, 2^34)
}

// The least slope through strictly increasing integers: 1.
const minSlope = 1 << 32

// Fit returns the least-squares line through (i, seq[i]), seq strictly increasing, with rounded
// coefficients of exact sums: the same on every machine. One element's line has slope 1.
//
// With u = 2i-(n-1), the slope is 2*sum(u*d) / sum(u*u), and sum(u*u) is n(n*n-1)/3. For 3, 5,
// 10: u is -2, 0, 2; the slope 2*14/8 = 3.5 (tested).
func Fit(seq []uint32) Line {
	n := uint64(len(seq))
	if n < 2 {
		l := Line{Slope: minSlope}
		if n == 1 {
			l.Intercept = int64(seq[0])
		}
		return l
	}
	// i*d with 128 bits, d with 64.
	var hi, lo, sum uint64
	for i, d := range seq {
		h, l := bits.Mul64(uint64(i), uint64(d))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi += h + carry
		sum += uint64(d)
	}
	// sum(u*d) = 2*sum(i*d) - (n-1)*sum(d) >= 0, because seq increases.
	hi, lo = hi<<1|lo>>63, lo<<1
	h, l := bits.Mul64(n-1, sum)
	lo, borrow := bits.Sub64(lo, l, 0)
	hi -= h + borrow
	num := float64(float64(hi)*0x1p64) + float64(lo)
	nf := float64(n)
	den := float64(nf*float64(float64(nf*nf)-1)) / 3
	slope := float64(2*num) / den
	scaled := float64(slope * 0x1p32)
	line := Line{Slope: minSlope}
	if scaled >= 0x1.fffffffffffffp63 {
		line.Slope = 1<<64 - 1
	} else if scaled > minSlope {
		line.Slope = uint64(scaled)
	}
	mean := float64(sum) / nf
	line.Intercept = int64(mean - float64(slope*float64(float64(nf-1)/2)))
	return line
}

// At returns floor(f(i)) for i >= 0 and i*Slope below 2^64.
func (l Line) At(i int) int64 { return l.Intercept + int64(l.Slope*uint64(i)>>32) }

// Position returns, by one division, approximately the i at which the line reaches x, possibly
// outside the sequence. It never decreases as x increases.
func (l Line) Position(x uint32) int {
	return int((int64(x) - l.Intercept) << 28 / int64(max(l.Slope>>4, 1)))
}
