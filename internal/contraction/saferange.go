package contraction

// SafeRange is a line through a sequence and a range around it that contains every element:
// if seq[i] is x, then i is in [p-Left, p+Right], where p is the line's Position of x.
type SafeRange struct {
	Line
	// Left and Right are the maximum deviations in positions: of the line's position to the
	// right of the element, and to the left. One of them may be negative; their sum is not.
	Left, Right int
	// Len is the length of the sequence.
	Len int
}

// NewSafeRange returns the range of a sequence around its least-squares line. It reads the
// sequence twice.
func NewSafeRange(seq []uint32) SafeRange { return Around(Fit(seq), seq) }

// Around returns the range of a sequence around an arbitrary line. It is empty for an empty
// sequence.
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

// Range returns lo <= hi such that the first position whose element is at least x is in
// [lo, hi], where Len means none: search with Binary(seq, lo, hi, x).
//
// This holds because Position never decreases. The element at the result is at least x, so
// it lies at most Left to the left of the line's position of x. The element before is less
// than x, so it lies at most Right to the right.
//
// (Ao et al. §4.3 define the range for an x that is an element; it is then in [lo, hi).)
func (r *SafeRange) Range(x uint32) (lo, hi int) {
	p := r.Position(x)
	lo = max(min(p-r.Left, r.Len), 0)
	hi = max(min(p+r.Right+1, r.Len), lo)
	return lo, hi
}

// Contraction returns the contraction ratio: the length of the remaining range divided by
// the length of the sequence (Ao et al., Table 1).
func (r *SafeRange) Contraction() float64 {
	if r.Len == 0 {
		return 0
	}
	return float64(r.Left+r.Right) / float64(r.Len)
}

// LocalRange divides a sequence into segments of equal length with one SafeRange each. The
// ranges are narrower, but a binary search over the segments' first elements comes first
// (Ao et al. §4.3, "local safe range").
type LocalRange struct {
	Heads    []uint32 // first elements of the segments
	segments []SafeRange
	size     int // of a segment
}

// NewLocalRange divides seq into g segments, at least 1, or fewer if there are fewer
// elements.
func NewLocalRange(seq []uint32, g int) *LocalRange {
	r := &LocalRange{size: max(1, (len(seq)+g-1)/g)}
	for at := 0; at < len(seq); at += r.size {
		part := seq[at:min(at+r.size, len(seq))]
		r.Heads = append(r.Heads, part[0])
		r.segments = append(r.segments, NewSafeRange(part))
	}
	return r
}

// Range is like SafeRange.Range.
func (r *LocalRange) Range(x uint32) (lo, hi int) {
	// Find the last segment whose first element is not above x.
	s := Binary(r.Heads, 0, len(r.Heads), x)
	if s == len(r.Heads) || r.Heads[s] != x {
		if s--; s < 0 {
			return 0, 0
		}
	}
	lo, hi = r.segments[s].Range(x)
	return s*r.size + lo, s*r.size + hi
}

// SizeBytes returns the approximate memory of the structure.
func (r *LocalRange) SizeBytes() int64 { return int64(len(r.Heads)) * (4 + 40) }
