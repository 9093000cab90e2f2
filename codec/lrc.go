package codec

import (
	"fmt"
	"math/bits"
)

// Regression is the family of codecs that describe a list by a line and store how
// far each DocID lies from it, rather than gaps: each DocID can then be decoded
// alone, and the lists can be searched without decoding them (RegressionList).
// With line f, DocID i is floor(f(i)) + lambda(i), where the deviations lambda are
// whole numbers from 0 on, since the least of them is taken into the line's
// intercept. Deviations are cut into segments; those of a segment are coded by
// ParaPFor: the low b bits of each, b for each segment, and for the exceptions,
// which need more than b, their indexes and what they have above b bits, in two
// arrays.
//
// Ao, Zhang, Wu, Stones, Wang, Liu, Liu and Lin, "Efficient parallel lists
// intersection and index compression algorithms using graphics processing units",
// PVLDB 4(8), 2011, §5.2, §5.3 and Appendix D. We differ: coefficients are
// fixed-point numbers, so that every machine decodes the same; slopes have 26
// significant bits; the intercept is a whole number, which may cost a bit where
// lambda would just have fit.
//
// A list of one block has one line for its gaps to the base, with variable-byte
// coefficients. Frequencies are blocks of SIMDBP. The format is in the comment of
// lrcView.
type Regression struct {
	Scheme Scheme
	// SegmentLen is the number of DocIDs of a segment, a power of 2 in
	// [MinSegmentLen, MaxSegmentLen]; of HSLRC, how many of them a hash bucket has
	// on average at the most. 0 stands for 256. Other values are taken as
	// the nearest that there is, above if possible.
	SegmentLen int
	// Exceptions is the share of a segment's deviations that may be exceptions, at
	// most MaxExceptions. The default is NoExceptions, which is close to the
	// best (Ao et al. §6.2).
	Exceptions Share
}

// The limits of Regression's parameters.
const (
	MinSegmentLen     = 16
	MaxSegmentLen     = 1 << 16
	DefaultSegmentLen = 256
	MaxExceptions     = 0.6
)

// Scheme says where a Regression codec has lines and segments.
type Scheme uint8

// The schemes.
const (
	// LRC has one line and one intercept for the list; segments have a b each.
	LRC Scheme = iota
	// LRCSeg has one slope for the list and an intercept for each segment.
	LRCSeg
	// SegLRC has a line for each segment.
	SegLRC
	// HSLRC has a line for each hash bucket of the list: the DocIDs with the same
	// leading bits (contraction.Buckets), as many as they may be.
	HSLRC
	numSchemes
)

var schemeNames = [numSchemes]string{LRC: "lrc", LRCSeg: "lrcseg", SegLRC: "seglrc", HSLRC: "hs-lrc"}

var _ ListCodec = Regression{}

// newRegression makes a codec of its parameters.
func newRegression(s Scheme) func(p *params) Codec {
	return func(p *params) Codec {
		c := Regression{
			Scheme:     s,
			SegmentLen: p.int(s.lenParam(), DefaultSegmentLen, MinSegmentLen, MaxSegmentLen),
			Exceptions: p.share(NoExceptions, MaxExceptions),
		}
		if n := c.segmentLen(); n != c.SegmentLen {
			p.errs = append(p.errs, fmt.Errorf("parameter %s=%d: want a power of 2: %w", s.lenParam(), c.SegmentLen, ErrUnknown))
		}
		return c
	}
}

// regressionParams describes the parameters of a scheme.
func regressionParams(s Scheme) string {
	what := "DocIDs of a segment"
	if s == HSLRC {
		what = "DocIDs of a hash bucket, at most on average"
	}
	return fmt.Sprintf("%[1]s=%[5]d (%[2]s; a power of 2, %[3]d to %[4]d), exceptions=0 (share of deviations; 0 to %[6]g, or best)",
		s.lenParam(), what, MinSegmentLen, MaxSegmentLen, DefaultSegmentLen, MaxExceptions)
}

// lenParam is the name of the parameter SegmentLen.
func (s Scheme) lenParam() string {
	if s == HSLRC {
		return "bucket"
	}
	return "segment"
}

// Name returns "lrc", "lrcseg", "seglrc" or "hs-lrc", with the parameters that are
// not the default.
func (c Regression) Name() string {
	return spec(schemeNames[c.Scheme],
		given(c.Scheme.lenParam(), c.segmentLen(), DefaultSegmentLen),
		c.Exceptions.pair(NoExceptions, MaxExceptions))
}

// Segment returns SegmentLen as it is used: a power of 2, never 0.
func (c Regression) Segment() int { return c.segmentLen() }

func (c Regression) segmentLen() int {
	if c.SegmentLen == 0 {
		return DefaultSegmentLen
	}
	n := min(max(c.SegmentLen, MinSegmentLen), MaxSegmentLen)
	return 1 << bits.Len(uint(n-1))
}

// name is the name for errors.
func (c Regression) name() string { return schemeNames[c.Scheme] }

// AppendFreqs implements Codec.
func (c Regression) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	return SIMDBP{}.AppendFreqs(dst, freqs)
}

// DecodeFreqs implements Codec.
func (c Regression) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	return SIMDBP{}.DecodeFreqs(dst, src, n, width)
}

// FreqAt implements Codec.
func (c Regression) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	return SIMDBP{}.FreqAt(src, i, n, width)
}
