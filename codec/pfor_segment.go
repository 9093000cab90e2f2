package codec

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/pfor"
)

// Blocks of pfordelta, newpfd and parapfor are cut into segments, each with its own b. A single
// segment has the block's width byte; otherwise each width byte precedes its segment and the
// block's is 0:
//
//	+-------+-----------+-------+-----------+
//	| width | segment 0 | width | segment 1 | ...
//	+-------+-----------+-------+-----------+
//
// The lower 6 bits of a width byte are b.

type segmentKind uint8

const (
	linkedSegment  segmentKind = iota // PForDelta
	plainSegment                      // PForDelta.Plain; decoded as linkedSegment
	s16Segment                        // NewPFD
	indexedSegment                    // ParaPFor
)

const (
	segmentKey = "segment"
	// exceptionBit marks exceptions; PForDelta differs.
	bMask        = 63
	exceptionBit = 64
)

// segment returns a specification's segment length, 0 for the default.
func (p *params) segment(def int) int {
	n := p.int(segmentKey, def, 32, BlockLen)
	switch n {
	case def:
		return 0
	case 32, 64, BlockLen:
		return n
	}
	p.errs = append(p.errs, fmt.Errorf("parameter %s=%d: want 32, 64 or 128: %w", segmentKey, n, ErrUnknown))
	return 0
}

// segmentLen returns def for 0, otherwise the nearest valid length, upwards if possible.
func segmentLen(n, def int) int {
	switch {
	case n == 0:
		return def
	case n <= 32:
		return 32
	case n <= 64:
		return 64
	}
	return BlockLen
}

func segmentParams(share, most, length string) string {
	return shareKey + "=" + share + " (share of values that may not fit, 0 to " + most + ", or best), " +
		segmentKey + "=" + length + " (values that share a width: 32, 64 or 128)"
}

type segments struct {
	name   string
	kind   segmentKind
	share  Share
	length int // divides BlockLen
}

// append modifies values.
func (s segments) append(dst []byte, values []uint32) ([]byte, uint8) {
	if s.length == BlockLen {
		return s.appendSegment(dst, values)
	}
	for len(values) > 0 {
		n := min(s.length, len(values))
		at := len(dst)
		out, width := s.appendSegment(append(dst, 0), values[:n])
		out[at] = width
		dst, values = out, values[n:]
	}
	return dst, 0
}

func (s segments) appendSegment(dst []byte, values []uint32) ([]byte, uint8) {
	switch s.kind {
	case linkedSegment, plainSegment:
		return appendLinked(dst, values, s.share, s.kind == plainSegment)
	case s16Segment:
		return appendS16Segment(dst, values, s.share)
	default:
		return appendIndexed(dst, values, s.share)
	}
}

func (s segments) appendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	var gaps [BlockLen]uint32
	gapsLessOne(gaps[:], base, docIDs)
	return s.append(dst, gaps[:len(docIDs)])
}

func (s segments) appendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	var less [BlockLen]uint32
	lessOne(less[:], freqs)
	return s.append(dst, less[:len(freqs)])
}

func (s segments) decodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if s.length == BlockLen {
		if uint(n-1) >= BlockLen {
			return 0, checkBlock(s.name, len(src), 0, n, 0, 0)
		}
		size, most, err := s.gaps(dst, src, base, n, width)
		if err != nil {
			return 0, err
		}
		return size, checkSums(s.name, dst[:n], base, most+uint64(n) < 1<<32)
	}
	var part [BlockLen]uint32
	at, most, last := 0, uint64(n), base
	err := s.each(src, n, width, func(src []byte, from, n int, width uint8) (int, error) {
		out := dst // its tail is overwritten
		if from > 0 {
			out = &part
		}
		size, m, err := s.gaps(out, src, last, n, width)
		if err != nil {
			return 0, err
		}
		if from > 0 {
			copy(dst[from:from+n], part[:n])
		}
		last = out[n-1]
		most += m
		at += 1 + size
		return size, nil
	})
	if err != nil {
		return 0, err
	}
	return at, checkSums(s.name, dst[:n], base, most < 1<<32)
}

