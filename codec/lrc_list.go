package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/contraction"
)

// lrcView is a list of a Regression codec. Numbers are little endian, of 4 bytes unless stated
// otherwise; S is the number of segments.
//
// Schemes with segments of equal length:
//
//	 0      4      5      6     8       12        16     20      24
//	+------+------+------+-----+-------+---------+------+-------+-------
//	| size |length|scheme| 0 0 | slope |intercept| left | right | tables
//	+------+------+------+-----+-------+---------+------+-------+-------
//
//	heads     u32 x S  first DocIDs of the segments: H of Algorithm 1
//	offsets   u32 x S  of the deviations, from the end of the tables
//	cuts      u32 x S  intercepts of the segments; not in lrc
//	slopes    u32 x S  of the segments' lines; in seglrc only
//	widths    u8 x S   b, with the flags lrcExceptions and lrcWide
//	deviations
//
// size is the list's, in bytes; length is the segment length's binary logarithm; slope and
// intercept are the list's least-squares line. left and right are its safe search range
// (contraction.SafeRange), both 2^31-1 if they do not fit. In lrc, the intercept includes the
// list's least deviation; elsewhere cuts holds each segment's.
//
// hs-lrc:
//
//	 0      4     5      6     8      12
//	+------+-----+------+-----+------+-------
//	| size |shift|scheme| 0 0 |  S   | tables
//	+------+-----+------+-----+------+-------
//
//	starts    u32 x (S+1)  indexes of the buckets' first DocIDs, and n
//	offsets, cuts, slopes, widths, deviations: as in seglrc
//
// DocID d is in bucket d >> shift.
type lrcView struct {
	list     []byte // exactly the encoded list
	n        int    // number of DocIDs
	segments int
	scheme   Scheme
	length   uint8 // or shift
	data     int   // offset of the deviations

	slope     uint64 // of the list; unused in hs-lrc
	intercept uint32

	// Offsets of the tables; heads is starts in hs-lrc.
	heads, offsets, cuts, slopes, widths int
}

const (
	lrcHeader = 24
	hsHeader  = 12
	// For a list without a safe range.
	noRange = math.MaxInt32
)

var tableBytes = [numSchemes]int{LRC: 9, LRCSeg: 13, SegLRC: 17, HSLRC: 17}

func (v *lrcView) uint32(at, i int) uint32 { return binary.LittleEndian.Uint32(v.list[at+4*i:]) }

func (v *lrcView) open(s Scheme, list []byte, n int) error {
	header := lrcHeader
	if s == HSLRC {
		header = hsHeader
	}
	if n < 1 || len(list) < header {
		return fmt.Errorf("%s: list of %d in %d bytes: %w", schemeNames[s], n, len(list), ErrCorrupt)
	}
	size := uint64(binary.LittleEndian.Uint32(list))
	v.scheme, v.length, v.n = s, list[4], n
	if Scheme(list[5]) != s || size > uint64(len(list)) || size < uint64(header) || v.length > maxWidth {
		return fmt.Errorf("%s: list of scheme %d, length %d, in %d of %d bytes: %w", schemeNames[s], list[5], v.length, size, len(list), ErrCorrupt)
	}
	v.list = list[:size:size]
	starts := 0
	if s == HSLRC {
		v.segments, starts = int(binary.LittleEndian.Uint32(list[8:])), 1
	} else {
		v.segments = (n-1)>>v.length + 1
		v.slope, v.intercept = unpackSlope(binary.LittleEndian.Uint32(list[8:])), binary.LittleEndian.Uint32(list[12:])
	}
	if v.segments < 1 || v.segments > len(v.list)/tableBytes[s] || header+4*starts+v.segments*tableBytes[s] > len(v.list) {
		return fmt.Errorf("%s: %d segments in %d bytes: %w", schemeNames[s], v.segments, size, ErrCorrupt)
	}
	v.heads = header
	if s == HSLRC && uint64(v.uint32(v.heads, v.segments)) != uint64(n) {
		return fmt.Errorf("%s: list of %d, not %d: %w", schemeNames[s], v.uint32(v.heads, v.segments), n, ErrCorrupt)
	}
	v.offsets = v.heads + 4*(v.segments+starts)
	v.cuts = v.offsets + 4*v.segments
	v.slopes, v.widths = v.cuts, v.cuts
	if s != LRC {
		v.slopes += 4 * v.segments
		v.widths = v.slopes
	}
	if s >= SegLRC {
		v.widths += 4 * v.segments
	}
	v.data = v.widths + v.segments
	return nil
}

// bounds returns the indexes of segment i's first DocID and of the next segment's.
func (v *lrcView) bounds(i int) (from, to int) {
	if v.scheme == HSLRC {
		return int(v.uint32(v.heads, i)), int(v.uint32(v.heads, i+1))
	}
	return i << v.length, min((i+1)<<v.length, v.n)
}

func (v *lrcView) find(i int) int {
	if v.scheme != HSLRC {
		return i >> v.length
	}
	lo, hi := 0, v.segments-1
	for lo < hi {
		if mid := int(uint(lo+hi+1) / 2); int(v.uint32(v.heads, mid)) > i {
			hi = mid - 1
		} else {
			lo = mid
		}
	}
	return lo
}

