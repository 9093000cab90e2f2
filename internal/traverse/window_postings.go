package traverse

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
)

// windowPostings are a list of weights, uncompressed, for windowedTAAT: at least 3 bytes per
// posting.
type windowPostings struct {
	// Part p of RangeDocs documents has the postings from starts[p] to starts[p+1].
	starts []uint32
	docIDs []uint16 // modulo 2^16
	// Weights: small if all fit, else large. A list with greater ones has no copy.
	small []uint8
	large []uint16
}

// Kept only while the cache has room.
var windowPostingsOf = derived.NewKind[windowPostings]("window postings")

// windowPostingsBytes returns the bytes of a leg's windowPostings, or 0 if it cannot have any. For linear
// terms List.Max is the greatest weight.
func (l *Leg) windowPostingsBytes() int64 {
	if !l.Term.Linear || l.List.Max == math.MaxUint16 { // greater weights have this bound, too
		return 0
	}
	weightBytes := int64(1)
	if l.List.Max > math.MaxUint8 {
		weightBytes = 2
	}
	return (2+weightBytes)*int64(l.List.DocFreq) + 4*int64(numParts(len(l.Lengths))+1)
}

func numParts(numDocs int) int { return (numDocs + RangeDocs - 1) / RangeDocs }

// windowsStay reports whether the legs' windowPostings are kept or have room.
func windowsStay(legs []Leg) bool {
	missing, sizeBytes := 0, int64(0)
	var handle derived.List
	for i := range legs {
		leg := &legs[i]
		if leg.List.DocFreq == 0 {
			continue
		}
		needs := leg.windowPostingsBytes()
		if needs == 0 {
			return false
		}
		if !windowPostingsOf.Keeps(leg.Derived, 0) {
			missing++
			sizeBytes += needs
		}
		handle = leg.Derived
	}
	return missing == 0 || handle.Room(missing, sizeBytes)
}

// openWindows returns a copy of the leg's postings, or nil if it cannot have one or there is no room.
func (l *legState) openWindows() (*windowPostings, error) {
	sizeBytes := l.windowPostingsBytes()
	if sizeBytes == 0 {
		return nil, nil
	}
	return windowPostingsOf.GetIfRoom(l.Derived, 0, sizeBytes, func() (*windowPostings, int64, error) {
		w, err := newWindowPostings(l.List, len(l.Lengths))
		return w, sizeBytes, err
	})
}

// newWindowPostings returns ErrCorrupt if a weight is above List.Max.
func newWindowPostings(l *postings.List, numDocs int) (*windowPostings, error) {
	w := &windowPostings{
		starts: make([]uint32, 0, numParts(numDocs)+1),
		docIDs: make([]uint16, 0, l.DocFreq),
	}
	small := l.Max <= math.MaxUint8
	if small {
		w.small = make([]uint8, 0, l.DocFreq)
	} else {
		w.large = make([]uint16, 0, l.DocFreq)
	}
	var c postings.Cursor
	c.Reset(l, nil)
	for c.NextBlock() != base.NoDocID {
		weights := c.BlockFreqs() // after an error, the block is empty
		for i, d := range c.BlockDocIDs() {
			if weights[i] > uint32(l.Max) {
				return nil, fmt.Errorf("document %d: weight %d is above the list's maximum %d: %w", d, weights[i], l.Max, base.ErrCorrupt)
			}
			for len(w.starts) <= int(d/RangeDocs) {
				w.starts = append(w.starts, uint32(len(w.docIDs)))
			}
			w.docIDs = append(w.docIDs, uint16(d))
			if small {
				w.small = append(w.small, uint8(weights[i]))
			} else {
				w.large = append(w.large, uint16(weights[i]))
			}
		}
	}
	for len(w.starts) < cap(w.starts) {
		w.starts = append(w.starts, uint32(len(w.docIDs)))
	}
	return w, c.Err()
}
