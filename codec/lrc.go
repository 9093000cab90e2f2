package codec

import (
	"fmt"
	"math/bits"
)

// Regression is a family of codecs that store each DocID's deviation from a line, so that
// DocIDs can be decoded alone and lists searched without decoding (RegressionList). With line
// f, DocID i is floor(f(i)) + lambda(i); lambda is non-negative, because the least deviation is
// added to the intercept. Deviations are cut into segments, each coded with ParaPFor: low b
// bits, and arrays of the exceptions' indexes and upper bits.
//
// Ao, Zhang, Wu, Stones, Wang, Liu, Liu and Lin, "Efficient parallel lists intersection and
// index compression algorithms using graphics processing units", PVLDB 4(8), 2011, §5.2, §5.3
// and Appendix D. We differ: coefficients are fixed-point numbers, so that every machine
// decodes the same values; slopes have 26 significant bits; the intercept is an integer, which
// may cost one bit.
//
// A list of one block has one line for its gaps to the base, with variable-byte coefficients;
// frequencies are SIMDBP blocks; lrcView describes the format.
type Regression struct {
	Scheme Scheme
	// SegmentLen is the number of DocIDs of a segment, a power of 2 in [MinSegmentLen,
	// MaxSegmentLen]; for HSLRC the maximum average of a hash bucket. 0 means 256; other values
	// are changed to the nearest valid one, upwards if possible.
	SegmentLen int
	// Exceptions is the maximum share of exceptions in a segment, at most MaxExceptions. The
	// default, NoExceptions, is nearly optimal (Ao et al. §6.2).
	Exceptions Share
}

// Limits and default of the fields of Regression, for programs that check options before they
// make one: values outside are changed without an error.
const (
	MinSegmentLen     = 16
	MaxSegmentLen     = 1 << 16
	DefaultSegmentLen = 256
	MaxExceptions     = 0.6
)

// Scheme is the placement of lines and segments.
type Scheme uint8

const (
	// LRC has one line and one intercept for the list.
	LRC Scheme = iota
	// LRCSeg has one slope for the list and an intercept for each segment.
	LRCSeg
	// SegLRC has one line for each segment.
	SegLRC
	// HSLRC has one line for each hash bucket: DocIDs with the same leading bits
	// (contraction.Buckets), unlimited in number.
	HSLRC
	numSchemes
)

var schemeNames = [numSchemes]string{LRC: "lrc", LRCSeg: "lrcseg", SegLRC: "seglrc", HSLRC: "hs-lrc"}

var _ ListCodec = Regression{}

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

func regressionParams(s Scheme) string {
	what := "DocIDs of a segment"
	if s == HSLRC {
		what = "DocIDs of a hash bucket, at most on average"
	}
	return fmt.Sprintf("%[1]s=%[5]d (%[2]s; a power of 2, %[3]d to %[4]d), exceptions=0 (share of deviations; 0 to %[6]g, or best)",
		s.lenParam(), what, MinSegmentLen, MaxSegmentLen, DefaultSegmentLen, MaxExceptions)
}

func (s Scheme) lenParam() string {
	if s == HSLRC {
		return "bucket"
	}
	return "segment"
}

// Name returns the scheme's name with all non-default parameters.
func (c Regression) Name() string {
	return spec(schemeNames[c.Scheme],
		given(c.Scheme.lenParam(), c.segmentLen(), DefaultSegmentLen),
		c.Exceptions.pair(NoExceptions, MaxExceptions))
}

// Segment returns the effective SegmentLen: a power of 2, never 0.
func (c Regression) Segment() int { return c.segmentLen() }

func (c Regression) segmentLen() int {
	if c.SegmentLen == 0 {
		return DefaultSegmentLen
	}
	n := min(max(c.SegmentLen, MinSegmentLen), MaxSegmentLen)
	return 1 << bits.Len(uint(n-1))
}

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
