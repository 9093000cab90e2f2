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

// Minimum shares of the documents in dense lists, of an image that is not compact and of one that is, and in bounded or
// packed lists.
const (
	denseShare   = 128
	compactShare = 16
	boundShare   = 1024
)

// Shifts of the documents per bucket of a packed list, whose DocIDs have 8 bits within a bucket.
const (
	minPackedShift = 6
	maxPackedShift = 8
)

// freqEscape marks a frequency of 255 or more, in a hash table.
const freqEscape = 255

type kind uint32

const (
	// sparse lists have DocIDs and a hash directory.
	sparse kind = iota
	// bounded lists also have bounds of ranges.
	bounded
	// packed lists take the place of bounded lists, and of dense ones with fewer documents, if the image is compact. They
	// have bounds of ranges, and DocIDs of 8 bits with a directory.
	packed
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
	// Compact images have about six bytes for a posting instead of ten. OR queries are nearly as fast; AND queries and counts
	// are slower.
	Compact bool
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
	least := func(share int) int { return (s.NumDocs + share - 1) / share }
	switch {
	case s.DocFreq < least(boundShare):
		return sparse
	case s.Compact && s.DocFreq < least(compactShare):
		return packed
	case s.DocFreq < least(denseShare):
		return bounded
	}
	return dense
}

// bucketShift returns the log2 of the documents per bucket of the directory: one or two postings of a packed list, unless it
// would be too small or too large, and about one of another list; at least one range.
func (s *Shape) bucketShift() int {
	shift := bits.Len(uint(s.NumDocs / s.DocFreq))
	if s.kind() == packed {
		return max(min(shift, maxPackedShift), minPackedShift)
	}
	return max(shift-1, bits.Len(rangeDocs)-1)
}

// numBuckets is the number of buckets of a sparse or bounded list.
func (s *Shape) numBuckets() int { return (s.NumDocs-1)>>s.bucketShift() + 1 }

// superStarts is the number of entries of the directory of a packed list per superblock: the starts of its buckets, and
// the end of the last one.
func (s *Shape) superStarts() int { return superDocs>>s.bucketShift() + 1 }

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
//	dense:   superMax, rangeMax, base, bitmap, rank, sat, freq, escapes
//	packed:  superMax, rangeMax, base, starts, docIDs, freq, escapes
//	bounded: superMax, rangeMax, starts, docIDs, sat, freq, escapes
//	sparse:  superMax, starts, docIDs, sat, freq, escapes
//
//	superMax u8 [numSupers]         bounds of superblocks
//	rangeMax u8 [supers*128]        bounds of ranges
//	base     u32 [supers]           first posting of a superblock
//	bitmap   u32 [supers*128]       documents of a range
//	rank     u16 [supers*128]       first posting of a range, counted from base
//	starts   u16 [supers*(n + 1)]   packed: first posting of each of the n buckets of a superblock, and their end, counted from base
//	         u32 [buckets + 1]      others: first posting of a bucket
//	docIDs   u16 [docFreq]          packed: counted from the bucket's first, and sat << 8
//	         u32 [docFreq]          others
//	sat      u8 [docFreq]           contributions
//	freq     u8, u16 [docFreq]      frequencies
//	escapes  u64 [2^n]              hash table of (posting+1)<<32 | freq
//
// All numbers are little-endian.
type layout struct {
	superMax, rangeMax, base, bitmap, rank uint32
	starts, docIDs                         uint32
	sat, freq, escapes                     uint32
	end                                    uint32
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
	l.base = part(when(k >= packed, supers), 4)
	l.bitmap = part(when(k == dense, supers*superRanges), 4)
	l.rank = part(when(k == dense, supers*superRanges), 2)
	if k == packed {
		l.starts = part(supers*s.superStarts(), 2)
		l.docIDs = part(s.DocFreq, 2)
	} else {
		l.starts = part(when(k < packed, s.numBuckets()+1), 4)
		l.docIDs = part(when(k < packed, s.DocFreq), 4)
	}
	l.sat = part(when(k != packed, s.DocFreq), 1)
	l.freq = part(s.DocFreq, s.freqBytes())
	l.escapes = part(s.escapes(), 8)
	l.end = uint32(at)
	return l
}

// SizeBytes returns the size of the image, a multiple of 128, its alignment.
func (s Shape) SizeBytes() int64 { l := s.layout(); return int64(l.end) * layoutUnit }