// open makes s segment i of v, which has DocIDs from to to-1.
func (s *lrcSegment) open(v *lrcView, i, from, to int) error {
	if from > to || to > v.n {
		return fmt.Errorf("%s: segment %d: DocIDs %d to %d of %d: %w", schemeNames[v.scheme], i, from, to, v.n, ErrCorrupt)
	}
	s.n = to - from
	switch v.scheme {
	case LRC:
		s.slope, s.start = v.slope, uint64(v.intercept)<<32+uint64(from)*v.slope
	case LRCSeg:
		s.slope, s.start = v.slope, uint64(v.uint32(v.cuts, i))<<32+uint64(from)*v.slope
	default:
		s.slope, s.start = unpackSlope(v.uint32(v.slopes, i)), uint64(v.uint32(v.cuts, i))<<32
	}
	offset := v.data + int(v.uint32(v.offsets, i))
	if offset > len(v.list) {
		return fmt.Errorf("%s: segment %d at %d of %d bytes: %w", schemeNames[v.scheme], i, offset, len(v.list), ErrCorrupt)
	}
	if err := s.openDeviations(v.list[offset:], v.list[v.widths+i]); err != nil {
		return fmt.Errorf("%s: segment %d: %w", schemeNames[v.scheme], i, err)
	}
	return nil
}

// decode decodes DocIDs from to from+len(dst)-1.
func (v *lrcView) decode(dst []uint32, from int) error {
	var s lrcSegment
	last := int64(-1)
	for i, at := v.find(from), 0; at < len(dst); i++ {
		if i >= v.segments {
			return fmt.Errorf("%s: %d segments end at DocID %d of %d: %w", schemeNames[v.scheme], v.segments, from+at, v.n, ErrCorrupt)
		}
		begin, end := v.bounds(i)
		if begin > from+at || at > 0 && begin < from+at {
			return fmt.Errorf("%s: segment %d begins at DocID %d, not at %d: %w", schemeNames[v.scheme], i, begin, from+at, ErrCorrupt)
		}
		if end <= from+at {
			if end < begin || at == 0 {
				return fmt.Errorf("%s: segment %d of DocIDs %d to %d: %w", schemeNames[v.scheme], i, begin, end, ErrCorrupt)
			}
			continue
		}
		err := s.open(v, i, begin, end)
		if err == nil {
			to := min(end-from, len(dst))
			last, err = s.decode(dst[at:to], from+at-begin, last)
			if err == nil && v.scheme != HSLRC && begin == from+at && dst[at] != v.uint32(v.heads, i) {
				err = fmt.Errorf("begins at DocID %d, but its head is %d: %w", dst[at], v.uint32(v.heads, i), ErrCorrupt)
			}
			at = to
		}
		if err != nil {
			return fmt.Errorf("%s: segment %d: %w", schemeNames[v.scheme], i, err)
		}
	}
	return nil
}

// ListSize implements ListCodec.
func (c Regression) ListSize(list []byte, n int) (int, error) {
	var v lrcView
	if err := v.open(c.Scheme, list, n); err != nil {
		return 0, err
	}
	return len(v.list), nil
}

// DecodeList implements ListCodec.
func (c Regression) DecodeList(dst []uint32, list []byte) error {
	var v lrcView
	if err := v.open(c.Scheme, list, len(dst)); err != nil {
		return err
	}
	if err := v.checkStarts(); err != nil {
		return err
	}
	return v.decode(dst[:len(dst):len(dst)], 0)
}

// checkStarts returns an error unless the starts of hs-lrc increase to n; only then do
// all ways to find a DocID's bucket agree.
func (v *lrcView) checkStarts() error {
	if v.scheme != HSLRC {
		return nil
	}
	last := uint32(0)
	for i := range v.segments + 1 {
		start := v.uint32(v.heads, i)
		if start < last || i == v.segments && int(start) != v.n {
			return fmt.Errorf("hs-lrc: bucket %d of %d begins at DocID %d of %d, after %d: %w", i, v.segments, start, v.n, last, ErrCorrupt)
		}
		last = start
	}
	return nil
}

// DecodeBlock implements ListCodec.
func (c Regression) DecodeBlock(dst *[BlockLen]uint32, list []byte, n, i int) (int, error) {
	var v lrcView
	if err := v.open(c.Scheme, list, n); err != nil {
		return 0, err
	}
	if i < 0 || i > (n-1)/BlockLen {
		return 0, fmt.Errorf("%s: block %d of a list of %d: %w", c.name(), i, n, ErrCorrupt)
	}
	from := i * BlockLen
	k := min(BlockLen, n-from)
	return k, v.decode(dst[:k], from)
}

// DocIDAt implements ListCodec.
func (c Regression) DocIDAt(list []byte, n, i int) (uint32, error) {
	l, err := OpenRegressionList(c, list, n)
	if err != nil {
		return 0, err
	}
	return l.DocIDAt(i)
}

