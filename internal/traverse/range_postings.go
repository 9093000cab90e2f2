package traverse

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
)

// Superblocks that share one full offset in rangePostings; their offsets differ by less than
// 2^16.
const supersPerBase = 16

// rangePostings are a list's postings, uncompressed and located without a search: the paper's
// forward index of a block, list by list.
type rangePostings struct {
	// starts are the low 16 bits of the offsets in at of rangeBounds.bounds' entries, and of
	// the end; bases are every supersPerBase-th superblock's full offsets, up to the last posting.
	starts []uint16
	bases  []uint32
	at     []uint8 // DocID modulo rangeDocs
	// Frequencies: small if all fit, else large. A list with greater ones has no copy.
	small []uint8
	large []uint16
}

// Kept only while the cache has room.
var rangePostingsOf = derived.NewKind[rangePostings]("range postings")

// rangesStay reports whether blockMaxPruning's derived structures for lists of weights,
// bounds and copies, are kept or have room.
func rangesStay(legs []Leg) bool {
	missing, sizeBytes := 0, int64(0)
	var handle derived.List
	for i := range legs {
		leg := &legs[i]
		if leg.List.DocFreq == 0 {
			continue
		}
		// For linear terms the bound is the frequency.
		boundsBytes, postingsBytes := rangeBytes(int(leg.List.DocFreq), uint32(leg.List.Max), len(leg.Lengths))
		if !rangeBoundsOf.Keeps(leg.Derived, leg.saturationKey()) {
			missing++
			sizeBytes += boundsBytes
		}
		if !rangePostingsOf.Keeps(leg.Derived, 0) {
			missing++
			sizeBytes += postingsBytes
		}
		handle = leg.Derived
	}
	return missing == 0 || handle.Room(missing, sizeBytes)
}

// rangeBytes returns the maximum bytes of a list's rangeBounds and rangePostings.
func rangeBytes(docFreq int, maxFreq uint32, numDocs int) (bounds, copied int64) {
	numRanges := (numDocs + rangeDocs - 1) / rangeDocs
	numSupers := (numRanges + rangesPerSuper - 1) / rangesPerSuper
	entries := min(docFreq, numRanges)
	bounds = int64(2*entries + 4*(numSupers+1))
	if bounds >= int64(numRanges) {
		entries = numSupers * rangesPerSuper
		bounds = int64(entries)
	}
	return int64(numSupers) + bounds, copyBytes(docFreq, entries, numSupers, maxFreq)
}

// copyBytes returns the bytes of rangePostings with the given number of entries, or 0 if
// a frequency is too large for a copy.
func copyBytes(numPostings, entries, numSupers int, maxFreq uint32) int64 {
	freqBytes := int64(1)
	switch {
	case maxFreq > math.MaxUint16:
		return 0
	case maxFreq > math.MaxUint8:
		freqBytes = 2
	}
	return (1+freqBytes)*int64(numPostings) + 2*int64(entries+1) + 4*int64((numSupers+supersPerBase-1)/supersPerBase)
}

// openPostings returns a copy of the leg's postings, or nil if there is no room or a
// frequency is too large.
func (l *legState) openPostings(bounds *rangeBounds) (*rangePostings, error) {
	sizeBytes := copyBytes(int(l.List.DocFreq), len(bounds.bounds), len(bounds.supers), bounds.maxFreq)
	if sizeBytes == 0 {
		return nil, nil
	}
	return rangePostingsOf.GetIfRoom(l.Derived, 0, sizeBytes, func() (*rangePostings, int64, error) {
		p, err := newRangePostings(l.List, bounds)
		return p, sizeBytes, err
	})
}

// newRangePostings reads the list, whose frequencies must fit in 16 bits.
func newRangePostings(l *postings.List, bounds *rangeBounds) (*rangePostings, error) {
	p := &rangePostings{
		starts: make([]uint16, 0, len(bounds.bounds)+1),
		bases:  make([]uint32, (len(bounds.supers)+supersPerBase-1)/supersPerBase),
		at:     make([]uint8, 0, l.DocFreq),
	}
	small := bounds.maxFreq <= math.MaxUint8
	if small {
		p.small = make([]uint8, 0, l.DocFreq)
	} else {
		p.large = make([]uint16, 0, l.DocFreq)
	}
	var c postings.Cursor
	c.Reset(l, nil)
	current, based := -1, 0 // range of the last posting; number of bases set
	for c.NextBlock() != base.NoDocID {
		freqs := c.BlockFreqs() // after an error, the block is empty
		for i, d := range c.BlockDocIDs() {
			if r := int(d / rangeDocs); r != current {
				for ; based <= r/(rangesPerSuper*supersPerBase); based++ {
					p.bases[based] = uint32(len(p.at))
				}
				// A sparse list has an entry for this range, a dense one for every range.
				for first := true; first || bounds.numbers == nil && len(p.starts) <= r; first = false {
					p.starts = append(p.starts, uint16(len(p.at)))
				}
				current = r
			}
			p.at = append(p.at, uint8(d%rangeDocs))
			if small {
				p.small = append(p.small, uint8(freqs[i]))
			} else {
				p.large = append(p.large, uint16(freqs[i]))
			}
		}
	}
	for len(p.starts) < len(bounds.bounds)+1 {
		p.starts = append(p.starts, uint16(len(p.at)))
	}
	return p, c.Err()
}

// entry returns the range in at of entry i of the bounds, which belongs to superblock s.
func (p *rangePostings) entry(s, i int) (from, to int) {
	near := p.bases[s/supersPerBase]
	from = int(near) + int(p.starts[i]-uint16(near)) // modulo 2^16
	return from, from + int(p.starts[i+1]-p.starts[i])
}
