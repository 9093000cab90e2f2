package contraction

// localRange divides a sequence into equal segments with a SafeRange each. After a binary
// search over segments' first elements, ranges are narrower (Ao et al. §4.3, "local safe
// range"). Only the tests and BenchmarkSearch compare it.
type localRange struct {
	heads    []uint32 // first elements of the segments
	segments []SafeRange
	size     int // of a segment
}

// newLocalRange divides seq into g >= 1 segments, or one per element if there are fewer.
func newLocalRange(seq []uint32, g int) *localRange {
	r := &localRange{size: max(1, (len(seq)+g-1)/g)}
	for at := 0; at < len(seq); at += r.size {
		part := seq[at:min(at+r.size, len(seq))]
		r.heads = append(r.heads, part[0])
		r.segments = append(r.segments, NewSafeRange(part))
	}
	return r
}

// Range is like SafeRange.Range.
func (r *localRange) Range(x uint32) (lo, hi int) {
	// The last segment whose first element is not above x.
	s := Binary(r.heads, 0, len(r.heads), x)
	if s == len(r.heads) || r.heads[s] != x {
		if s--; s < 0 {
			return 0, 0
		}
	}
	lo, hi = r.segments[s].Range(x)
	return s*r.size + lo, s*r.size + hi
}
