package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

const (
	rangeDocs      = 32
	rangesPerSuper = 64
	superDocs      = rangeDocs * rangesPerSuper
)

// rangeBounds are a list's greatest contributions in ranges of rangeDocs DocIDs and superblocks
// of rangesPerSuper ranges. All lists have the same ranges, so bounds add up without a search
// (Mallia et al., SIGIR 2024, §3; superblocks: Carlson et al., SIGIR 2025, §3; see
// blockMaxPruning).
//
// A bound is one byte, a number of steps rounded up; 0 means no posting.
type rangeBounds struct {
	step   score.Bound // unit of supers and bounds
	supers []uint8     // [superblock]
	// If numbers is nil, bounds[range]; otherwise ranges with postings, whose numbers are in
	// numbers; superblock s has starts[s] to starts[s+1].
	bounds  []uint8
	numbers []uint8 // range modulo rangesPerSuper
	starts  []uint32
	maxFreq uint32
}

// Keyed by the parameters of the term's scores.
var rangeBoundsOf = derived.NewKind[rangeBounds]("range bounds")

func (l *legState) openRanges(numDocs int) (*rangeBounds, error) {
	return rangeBoundsOf.Get(l.Derived, l.saturationKey(), func() (*rangeBounds, int64, error) {
		r, err := newRangeBounds(l.List, l.Term, l.Lengths, numDocs)
		if err != nil {
			return nil, 0, err
		}
		return r, int64(len(r.supers) + len(r.bounds) + len(r.numbers) + 4*len(r.starts)), nil
	})
}

func newRangeBounds(l *postings.List, t score.Term, lengths []uint32, numDocs int) (*rangeBounds, error) {
	numRanges := (numDocs + rangeDocs - 1) / rangeDocs
	full := make([]score.Bound, numRanges)
	maxFreq := uint32(0)
	var c postings.Cursor
	c.Reset(l, nil)
	for c.NextBlock() != base.NoDocID {
		freqs := c.BlockFreqs() // after an error, the block is empty
		for i, d := range c.BlockDocIDs() {
			r := d / rangeDocs
			full[r] = max(full[r], t.Bound(freqs[i], lengths[d]), 1)
			maxFreq = max(maxFreq, freqs[i])
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
	r := &rangeBounds{step: score.Bound((int(most) + 254) / 255), maxFreq: maxFreq}
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

// add adds the bounds of superblock s's ranges, times unit, to sums, and returns a
// bitmap of the ranges with postings.
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
