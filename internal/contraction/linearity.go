package contraction

// Linearity measures how linear a sequence is (Ao et al., Table 1).
type Linearity struct {
	Contraction float64 // (L+R)/n, SafeRange.Contraction
	R2          float64 // coefficient of determination of (i, seq[i]); 1 on a line
}

// Measure returns a strictly increasing sequence's linearity. Up to two elements are linear.
func Measure(seq []uint32) Linearity {
	r := NewSafeRange(seq)
	return Linearity{Contraction: r.Contraction(), R2: determination(seq)}
}

// The square of the correlation of i and seq[i].
func determination(seq []uint32) float64 {
	if len(seq) < 3 {
		return 1
	}
	n := float64(len(seq))
	var mean float64
	for i, d := range seq {
		mean += (float64(d) - mean) / float64(i+1)
	}
	middle := (n - 1) / 2
	var xx, xy, yy float64
	for i, d := range seq {
		x, y := float64(i)-middle, float64(d)-mean
		xx += x * x
		xy += x * y
		yy += y * y
	}
	return xy * xy / (xx * yy)
}
