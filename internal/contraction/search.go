package contraction

// Binary returns the first position in [lo, hi) whose element is at least x, or hi. seq
// increases, and 0 <= lo <= hi <= len(seq). A step costs one comparison and one memory access.
func Binary(seq []uint32, lo, hi int, x uint32) int {
	seq = seq[:hi]
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if seq[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Interpolate returns the first position of strictly increasing seq whose element is at least
// x, or len(seq). Each step compares x with the element at its position under uniform spacing:
// O(log log n) steps on uniform sequences, at worst O(n).
//
// Perl, Itai and Avni, "Interpolation search", CACM 21(7), 1978.
func Interpolate(seq []uint32, x uint32) int {
	if len(seq) == 0 || x <= seq[0] {
		return 0
	}
	lo, hi := 0, len(seq)-1
	if x > seq[hi] {
		return len(seq)
	}
	// Invariant: seq[lo] < x <= seq[hi].
	first, last := seq[lo], seq[hi]
	for hi-lo > 1 {
		mid := Interpolation(lo, hi, first, last, x)
		if d := seq[mid]; d < x {
			lo, first = mid, d
		} else {
			hi, last = mid, d
		}
	}
	return hi
}

// Interpolation is a step of Interpolate: the position strictly between lo and hi, hi-lo > 1,
// at which x lies on the line from (lo, first) to (hi, last), first < x <= last.
func Interpolation(lo, hi int, first, last, x uint32) int {
	at := lo + int(uint64(x-first)*uint64(hi-lo)/uint64(last-first))
	return max(lo+1, min(at, hi-1))
}
