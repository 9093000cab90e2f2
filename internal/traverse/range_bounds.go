package traverse

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

const (
	// rangeDocs is the number of documents of a range that has a bound of its own.
	rangeDocs = 32
	// rangesPerSuper is the number of ranges of a superblock.
	rangesPerSuper = 64
	superDocs      = rangeDocs * rangesPerSuper
)

// rangeBounds are the greatest contributions of a list in ranges of rangeDocs
// DocIDs, and in superblocks of rangesPerSuper ranges. All lists have the same
// ranges, so that bounds of several lists add up without a search (Mallia, Suel
// and Tonellotto, "Faster learned sparse retrieval with block-max pruning", SIGIR
// 2024, §3; superblocks: Carlson, Xie, He and Yang, "Dynamic superblock pruning
// for fast learned sparse retrieval", SIGIR 2025, §3).
//
// A bound is one byte, the number of steps of score.Bound, rounded up; 0 means
// that the list has no posting there.
type rangeBounds struct {
	step   score.Bound // of the units of supers and of bounds
	supers []uint8     // [superblock]
	// Of the ranges: bounds[range] if numbers is nil, else for the ranges that have
	// postings alone, with their numbers, those of superblock s at starts[s] to
	// starts[s+1].
	bounds  []uint8
	numbers []uint8 // range modulo rangesPerSuper
	starts  []uint32
}

// rangeBoundsOf are the range bounds of a list, by the parameters of the term's
// scores.
var rangeBoundsOf = derived.NewKind[rangeBounds]("range bounds")

// openRanges returns the leg's range bounds.
func (l *legState) openRanges(numDocs int) (*rangeBounds, error) {
	return rangeBoundsOf.Get(l.Derived, l.saturationKey(), func() (*rangeBounds, int64, error) {
		r, err := newRangeBounds(l.List, l.Term, l.Lengths, numDocs)
		if err != nil {
			return nil, 0, err
		}
		return r, int64(len(r.supers) + len(r.bounds) + len(r.numbers) + 4*len(r.starts)), nil
	})
}

