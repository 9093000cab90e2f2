package ao11

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// code is the code of the lists.
type code uint8

const (
	uncompressed code = iota
	paraPFD
	newPFD
	lrc
	lrcSeg
	segLRC
	hsLRC
)

var codeNames = []string{"none", "parapfd", "newpfd", "lrc", "lrcseg", "seglrc", "hs-lrc"}

// search finds elements in a list.
type search uint8

const (
	automatic search = iota
	binary
	interpolation
	lr // linear regression
	hs // hash segmentation
	skip
)

var searchNames = []string{"auto", "binary", "interpolation", "lr", "hs16", "hs32", "hs64", "hs128", "hs256", "skip"}

// The positions in searchNames of hs16 and hs256.
const hs16, hs256 = 4, 8

// form is how lists are stored and searched.
type form struct {
	code   code
	codec  codec.Codec
	number uint64 // of the codec, for lists.Kind

	search search
	bucket int  // maximum mean number of elements of a hash bucket
	parts  int  // with local safe ranges, of a list; 0: one global range
	noH    bool // Algorithm 1 without the list H
}

// defaultParts is the number of parts of a list with local safe ranges.
const defaultParts = 64

// readForm reads the options of a form. Options has its errors.
func readForm(o *engine.Options) form {
	f := form{code: code(max(o.Choice("codec", codeNames...), 0))}
	switch s := max(o.Choice("search", searchNames...), 0); {
	case s >= hs16 && s <= hs256:
		f.search, f.bucket = hs, 16<<(s-hs16)
	case s > hs256:
		f.search = skip
	default:
		f.search = search(s)
	}
	f.choose()
	f.noH = o.Choice("h", "on", "off") == 1
	parts := o.Int("g", 1, 1<<16)
	if local := o.Choice("range", "global", "local") == 1; local {
		f.parts = parts
	} else if parts != defaultParts {
		o.Fail("g", "it with range=local only, whose parts it counts (§4.3): add range=local, or leave g out")
	}
	f.check(o)
	exceptions := o.Float("exceptions", 0)
	switch {
	case exceptions > codec.MaxExceptions:
		o.Fail("exceptions", fmt.Sprintf("a number from 0 to %g", codec.MaxExceptions))
	case exceptions > 0 && f.code == uncompressed:
		o.Fail("exceptions", "0 with codec=none, which has no exceptions (§5): choose another codec, or leave exceptions out")
	}
	f.setCodec(exceptions)
	return f
}

// choose replaces the automatic search by the fastest of the paper's Table 3.
func (f *form) choose() {
	if f.search != automatic {
		return
	}
	switch f.code {
	case uncompressed:
		f.search, f.bucket = hs, 16
	case paraPFD, newPFD:
		f.search = binary
	case hsLRC:
		f.search, f.bucket = hs, 128
	default:
		f.search = lr
	}
}

// check refuses combinations that the paper does not have.
func (f *form) check(o *engine.Options) {
	regression := f.code >= lrc && f.code <= segLRC
	switch {
	case (f.code == paraPFD || f.code == newPFD) && f.search != binary:
		o.Fail("search", "binary: lists of d-gaps are decoded, then searched (§5.3)")
	case regression && f.search != lr:
		o.Fail("search", "lr: Algorithm 1 searches "+codeNames[f.code]+" in safe search ranges (§5.3)")
	case f.code == hsLRC && f.search != hs:
		o.Fail("search", "hs16 to hs256, the size of the buckets of hs-lrc (§5.3)")
	}
	if f.noH && !regression {
		o.Fail("h", "on: only lrc, lrcseg and seglrc have a list H (§5.3)")
	}
	if f.parts > 0 && (f.search != lr || f.code != uncompressed) {
		o.Fail("range", "global: local safe ranges are for search=lr in uncompressed lists (§4.3)")
	}
}

// The paper's segments (§6.2); the ones of the Regression codecs are the default.
const pfdSegment = 64

func (f *form) setCodec(exceptions float64) {
	share := codec.Share(exceptions)
	if exceptions == 0 {
		share = codec.NoExceptions
	}
	f.number = uint64(f.code)<<32 | uint64(math.Float32bits(float32(exceptions)))
	switch f.code {
	case paraPFD:
		f.codec = codec.ParaPFor{Exceptions: share, Segment: pfdSegment}
	case newPFD:
		f.codec = codec.NewPFD{Exceptions: share, Segment: pfdSegment}
	case lrc, lrcSeg, segLRC:
		f.codec = codec.Regression{Scheme: codec.Scheme(f.code - lrc), Exceptions: share}
	case hsLRC:
		f.codec = codec.Regression{Scheme: codec.HSLRC, SegmentLen: f.bucket, Exceptions: share}
		f.number |= uint64(f.bucket) << 40
	default:
		f.codec = codec.Raw{}
		f.number = 0
	}
}

// kernels returns the options of the kernels of PARA, without the threshold.
func (f *form) kernels() para.Options {
	o := para.Options{Local: f.parts > 0, WithoutH: f.noH}
	switch {
	case f.code >= lrc:
		o.Search = intersect.SearchOf(f.codec.(codec.Regression).Scheme)
	case f.search == interpolation:
		o.Search = intersect.InterpolationSearch
	case f.search == lr:
		o.Search = intersect.LinearRegression
	case f.search == hs:
		o.Search = intersect.HashSegmentation
	}
	return o
}

// isDecoded reports whether the lists are decoded completely before PARA.
func (f *form) isDecoded() bool { return f.code == paraPFD || f.code == newPFD }

// contraction returns the part of a list of a segment with numDocs documents on the device.
func (f *form) contraction(numDocs int) intersect.Contraction {
	return intersect.Contraction{Line: f.search == lr, BucketSize: f.bucket, Universe: numDocs}
}