func (s segments) decodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	if s.length == BlockLen {
		if uint(n-1) >= BlockLen {
			return checkBlock(s.name, len(src), 0, n, 0, 0)
		}
		_, most, err := s.plusOne(dst, src, n, width)
		if err != nil {
			return err
		}
		return s.checkFreqs(dst[:n], most)
	}
	var part [BlockLen]uint32
	most := uint64(0)
	err := s.each(src, n, width, func(src []byte, from, n int, width uint8) (int, error) {
		out := dst // its tail is overwritten
		if from > 0 {
			out = &part
		}
		size, m, err := s.plusOne(out, src, n, width)
		if err != nil {
			return 0, err
		}
		if from > 0 {
			copy(dst[from:from+n], part[:n])
		}
		most += m
		return size, nil
	})
	if err != nil {
		return err
	}
	return s.checkFreqs(dst[:n], most)
}

// A frequency of 2^32 appears as 0. most, here and below, bounds the sum of the stored values.
func (s segments) checkFreqs(freqs []uint32, most uint64) error {
	if most < 1<<32-1 {
		return nil
	}
	for i, f := range freqs {
		if f == 0 {
			return freqTooLarge(s.name, i)
		}
	}
	return nil
}

// each calls f for each of several segments, with the bytes after its width byte, its first
// value's index, and its number and width of values. f returns the segment's size.
func (s segments) each(src []byte, n int, width uint8, f func(src []byte, from, n int, width uint8) (int, error)) error {
	if uint(n-1) >= BlockLen || width != 0 {
		return checkBlock(s.name, len(src), 0, n, width, 0)
	}
	for from := 0; from < n; from += s.length {
		if len(src) == 0 {
			return fmt.Errorf("%s: no segment at value %d of %d: %w", s.name, from, n, ErrCorrupt)
		}
		size, err := f(src[1:], from, min(s.length, n-from), src[0])
		if err != nil {
			return err
		}
		src = src[1+size:]
	}
	return nil
}

func (s segments) freqAt(src []byte, i, n int, width uint8) (uint32, error) {
	if uint(n-1) >= BlockLen || uint(i) >= uint(n) {
		return 0, noSuchFreq(s.name, i, n)
	}
	if s.length < BlockLen {
		if width != 0 {
			return 0, checkBlock(s.name, len(src), 0, n, width, 0)
		}
		for ; ; i, n = i-s.length, n-s.length {
			if len(src) == 0 {
				return 0, fmt.Errorf("%s: no segment of value %d: %w", s.name, i, ErrCorrupt)
			}
			if width, src = src[0], src[1:]; i < s.length {
				n = min(n, s.length)
				break
			}
			size, err := s.size(src, s.length, width)
			if err != nil {
				return 0, err
			}
			src = src[size:]
		}
	}
	v, err := s.at(src, i, n, width)
	if v++; v == 0 && err == nil {
		err = freqTooLarge(s.name, i)
	}
	return v, err
}