// rangesStay reports whether what blockMaxPruning derives from the lists is kept,
// or will be: the bounds and the copies of the postings.
func rangesStay(legs []Leg) bool {
	missing, sizeBytes := 0, int64(0)
	var handle derived.List
	for i := range legs {
		leg := &legs[i]
		if leg.List.DocFreq == 0 {
			continue
		}
		boundsBytes, postingsBytes := rangeBytes(int(leg.List.DocFreq), len(leg.Lengths))
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

// rangeBytes returns how many bytes the rangeBounds and the rangePostings of a
// list hold at most.
func rangeBytes(docFreq, numDocs int) (bounds, copied int64) {
	numRanges := (numDocs + rangeDocs - 1) / rangeDocs
	numSupers := (numRanges + rangesPerSuper - 1) / rangesPerSuper
	entries := min(docFreq, numRanges)
	bounds = int64(2*entries + 4*(numSupers+1))
	if bounds >= int64(numRanges) {
		entries = numSupers * rangesPerSuper
		bounds = int64(entries)
	}
	return int64(numSupers) + bounds, copyBytes(docFreq, entries)
}

// copyBytes returns how many bytes rangePostings hold of postings in so many
// entries of bounds.
func copyBytes(numPostings, entries int) int64 { return 3*int64(numPostings) + 4*int64(entries+1) }

// newRangeBounds reads the list.
func newRangeBounds(l *postings.List, t score.Term, lengths []uint32, numDocs int) (*rangeBounds, error) {
	numRanges := (numDocs + rangeDocs - 1) / rangeDocs
	full := make([]score.Bound, numRanges)
	var c postings.Cursor
	c.Reset(l, nil)
	for c.NextBlock() != base.NoDocID {
		freqs := c.BlockFreqs()
		if freqs == nil {
			break
		}
		for i, d := range c.BlockDocIDs() {
			r := d / rangeDocs
			full[r] = max(full[r], t.Bound(freqs[i], lengths[d]), 1)
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	var most score.Bound
	used := 0
	for _, b := range full {
		most = max(most, b)
		if b > 0 {
			used++
		}
	}
	r := &rangeBounds{step: score.Bound((int(most) + 254) / 255)}
	numSupers := (numRanges + rangesPerSuper - 1) / rangesPerSuper
	r.supers = make([]uint8, numSupers)
	sparse := 2*used+4*(numSupers+1) < numRanges
	if sparse {
		r.starts = make([]uint32, 0, numSupers+1)
		r.bounds, r.numbers = make([]uint8, 0, used), make([]uint8, 0, used)
	} else {
		r.bounds = make([]uint8, numSupers*rangesPerSuper)
	}
	for i, b := range full {
		s := i / rangesPerSuper
		if sparse && i%rangesPerSuper == 0 {
			r.starts = append(r.starts, uint32(len(r.bounds)))
		}
		if b == 0 {
			continue
		}
		steps := uint8((int(b) + int(r.step) - 1) / int(r.step))
		r.supers[s] = max(r.supers[s], steps)
		if sparse {
			r.bounds, r.numbers = append(r.bounds, steps), append(r.numbers, uint8(i%rangesPerSuper))
		} else {
			r.bounds[i] = steps
		}
	}
	if sparse {
		r.starts = append(r.starts, uint32(len(r.bounds)))
	}
	return r, nil
}

// rangePostings are the postings of a list that has rangeBounds, uncompressed and
// found without a search: those of entry i of rangeBounds.bounds are starts[i] to
// starts[i+1]. It is what the paper calls the forward index of a block, list by
// list.
type rangePostings struct {
	starts []uint32
	at     []uint8  // DocID modulo rangeDocs
	freqs  []uint16 // lists with greater ones have no copy
}

// rangePostingsOf are kept as long as they leave room in the cache.
var rangePostingsOf = derived.NewKind[rangePostings]("range postings")

// openPostings returns a copy of the leg's postings; nil if there is no room for
// it, or a frequency is too large.
func (l *legState) openPostings(bounds *rangeBounds) (*rangePostings, error) {
	sizeBytes := copyBytes(int(l.List.DocFreq), len(bounds.bounds))
	p, err := rangePostingsOf.GetIfRoom(l.Derived, 0, sizeBytes, func() (*rangePostings, int64, error) {
		p, err := newRangePostings(l.List, bounds)
		if p.starts == nil {
			return p, 0, err
		}
		return p, sizeBytes, err
	})
	if p == nil || p.starts == nil {
		return nil, err
	}
	return p, err
}

// newRangePostings reads the list; the result is empty if a frequency is too
// large.
func newRangePostings(l *postings.List, bounds *rangeBounds) (*rangePostings, error) {
	p := &rangePostings{
		starts: make([]uint32, 0, len(bounds.bounds)+1),
		at:     make([]uint8, 0, l.DocFreq), freqs: make([]uint16, 0, l.DocFreq),
	}
	var c postings.Cursor
	c.Reset(l, nil)
	current := -1 // range of the last posting
	for c.NextBlock() != base.NoDocID {
		freqs := c.BlockFreqs()
		if freqs == nil {
			break
		}
		for i, d := range c.BlockDocIDs() {
			if r := int(d / rangeDocs); r != current {
				// A sparse list has an entry for this range, a dense one for each.
				for first := true; first || bounds.numbers == nil && len(p.starts) <= r; first = false {
					p.starts = append(p.starts, uint32(len(p.at)))
				}
				current = r
			}
			if freqs[i] > math.MaxUint16 {
				return new(rangePostings), nil
			}
			p.at, p.freqs = append(p.at, uint8(d%rangeDocs)), append(p.freqs, uint16(freqs[i]))
		}
	}
	for len(p.starts) < len(bounds.bounds)+1 {
		p.starts = append(p.starts, uint32(len(p.at)))
	}
	return p, c.Err()
}

// add adds the list's bounds in the ranges of superblock s, each times unit, to
// sums, and returns which ranges have postings.
func (r *rangeBounds) add(sums *[rangesPerSuper]base.Score, s int, unit base.Score) (used uint64) {
	if r.numbers == nil {
		bounds := (*[rangesPerSuper]uint8)(r.bounds[s*rangesPerSuper:])
		for i, b := range bounds {
			sums[i] += base.Score(b) * unit
			used |= (uint64(b) + 255) >> 8 << i // 1 unless b is 0
		}
		return used
	}
	from, to := r.starts[s], r.starts[s+1]
	bounds := r.bounds[from:to]
	for i, n := range r.numbers[from:to] {
		sums[n%rangesPerSuper] += base.Score(bounds[i]) * unit
		used |= 1 << (n % rangesPerSuper)
	}
	return used
}
