package collection

// Linear says how near to a line the DocIDs of a list are, as a function of their
// place in it.
type Linear struct {
	// Ratio is the contraction ratio (L + R) / n: the part of the list that a
	// search must look at if it starts from the regression line. R2 is the coefficient
	// of determination.
	Ratio, R2 float64
}

// Linearity fits a line to a list of at least 2 DocIDs, by least squares: docIDs[i-1]
// over i = 1, 2, …, and measures the greatest deviations to the left and to the
// right (Ao et al., PVLDB 4(8), 2011, §4.3). A list of 2 is a line: 0 and 1.
func Linearity(docIDs []uint32) Linear {
	n := float64(len(docIDs))
	meanX := (n + 1) / 2
	sum := 0.0
	for _, d := range docIDs {
		sum += float64(d)
	}
	meanY := sum / n
	var xx, xy, yy float64
	for i, d := range docIDs {
		x, y := float64(i+1)-meanX, float64(d)-meanY
		xx += x * x
		xy += x * y
		yy += y * y
	}
	alpha := xy / xx
	var left, right float64
	for i, d := range docIDs {
		deviation := (float64(d)-meanY)/alpha + meanX - float64(i+1)
		left = max(left, deviation)
		right = max(right, -deviation)
	}
	return Linear{Ratio: (left + right) / n, R2: xy * xy / (xx * yy)}
}
