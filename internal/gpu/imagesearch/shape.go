package imagesearch

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// go generate copies these to constants.cuh.
const (
	rangeDocs   = 32                      // documents per range: one bit per lane
	superRanges = 128                     // ranges per superblock: four bytes per lane
	superDocs   = superRanges * rangeDocs // documents per superblock
)

// Minimum shares of the documents in dense and in bounded lists.
const (
	denseShare = 128
	boundShare = 1024
)

// freqEscape marks a frequency of 255 or more, in a hash table.
const freqEscape = 255

type kind uint32

const (
	// sparse lists have DocIDs and a hash directory.
	sparse kind = iota
	// bounded lists also have bounds of ranges.
	bounded
	// dense lists have bounds of ranges, a bitmap instead of DocIDs, and ranks of ranges.
	dense
)

// Shape determines the layout of a list's image.
type Shape struct {
	NumDocs  int    // of the segment, including deleted documents
	DocFreq  int    // postings, >= 1
	CollFreq uint64 // sum of the frequencies
	// Parameters of Max and of the image's bounds, of the segment or others.
	Saturation score.Saturation
	// An upper bound of the saturation of each posting, >= 1.
	Max score.Bound
}

// check returns an error that wraps base.ErrBadInput.
func (s *Shape) check() error {
	switch {
	case s.NumDocs <= 0 || s.NumDocs > base.MaxDocs || s.DocFreq <= 0 || s.DocFreq > s.NumDocs:
		return fmt.Errorf("image: %d postings of %d documents: %w", s.DocFreq, s.NumDocs, base.ErrBadInput)
	case s.CollFreq < uint64(s.DocFreq):
		return fmt.Errorf("image: frequencies sum to %d in %d postings: %w", s.CollFreq, s.DocFreq, base.ErrBadInput)
	case s.Max == 0:
		return fmt.Errorf("image: no posting has a contribution: %w", base.ErrBadInput)
	}
	return nil
}

func numSupers(numDocs int) int { return (numDocs + superDocs - 1) / superDocs }

func (s *Shape) kind() kind {
	switch {
	case s.DocFreq >= (s.NumDocs+denseShare-1)/denseShare:
		return dense
	case s.DocFreq >= (s.NumDocs+boundShare-1)/boundShare:
		return bounded
	}
	return sparse
}

// bucketShift returns the log2 of the documents per bucket of the directory: about one
// posting, and at least one range.
func (s *Shape) bucketShift() int {
	return max(bits.Len(uint(s.NumDocs/s.DocFreq))-1, bits.Len(rangeDocs)-1)
}

func (s *Shape) numBuckets() int { return (s.NumDocs-1)>>s.bucketShift() + 1 }

// freqBytes is 0 if the 8-bit contributions are the frequencies (external weights up to 255).
func (s *Shape) freqBytes() int {
	switch {
	case !s.Saturation.Linear:
		return 1
	case s.Max <= math.MaxUint8:
		return 0
	}
	return 2
}

// escapes returns the slots of the hash table of frequencies of 255 and more: 0, or a power of
// two above their maximum number.
func (s *Shape) escapes() int {
	if s.Saturation.Linear {
		return 0
	}
	most := min((s.CollFreq-uint64(s.DocFreq))/(freqEscape-1), uint64(s.DocFreq))
	if most == 0 {
		return 0
	}
	return 1 << bits.Len64(most)
}

// unit is the Bound of the 8-bit contribution 255. External weights up to 255 are stored
// as they are.
func (s *Shape) unit() score.Bound {
	if s.freqBytes() == 0 {
		return math.MaxUint8
	}
	return s.Max
}

// layout has the offsets of the parts, in layoutUnit bytes. A missing part has
// the offset of the next.
//
//	+----------------+------------------+------------+------------------+
//	| superMax u8    | rangeMax u8      | bitmap u32 | rank u32         |
//	| [numSupers]    | [supers*128]     | [...*128]  | [supers*128 + 1] |
//	+----------------+------------------+------------+------------------+
//	| starts u32     | docIDs u32       | sat u8     | freq u8, u16     | escapes u64 |
//	| [buckets + 1]  | [docFreq]        | [docFreq]  | [docFreq]        | [2^n]       |
//	+----------------+------------------+------------+------------------+-------------+
//
// Dense lists have no starts and docIDs, others no bitmap and rank, sparse
// lists no rangeMax. escapes is a hash table of (posting+1)<<32 | freq. All
// numbers are little-endian.
type layout struct {
	superMax, rangeMax, bitmap, rank uint32
	starts, docIDs                   uint32
	sat, freq, escapes               uint32
	end                              uint32
}

const layoutUnit = 128

func (s *Shape) layout() layout {
	var l layout
	at := uint64(0)
	part := func(elements, size int) uint32 {
		from := at
		at += (uint64(elements)*uint64(size) + layoutUnit - 1) / layoutUnit
		return uint32(from)
	}
	supers := numSupers(s.NumDocs)
	when := func(has bool, elements int) int {
		if has {
			return elements
		}
		return 0
	}
	k := s.kind()
	l.superMax = part((supers+3)&^3, 1)
	l.rangeMax = part(when(k != sparse, supers*superRanges), 1)
	l.bitmap = part(when(k == dense, supers*superRanges), 4)
	l.rank = part(when(k == dense, supers*superRanges+1), 4)
	l.starts = part(when(k != dense, s.numBuckets()+1), 4)
	l.docIDs = part(when(k != dense, s.DocFreq), 4)
	l.sat = part(s.DocFreq, 1)
	l.freq = part(s.DocFreq, s.freqBytes())
	l.escapes = part(s.escapes(), 8)
	l.end = uint32(at)
	return l
}

// SizeBytes returns the size of the image, a multiple of 128, its alignment.
func (s Shape) SizeBytes() int64 { l := s.layout(); return int64(l.end) * layoutUnit }
