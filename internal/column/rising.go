package column

import "slices"

// rising is strictly rising numbers below limit, as gaps in blocks, with the least possible
// number of each block.
type rising struct {
	gaps, starts sequence
	limit        uint64
}

// newRising is for tables that a risingWriter wrote.
func newRising(data Data, gaps, starts, n, limit uint64) rising {
	blocks := (n + blockLen - 1) / blockLen
	return rising{
		gaps:   sequence{data: data, table: gaps, n: n, hi: int64(limit), strict: true},
		starts: sequence{data: data, table: starts, n: blocks, hi: int64(limit), strict: true},
		limit:  limit,
	}
}

type risingReader struct {
	r            *rising
	starts, gaps *reader
	block        int // in values; -1: none
	first        uint64
	values       []uint64
}

func newRisingReader(r *rising) *risingReader {
	return &risingReader{r: r, starts: newReader(&r.starts), gaps: newReader(&r.gaps), block: -1}
}

// start returns the least possible number of a block; limit after the last.
func (x *risingReader) start(block int) (uint64, error) {
	if block >= x.r.gaps.numBlocks() {
		return x.r.limit, nil
	}
	v, err := x.starts.at(uint64(block))
	return uint64(v), err
}

// load reads a block into first and values.
func (x *risingReader) load(block int) error {
	if block == x.block {
		return nil
	}
	x.block = -1
	first, err := x.start(block)
	if err != nil {
		return err
	}
	gaps, err := x.gaps.load(block)
	if err != nil {
		return err
	}
	x.values = x.values[:0]
	next := first
	for _, gap := range gaps {
		next += uint64(gap) + 1 // at most 128 limits: no overflow
		x.values = append(x.values, next-1)
	}
	if next > x.r.limit {
		return corrupt("block %d: number %d, the limit is %d", block, next-1, x.r.limit)
	}
	x.block, x.first = block, first
	return nil
}

// find returns the position of v, and whether it exists. It is fast for rising v.
func (x *risingReader) find(v uint64) (at uint64, found bool, err error) {
	if x.block < 0 || v < x.first || v > x.values[len(x.values)-1] {
		block, err := x.search(v)
		if err == nil && block >= 0 {
			err = x.load(block)
		}
		if err != nil || block < 0 {
			return 0, false, err
		}
	}
	i, found := slices.BinarySearch(x.values, v)
	return uint64(x.block)*blockLen + uint64(i), found, nil
}

// search returns the last block whose start is at most v, or -1.
func (x *risingReader) search(v uint64) (int, error) {
	n := x.r.gaps.numBlocks()
	low, high := 0, n // the first block that starts after v is in [low, high]
	if x.block >= 0 && v > x.first {
		low = x.block + 1
		for step := 1; low+step < n; step *= 2 {
			start, err := x.start(low + step)
			if err != nil {
				return 0, err
			}
			if start > v {
				high = low + step
				break
			}
			low += step
		}
	}
	for low < high {
		middle := int(uint(low+high) / 2)
		start, err := x.start(middle)
		if err != nil {
			return 0, err
		}
		if start > v {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low - 1, nil
}

// risingWriter holds 8 bytes a block in memory.
type risingWriter struct {
	gaps   sequenceWriter
	starts []int64
	next   uint64 // one past the last number
	n      uint64
}

func (w *risingWriter) add(v uint64) error {
	if w.n%blockLen == 0 {
		w.starts = append(w.starts, int64(w.next))
	}
	gap := int64(v - w.next)
	w.next = v + 1
	w.n++
	return w.gaps.add(gap)
}

func (w *risingWriter) finish() (gaps, starts uint64, err error) {
	if gaps, err = w.gaps.finish(); err != nil {
		return 0, 0, err
	}
	s := sequenceWriter{out: w.gaps.out}
	for _, v := range w.starts {
		if err := s.add(v); err != nil {
			return 0, 0, err
		}
	}
	starts, err = s.finish()
	return gaps, starts, err
}
