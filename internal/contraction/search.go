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

// Count is the cost of searches.
type Count struct {
	Searches    int64
	Comparisons int64 // of the value searched with an element or with a boundary
	Accesses    int64 // to elements, tables and segment heads in memory
}

// Searcher is a kind of search.
type Searcher uint8

// The searches.
const (
	BinarySearch Searcher = iota
	InterpolationSearch
	LinearRegression
	LocalLinearRegression
	HashSegmentation
)

// Counted counts the cost of searches of one sequence, with equal results, but slower. Set the
// Searcher's field: Safe, Local, or Buckets.
type Counted struct {
	Seq     []uint32
	Safe    SafeRange
	Local   *LocalRange
	Buckets *Buckets
	Count
}

// Search returns the first position whose element is at least x.
func (c *Counted) Search(s Searcher, x uint32) int {
	c.Searches++
	switch s {
	case InterpolationSearch:
		return c.interpolate(x)
	case LinearRegression:
		lo, hi := c.Safe.Range(x)
		return c.binary(c.Seq, lo, hi, x)
	case LocalLinearRegression:
		c.binary(c.Local.Heads, 0, len(c.Local.Heads), x)
		c.Accesses++ // the segment's line
		lo, hi := c.Local.Range(x)
		return c.binary(c.Seq, lo, hi, x)
	case HashSegmentation:
		lo, hi := c.Buckets.Range(x)
		c.Comparisons++ // with the last bucket
		if lo < c.Buckets.Len {
			c.Accesses += 2 // Starts
		}
		return c.binary(c.Seq, lo, hi, x)
	}
	return c.binary(c.Seq, 0, len(c.Seq), x)
}

func (c *Counted) binary(seq []uint32, lo, hi int, x uint32) int {
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		c.Comparisons++
		c.Accesses++
		if seq[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// As Ao et al. §4.3: a step reads both ends of the range and the element between.
func (c *Counted) interpolate(x uint32) int {
	seq := c.Seq
	c.Comparisons++
	c.Accesses++
	if len(seq) == 0 || x <= seq[0] {
		return 0
	}
	lo, hi := 0, len(seq)-1
	c.Comparisons++
	c.Accesses++
	if x > seq[hi] {
		return len(seq)
	}
	for hi-lo > 1 {
		mid := Interpolation(lo, hi, seq[lo], seq[hi], x)
		c.Comparisons++
		c.Accesses += 3
		if seq[mid] < x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