// gaps decodes a segment of gaps minus one to DocIDs after base in dst[:n]. The stored
// values, gaps minus one, add up to at most most.
func (s segments) gaps(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (size int, most uint64, err error) {
	if width <= bMask {
		if size, err = s.checkSlots(src, n, width); err != nil {
			return 0, 0, err
		}
		if n == BlockLen && len(src) >= size+bitpack.Slack {
			bitpack.UnpackGaps(dst, src, base, width)
		} else {
			bitpack.UnpackGapsN(dst, src, base, width, n)
		}
		return size, uint64(n) << width, nil
	}
	if s.kind <= plainSegment {
		var p pfor.Block
		if size, err = parseLinked(&p, src, n, width); err != nil {
			return 0, 0, err
		}
		if !pfor.DecodeGaps(dst, &p, base) {
			return 0, 0, errList(&p)
		}
		return size, mostLinked(&p), nil
	}
	if size, most, err = s.patched(dst, src, n, width, 0); err == nil {
		bitpack.PrefixSum(dst, base)
	}
	return size, most, err
}

// plusOne decodes a segment's values, each plus 1 modulo 2^32, to dst[:n]. The values
// before the addition add up to at most most.
func (s segments) plusOne(dst *[BlockLen]uint32, src []byte, n int, width uint8) (size int, most uint64, err error) {
	if width <= bMask {
		if size, err = s.checkSlots(src, n, width); err != nil {
			return 0, 0, err
		}
		unpackSlots(dst, src, n, width, 1)
		return size, uint64(n) << width, nil
	}
	if s.kind <= plainSegment {
		var p pfor.Block
		if size, err = parseLinked(&p, src, n, width); err != nil {
			return 0, 0, err
		}
		if !pfor.Decode(dst, &p) {
			return 0, 0, errList(&p)
		}
		return size, mostLinked(&p), nil
	}
	return s.patched(dst, src, n, width, 1)
}

// size returns the segment's size in bytes.
func (s segments) size(src []byte, n int, width uint8) (int, error) {
	switch {
	case width <= bMask:
		return s.checkSlots(src, n, width)
	case s.kind <= plainSegment:
		var p pfor.Block
		return parseLinked(&p, src, n, width)
	case s.kind == s16Segment:
		var p s16Exceptions
		return p.parse(src, n, width)
	default:
		var p indexedExceptions
		return p.parse(src, n, width)
	}
}

func (s segments) at(src []byte, i, n int, width uint8) (uint32, error) {
	switch {
	case width <= bMask:
		size, err := s.checkSlots(src, n, width)
		if err != nil {
			return 0, err
		}
		return bitpack.At(src[:size], i, width), nil
	case s.kind <= plainSegment:
		return linkedAt(src, i, n, width)
	case s.kind == s16Segment:
		return s16At(src, i, n, width)
	default:
		return indexedAt(src, i, n, width)
	}
}

// checkSlots returns the size of n slots of b bits in bytes.
func (s segments) checkSlots(src []byte, n int, b uint8) (int, error) {
	size := bitpack.PackedSize(n, b)
	if b > maxWidth || len(src) < size {
		return 0, checkBlock(s.name, len(src), size, n, b, maxWidth)
	}
	return size, nil
}

// unpackSlots writes n slots of b bits, each plus add, to dst. src may be longer.
func unpackSlots(dst *[BlockLen]uint32, src []byte, n int, b uint8, add uint32) {
	if n == BlockLen && len(src) >= BlockLen/8*int(b)+bitpack.Slack {
		bitpack.Unpack(dst, src, b, add)
	} else {
		bitpack.UnpackN(dst, src, b, add, n)
	}
}

// patched decodes a segment whose exceptions keep their low bits in the slots, and adds
// add to each value. The values before the addition add up to at most most.
func (s segments) patched(dst *[BlockLen]uint32, src []byte, n int, width uint8, add uint32) (size int, most uint64, err error) {
	p := patches{b: width & bMask, last: uint64(n - 1)}
	if s.kind == s16Segment {
		var e s16Exceptions
		if size, err = e.parse(src, n, width); err != nil {
			return 0, 0, err
		}
		unpackSlots(dst, src, n, p.b, add)
		err = e.patch(dst, &p)
	} else {
		var e indexedExceptions
		if size, err = e.parse(src, n, width); err != nil {
			return 0, 0, err
		}
		unpackSlots(dst, src[indexedHeader:], n, p.b, add)
		e.patch(dst, &p)
	}
	if err == nil {
		err = p.check(s.name)
	}
	return size, uint64(n)<<p.b + p.sum, err
}

type patches struct {
	b          uint8  // below 32
	next, last uint64 // minimum position of the next exception, maximum of any
	outside    uint64 // its sign bit is set if a position was out of range
	all        uint64 // OR of the added values
	sum        uint64 // sum of the added values
}

// Positions must increase from call to call; check reports violations.
func (p *patches) add(dst *[BlockLen]uint32, at, upper uint32) {
	over := uint64(upper) << (p.b & 31)
	p.outside |= (uint64(at) - p.next) | (p.last - uint64(at))
	p.all |= over
	p.sum += over
	p.next = uint64(at) + 1
	dst[at%BlockLen] += uint32(over)
}

// check also rejects values of more than 32 bits.
func (p *patches) check(name string) error {
	if int64(p.outside) < 0 || p.all > 1<<32-1 {
		return fmt.Errorf("%s: exceptions of %d values: %w", name, p.last+1, ErrCorrupt)
	}
	return nil
}
