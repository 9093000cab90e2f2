package codec

import (
	"fmt"
	"math/bits"
	"strconv"
)

// This file is what the codecs of the PForDelta family share. They keep b bits of
// each value in a slot and treat the values that do not fit as exceptions; they
// differ in how they choose b and where they put what is over.

// Share is a parameter of these codecs: how many of the values may be
// exceptions. 0.1 is one in ten, which gives the least b at which no more than that
// do not fit. The zero value is the default of the codec's paper. More than the
// codec takes stands for the most that it does.
type Share float64

const (
	// NoExceptions makes b the width of the largest value.
	NoExceptions Share = -1
	// SmallestSize makes b what gives the smallest encoding.
	SmallestSize Share = -2
)

const (
	shareKey = "exceptions"
	// bestShare is SmallestSize in a specification.
	bestShare = "best"
	// paperShare is the default of PForDelta's papers: 90 % of the values fit.
	paperShare Share = 0.1
)

// share returns the Share of a specification: best, or a number from 0 to most.
// def is the default, for which it returns the zero value.
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

// pair returns what a specification says of the Share, "" for the default.
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

// or returns the Share as it is used: def for the zero value and what is no number,
// most for more, and NoExceptions for less than 0.
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

// limit is how many of n values may be exceptions; it is not for SmallestSize.
func (s Share) limit(n int) int {
	if s < 0 {
		return 0
	}
	return min(n, int(float64(s)*float64(n)))
}

// widthCounts counts values by the number of bits that they need.
type widthCounts [maxWidth + 1]int

func countWidths(values []uint32) (c widthCounts) {
	for _, v := range values {
		c[bits.Len32(v)]++
	}
	return c
}

// widthFor returns the least width at which at most limit values do not fit.
func (c *widthCounts) widthFor(limit int) uint8 {
	over := 0
	for b := maxWidth; b > 0; b-- {
		if over += c[b]; over > limit {
			return uint8(b)
		}
	}
	return 0
}

// widest returns the width of the largest value.
func (c *widthCounts) widest() uint8 { return c.widthFor(0) }

// smallestWidth returns the width from least to most at which size is least; of
// several, the widest, which has the fewest exceptions.
func smallestWidth(least, most uint8, size func(b uint8) int) uint8 {
	best, bestSize := most, size(most)
	for b := int(most) - 1; b >= int(least); b-- {
		if s := size(uint8(b)); s < bestSize {
			best, bestSize = uint8(b), s
		}
	}
	return best
}

// gapsLessOne writes the gaps between DocIDs, each less one, to dst. base is the
// DocID before the first.
func gapsLessOne(dst []uint32, base uint32, docIDs []uint32) {
	for i, d := range docIDs {
		dst[i] = d - base - 1
		base = d
	}
}

// lessOne writes frequencies less one to dst.
func lessOne(dst, freqs []uint32) {
	for i, f := range freqs {
		dst[i] = f - 1
	}
}

// checkSums says whether DocIDs, made of gaps by sums modulo 2^32 after base, are
// strictly rising and below NoBase. few says that the gaps add up to less than
// 2^32, so that the last one tells.
func checkSums(name string, docIDs []uint32, base uint32, few bool) error {
	if !few {
		return checkRising(name, docIDs, base)
	}
	if last := docIDs[len(docIDs)-1]; last < base+1 || last == NoBase {
		return fmt.Errorf("%s: DocIDs pass 2^32: %w", name, ErrCorrupt)
	}
	return nil
}

func freqTooLarge(name string, i int) error {
	return fmt.Errorf("%s: frequency %d passes 2^32: %w", name, i, ErrCorrupt)
}

func noSuchFreq(name string, i, n int) error {
	return fmt.Errorf("%s: frequency %d of %d: %w", name, i, n, ErrCorrupt)
}
