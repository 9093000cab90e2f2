package contraction

// Count is the cost of searches.
type Count struct {
	Searches    int64
	Comparisons int64 // of the value searched with an element or with a boundary
	Accesses    int64 // to elements, tables and segment heads in memory
}

// searcher is a kind of search.
type searcher uint8

// The searches.
const (
	binarySearch searcher = iota
	interpolationSearch
	linearRegression
	localRegression
	hashSegmentation
)

// counted counts the cost of searches of one sequence, with equal results, but slower. Set the
// searcher's field: Safe, local, or Buckets.
type counted struct {
	Seq     []uint32
	Safe    SafeRange
	local   *localRange
	Buckets *Buckets
	Count
}

// search returns the first position whose element is at least x.
func (c *counted) search(s searcher, x uint32) int {
	c.Searches++
	switch s {
	case interpolationSearch:
		return c.interpolate(x)
	case linearRegression:
		lo, hi := c.Safe.Range(x)
		return c.binary(c.Seq, lo, hi, x)
	case localRegression:
		c.binary(c.local.heads, 0, len(c.local.heads), x)
		c.Accesses++ // the segment's line
		lo, hi := c.local.Range(x)
		return c.binary(c.Seq, lo, hi, x)
	case hashSegmentation:
		lo, hi := c.Buckets.Range(x)
		c.Comparisons++ // with the last bucket
		if lo < c.Buckets.Len {
			c.Accesses += 2 // Starts
		}
		return c.binary(c.Seq, lo, hi, x)
	}
	return c.binary(c.Seq, 0, len(c.Seq), x)
}

func (c *counted) binary(seq []uint32, lo, hi int, x uint32) int {
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
func (c *counted) interpolate(x uint32) int {
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
