package contraction

// SafeRange is a line and a range around it with every element: if seq[i] is x, i is in
// [p-Left, p+Right], p being the line's Position of x.
type SafeRange struct {
	Line
	// Left and Right are the line's maximum deviations in positions, to the right of the
	// element and to the left. One may be negative; their sum is not.
	Left, Right int
	// Len is the sequence's length.
	Len int
}

// NewSafeRange uses the least-squares line, reading the sequence twice.
func NewSafeRange(seq []uint32) SafeRange { return Around(Fit(seq), seq) }

// Around uses any line. The range of an empty sequence is empty.
func Around(l Line, seq []uint32) SafeRange {
	r := SafeRange{Line: l, Len: len(seq)}
	for i, d := range seq {
		off := l.Position(d) - i
		if i == 0 {
			r.Left, r.Right = off, -off
			continue
		}
		r.Left, r.Right = max(r.Left, off), max(r.Right, -off)
	}
	return r
}

// Range returns lo <= hi with the first position whose element is at least x in [lo, hi]; Len
// means none. Search with Binary(seq, lo, hi, x).
//
// Position never decreases, so the element at the result, at least x, lies at most Left to the
// left of the line's position of x; the one before, less than x, at most Right to the right.
//
// (Ao et al. §4.3: for an element x, it is in [lo, hi).)
func (r *SafeRange) Range(x uint32) (lo, hi int) {
	p := r.Position(x)
	lo = max(min(p-r.Left, r.Len), 0)
	hi = max(min(p+r.Right+1, r.Len), lo)
	return lo, hi
}

// Contraction is the range's share of the sequence (Ao et al., Table 1).
func (r *SafeRange) Contraction() float64 {
	if r.Len == 0 {
		return 0
	}
	return float64(r.Left+r.Right) / float64(r.Len)
}
