package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/internal/contraction"
)

// RegressionList searches a list of a Regression codec without decoding it (Ao et al.,
// Algorithm 1, by one thread). It is a view of the list's bytes, not safe for concurrent use.
type RegressionList struct {
	view lrcView
	safe contraction.SafeRange
	seg  lrcSegment
	open int // the segment in seg, or -1

	// Heads counts segment heads or bucket table entries that Search has read, Elements decoded
	// DocIDs.
	Heads, Elements int64
}

// OpenRegressionList opens the n DocIDs at the start of list, without allocating.
func OpenRegressionList(c Regression, list []byte, n int) (RegressionList, error) {
	var l RegressionList
	err := l.Reset(c, list, n)
	return l, err
}

// Reset is OpenRegressionList in place.
func (l *RegressionList) Reset(c Regression, list []byte, n int) error {
	l.open, l.Heads, l.Elements = -1, 0, 0
	if err := l.view.open(c.Scheme, list, n); err != nil {
		return err
	}
	if c.Scheme == HSLRC {
		return nil
	}
	left, right := binary.LittleEndian.Uint32(list[16:]), binary.LittleEndian.Uint32(list[20:])
	l.safe = contraction.SafeRange{
		Line: contraction.Line{Slope: l.view.slope, Intercept: int64(int32(l.view.intercept))},
		Left: int(int32(left)), Right: int(int32(right)), Len: n,
	}
	return nil
}

// Len returns the number of DocIDs.
func (l *RegressionList) Len() int { return l.view.n }

// DocIDAt returns DocID i, in [0, Len).
func (l *RegressionList) DocIDAt(i int) (uint32, error) {
	v := &l.view
	if i < 0 || i >= v.n {
		return 0, fmt.Errorf("%s: DocID %d of %d: %w", schemeNames[v.scheme], i, v.n, ErrCorrupt)
	}
	// As DecodeBlock does.
	from := i &^ (BlockLen - 1)
	if v.scheme != HSLRC {
		from = max(from, i>>v.length<<v.length)
	}
	segment := v.find(from)
	begin, end := v.bounds(segment)
	for from < begin || i >= end { // hs-lrc: the block begins in an earlier bucket
		if begin > from || end < begin || segment+1 == v.segments {
			return 0, fmt.Errorf("%s: segment %d of DocIDs %d to %d: %w", schemeNames[v.scheme], segment, begin, end, ErrCorrupt)
		}
		segment++
		from = end
		begin, end = v.bounds(segment)
	}
	if err := l.load(segment, begin, end); err != nil {
		return 0, err
	}
	d := l.seg.at(i-begin, from-begin)
	if d == NoBase {
		return 0, fmt.Errorf("%s: DocID %d is %d: %w", schemeNames[v.scheme], i, d, ErrCorrupt)
	}
	return d, nil
}

// load opens segment i, which has DocIDs begin to end-1.
func (l *RegressionList) load(i, begin, end int) error {
	if l.open == i {
		return nil
	}
	l.open = -1
	if err := l.seg.open(&l.view, i, begin, end); err != nil {
		return err
	}
	l.open = i
	return nil
}

// Search returns the index and value of the first DocID at least x, or Len and NoBase. On a
// list that DecodeList rejects, it returns an error or arbitrary values.
//
// It finds the segment by hash, or by binary search of the segments' first DocIDs within the
// safe search range, then decodes single DocIDs by binary search. With SegLRC and HSLRC, the
// line and the width of the deviations narrow that search: a DocID lies between the line and
// 2^b-1 above it. (We differ: Ao et al. §5.3 store a safe search range with each segment
// instead.)
func (l *RegressionList) Search(x uint32) (int, uint32, error) {
	lo, hi := 0, l.view.n
	if l.view.scheme != HSLRC && l.safe.Left != noRange {
		lo, hi = l.safe.Range(x)
	}
	return l.SearchIn(lo, hi, x)
}

// SearchIn is Search if the result index is known to be in [lo, hi], 0 <= lo <= hi <= Len.
func (l *RegressionList) SearchIn(lo, hi int, x uint32) (int, uint32, error) {
	v := &l.view
	segment, lo := l.segment(lo, hi, x)
	if segment < 0 { // before the first DocID of the range
		return l.result(lo)
	}
	begin, end := v.bounds(segment)
	if begin == end {
		return l.result(end)
	}
	if err := l.load(segment, begin, end); err != nil {
		return 0, 0, err
	}
	hi = min(max(hi-begin, 0), end-begin)
	lo = min(max(lo-begin, 0), hi)
	if v.scheme >= SegLRC && v.list[v.widths+segment]&lrcWide == 0 {
		from, to := l.seg.around(int64(x) - int64(int32(l.seg.start>>32)))
		lo, hi = max(lo, min(from, hi)), min(hi, max(to, lo))
	}
	at, found := l.seg.search(lo, hi, x, &l.Elements)
	if at == end-begin {
		return l.result(end)
	}
	if at < hi { // already compared
		return begin + at, found, nil
	}
	return l.result(begin + at)
}

func (l *RegressionList) result(i int) (int, uint32, error) {
	if i >= l.view.n {
		return l.view.n, NoBase, nil
	}
	if v := &l.view; v.scheme != HSLRC && i&(1<<v.length-1) == 0 {
		l.Heads++
		return i, v.uint32(v.heads, i>>v.length), nil
	}
	l.Elements++
	d, err := l.DocIDAt(i)
	return i, d, err
}

// segment returns the segment that may hold x, and lo; or, if x's index, in [lo, hi], is
// already known, -1 and the index.
func (l *RegressionList) segment(lo, hi int, x uint32) (segment, from int) {
	v := &l.view
	if v.scheme == HSLRC {
		l.Heads += 2
		if h := int(x >> v.length); h < v.segments {
			return h, lo
		}
		return -1, v.n
	}
	if lo >= v.n {
		return -1, v.n
	}
	first, last := lo>>v.length, min(hi, v.n-1)>>v.length
	a, b := first-1, last // Invariant: heads[a] <= x, or a < first
	for a < b {
		mid := (a + b + 1) >> 1
		l.Heads++
		if v.uint32(v.heads, mid) > x {
			b = mid - 1
		} else {
			a = mid
		}
	}
	if a < first {
		return -1, first << v.length
	}
	return a, lo
}

// around returns the range [lo, hi] of indexes, by the line, of the segment's first
// DocID that is at least t above its intercept.
func (s *lrcSegment) around(t int64) (lo, hi int) {
	if t <= 0 {
		return 0, 0
	}
	// (hi-1)*slope < t<<32. Dividing by a value below slope cannot make the quotient too small.
	hi = s.n
	if q := t << 28 / int64(max(s.slope>>4, 1)); q < int64(s.n) {
		hi = int(q) + 1
	}
	// From lo on, even the largest deviation reaches t.
	if rest := t - (1<<s.totalWidth() - 1); rest > 0 {
		lo = int(min(rest<<28/int64(s.slope>>4+1), int64(hi)))
	}
	return lo, hi
}

// search returns the index and value of the first DocID in [lo, hi) that is at least x,
// or the index hi.
func (s *lrcSegment) search(lo, hi int, x uint32, elements *int64) (at int, found uint32) {
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		*elements++
		if d := s.at(mid, mid); d < x {
			lo = mid + 1
		} else {
			hi, found = mid, d
		}
	}
	return lo, found
}
