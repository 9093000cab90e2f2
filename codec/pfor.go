package codec

import (
	"fmt"
	"math/bits"
	"strconv"
)

// The PForDelta family keeps b bits of each value in a slot; values that do not fit are
// exceptions. Codecs differ in the choice of b and the storage of exceptions.

// Share is the maximum share of exceptions: with 0.1, b is the least width that at most one
// value in ten does not fit. Zero is the default of the codec's paper; values above the codec's
// maximum are reduced.
type Share float64

const (
	// NoExceptions makes b the width of the largest value.
	NoExceptions Share = -1
	// SmallestSize chooses the b that gives the smallest encoding.
	SmallestSize Share = -2
)

const (
	shareKey         = "exceptions"
	bestShare        = "best"
	paperShare Share = 0.1
)

// share returns a Share: "best", a number from 0 to most, or the zero value for def.
func (p *params) share(def Share, most float64) Share {
	text, given := p.take(shareKey)
	s := SmallestSize
	if given && text != bestShare {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= most) {
			p.errs = append(p.errs, fmt.Errorf("parameter %s=%s: want a number in 0..%g, or %s: %w", shareKey, text, most, bestShare, ErrUnknown))
		}
		if s = Share(v); s == 0 {
			s = NoExceptions
		}
	}
	if !given || s == def {
		return 0
	}
	return s
}

// pair returns the parameter for a specification, "" for the default.
func (s Share) pair(def, most Share) string {
	used := s.or(def, most)
	switch used {
	case def:
		return ""
	case NoExceptions:
		return shareKey + "=0"
	case SmallestSize:
		return shareKey + "=" + bestShare
	}
	return fmt.Sprintf("%s=%v", shareKey, float64(used))
}

// or returns the effective Share: def for zero or NaN, at most most, NoExceptions for
// other negative values.
func (s Share) or(def, most Share) Share {
	switch {
	case s > 0:
		return min(s, most)
	case s == SmallestSize:
		return s
	case s < 0:
		return NoExceptions
	}
	return def
}

// limit returns the maximum number of exceptions in n values. It is undefined for
// SmallestSize.
func (s Share) limit(n int) int {
	if s < 0 {
		return 0
	}
	return min(n, int(float64(s)*float64(n)))
}

type widthCounts [maxWidth + 1]int

func countWidths(values []uint32) (c widthCounts) {
	for _, v := range values {
		c[bits.Len32(v)]++
	}
	return c
}

// widthFor returns the least width that at most limit values exceed.
func (c *widthCounts) widthFor(limit int) uint8 {
	over := 0
	for b := maxWidth; b > 0; b-- {
		if over += c[b]; over > limit {
			return uint8(b)
		}
	}
	return 0
}

func (c *widthCounts) widest() uint8 { return c.widthFor(0) }

// smallestWidth returns the width in [least, most] of minimum size; among equals the
// widest, which has the fewest exceptions.
func smallestWidth(least, most uint8, size func(b uint8) int) uint8 {
	best, bestSize := most, size(most)
	for b := int(most) - 1; b >= int(least); b-- {
		if s := size(uint8(b)); s < bestSize {
			best, bestSize = uint8(b), s
		}
	}
	return best
}

// gapsLessOne writes the gaps minus one to dst. base is the DocID before the first.
func gapsLessOne(dst []uint32, base uint32, docIDs []uint32) {
	for i, d := range docIDs {
		dst[i] = d - base - 1
		base = d
	}
}

func lessOne(dst, freqs []uint32) {
	for i, f := range freqs {
		dst[i] = f - 1
	}
}

// checkSums returns an error unless DocIDs, sums of gaps modulo 2^32 after base,
// increase strictly below NoBase. few means that the gaps add up to less than 2^32, so
// that the last DocID decides.
func checkSums(name string, docIDs []uint32, base uint32, few bool) error {
	if !few {
		return checkRising(name, docIDs, base)
	}
	if last := docIDs[len(docIDs)-1]; last < base+1 || last == NoBase {
		return fmt.Errorf("%s: DocIDs exceed 2^32: %w", name, ErrCorrupt)
	}
	return nil
}

func freqTooLarge(name string, i int) error {
	return fmt.Errorf("%s: frequency %d exceeds 2^32: %w", name, i, ErrCorrupt)
}

func noSuchFreq(name string, i, n int) error {
	return fmt.Errorf("%s: frequency %d of %d: %w", name, i, n, ErrCorrupt)
}