// AppendList implements ListCodec.
func (c Regression) AppendList(dst []byte, docIDs []uint32) []byte {
	e := lrcEncoder{scheme: c.Scheme, share: c.Exceptions.or(NoExceptions, MaxExceptions), begin: len(dst), n: len(docIDs)}
	if c.Scheme == HSLRC {
		e.buckets = contraction.NewBuckets(docIDs, uint64(docIDs[len(docIDs)-1])+1, c.segmentLen())
		e.segments, e.length = len(e.buckets.Starts)-1, e.buckets.Shift
	} else {
		e.length = uint8(bits.TrailingZeros(uint(c.segmentLen())))
		e.segments = (len(docIDs)-1)>>e.length + 1
	}
	return e.encode(dst, docIDs)
}

type lrcEncoder struct {
	scheme   Scheme
	length   uint8 // or shift
	share    Share
	begin    int // start of the list in the output
	n        int
	segments int
	buckets  *contraction.Buckets // hs-lrc only

	slope                        uint64 // of the list
	deviations                   []uint32
	heads, offsets, cuts, slopes []uint32
	widths                       []byte
}

func (e *lrcEncoder) encode(dst []byte, docIDs []uint32) []byte {
	var intercept int64
	if e.scheme == HSLRC {
		e.heads = e.buckets.Starts
	} else {
		line := contraction.Fit(docIDs)
		packed := packSlope(line.Slope)
		e.slope, intercept = unpackSlope(packed), line.Intercept
		if e.scheme == LRC {
			intercept, _ = e.least(docIDs, 0, e.slope)
		}
		line = contraction.Line{Slope: e.slope, Intercept: int64(int32(intercept))}
		safe := contraction.Around(line, docIDs)
		if max(safe.Left, safe.Right, -safe.Left, -safe.Right) >= noRange {
			safe.Left, safe.Right = noRange, noRange
		}
		dst = append(dst, 0, 0, 0, 0, e.length, byte(e.scheme), 0, 0)
		dst = binary.LittleEndian.AppendUint32(dst, packed)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(intercept))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(safe.Left)))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(safe.Right)))
	}
	var data []byte
	for i := range e.segments {
		from, to := i<<e.length, min((i+1)<<e.length, e.n)
		if e.scheme == HSLRC {
			from, to = int(e.buckets.Starts[i]), int(e.buckets.Starts[i+1])
		}
		data = e.segment(data, docIDs[from:to], from, intercept)
	}
	if e.scheme == HSLRC {
		dst = append(dst, 0, 0, 0, 0, e.length, byte(e.scheme), 0, 0)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(e.segments))
	}
	for _, table := range [][]uint32{e.heads, e.offsets, e.cuts, e.slopes} {
		for _, x := range table {
			dst = binary.LittleEndian.AppendUint32(dst, x)
		}
	}
	dst = append(dst, e.widths...)
	dst = append(dst, data...)
	binary.LittleEndian.PutUint32(dst[e.begin:], uint32(len(dst)-e.begin))
	return dst
}

// segment appends a segment's deviations and table entries. from is its first DocID's index;
// intercept is the list's.
func (e *lrcEncoder) segment(data []byte, docIDs []uint32, from int, intercept int64) []byte {
	slope, first := e.slope, from
	if e.scheme >= SegLRC {
		packed := packSlope(contraction.Fit(docIDs).Slope)
		slope, first = unpackSlope(packed), 0
		e.slopes = append(e.slopes, packed)
	}
	cut, wide := intercept, false
	if e.scheme != LRC {
		cut, wide = e.least(docIDs, first, slope)
		e.cuts = append(e.cuts, uint32(cut))
	}
	if e.scheme != HSLRC {
		e.heads = append(e.heads, docIDs[0])
	}
	e.deviations = slices.Grow(e.deviations[:0], len(docIDs))
	for i, d := range docIDs {
		e.deviations = append(e.deviations, uint32(int64(d)-rise(first+i, slope)-cut))
	}
	e.offsets = append(e.offsets, uint32(len(data)))
	data, width := appendDeviations(data, e.deviations, e.share)
	if wide {
		width |= lrcWide
	}
	e.widths = append(e.widths, width)
	return data
}

// rise returns the increase of a line from 0 to i, rounded down.
func rise(i int, slope uint64) int64 {
	hi, lo := bits.Mul64(uint64(i), slope)
	return int64(hi<<32 | lo>>32)
}

// least returns the least distance of docIDs above the line through the origin. first is
// the index of docIDs[0]; wide means that a value exceeds 2^31.
func (e *lrcEncoder) least(docIDs []uint32, first int, slope uint64) (least int64, wide bool) {
	var most int64
	for i, d := range docIDs {
		above := int64(d) - rise(first+i, slope)
		if i == 0 {
			least, most = above, above
		}
		least, most = min(least, above), max(most, above)
	}
	end := rise(first+len(docIDs), slope)
	return least, least < -1<<30 || most >= 1<<31 || most-least >= 1<<31 || end >= 1<<31
}
