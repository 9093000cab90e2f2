package fastpath

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// How documents are grouped. The kernels have the same numbers (fastpath.cuh, made by
// go generate).
const (
	rangeDocs   = 32                      // documents of a range: a bit a lane
	superRanges = 128                     // ranges of a superblock: four bytes a lane
	superDocs   = superRanges * rangeDocs // documents of a superblock
)

// Lists with at least a document in denseShare are dense, those with one in boundShare
// have bounds of ranges.
const (
	denseShare = 128
	boundShare = 1024
)

// freqEscape stands for frequencies of 255 and more in images of texts.
const freqEscape = 255

// kind says how an image is laid out.
type kind uint32

const (
	// sparse lists have DocIDs and a hash directory of them.
	sparse kind = iota
	// bounded lists also have bounds of ranges.
	bounded
	// dense lists have bounds of ranges and, in the place of DocIDs, a bitmap and
	// the rank of each range.
	dense
)

// Shape is what the size and layout of a list's image follow from.
type Shape struct {
	NumDocs  int    // of the segment, deleted ones too
	DocFreq  int    // postings, >= 1
	CollFreq uint64 // sum of the frequencies
	// Saturation is what Max, and the image's bounds, are made for: the segment's
	// (K1, B and its own mean length), or others with the Max under them.
	Saturation score.Saturation
	// Max bounds the saturation of every posting, >= 1.
	Max score.Bound
}

// check returns an error that wraps base.ErrBadInput if no list has the shape.
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

// numSupers returns the number of superblocks of a segment.
func numSupers(numDocs int) int { return (numDocs + superDocs - 1) / superDocs }

// kind returns how the image is laid out.
func (s *Shape) kind() kind {
	switch {
	case s.DocFreq >= (s.NumDocs+denseShare-1)/denseShare:
		return dense
	case s.DocFreq >= (s.NumDocs+boundShare-1)/boundShare:
		return bounded
	}
	return sparse
}

// bucketShift returns the log2 of the documents of a bucket of the directory: such
// that there are about as many buckets as postings, and at least a range.
func (s *Shape) bucketShift() int {
	return max(bits.Len(uint(s.NumDocs/s.DocFreq))-1, bits.Len(rangeDocs)-1)
}

// numBuckets returns the number of buckets of the directory.
func (s *Shape) numBuckets() int { return (s.NumDocs-1)>>s.bucketShift() + 1 }

// freqBytes returns the bytes of a frequency: 0 if the 8-bit contributions are the
// frequencies (weights from outside of at most 255).
func (s *Shape) freqBytes() int {
	switch {
	case !s.Saturation.Linear:
		return 1
	case s.Max <= math.MaxUint8:
		return 0
	}
	return 2
}

// escapes returns the number of slots of the hash table of frequencies of 255 and
// more: a power of two that is more than there can be of them, or 0.
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

// unit is the Bound that the greatest 8-bit contribution, 255, stands for: the others
// stand for parts of it. Weights from outside of at most 255 stand for themselves.
func (s *Shape) unit() score.Bound {
	if s.freqBytes() == 0 {
		return math.MaxUint8
	}
	return s.Max
}

// layout holds where the parts of an image begin, in units of layoutUnit bytes. Parts
// that an image does not have begin where the next one does.
//
//	+----------------+------------------+------------+------------------+
//	| superMax u8    | rangeMax u8      | bitmap u32 | rank u32         |
//	| [numSupers]    | [supers*128]     | [...*128]  | [supers*128 + 1] |
//	+----------------+------------------+------------+------------------+
//	| starts u32     | docIDs u32       | sat u8     | freq u8, u16     | escapes u64 |
//	| [buckets + 1]  | [docFreq]        | [docFreq]  | [docFreq]        | [2^n]       |
//	+----------------+------------------+------------+------------------+-------------+
//
// Dense lists have no starts and docIDs, others no bitmap and rank, sparse ones no rangeMax. freq
// and escapes are there where they are needed; escapes is a hash table of
// (posting+1)<<32 | freq. All numbers are little endian.
type layout struct {
	superMax, rangeMax, bitmap, rank uint32
	starts, docIDs                   uint32
	sat, freq, escapes               uint32
	end                              uint32
}

// layoutUnit is the alignment of the parts of an image.
const layoutUnit = 128

// layout returns where the parts are.
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

// SizeBytes returns how many bytes of device memory the list's image takes: a
// multiple of 128, and the alignment of the image.
func (s Shape) SizeBytes() int64 { l := s.layout(); return int64(l.end) * layoutUnit }
