package saat

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// selection finds the best k of documents in increasing DocID order. Scores are small integers,
// so there is no heap: candidates are counted by score, and the required score rises as soon as
// k exceed it. A document costs an addition and a comparison, for any k.
type selection struct {
	k int
	// A bucket covers 1<<shift scores; counts holds the candidates of each.
	shift  int
	counts []uint32
	// cut is the lowest bucket with required candidates; reached is the number in it and above.
	cut     uint32
	reached int
	// A further document needs this score.
	need       uint64
	candidates []candidate
	limit      int // number of candidates at which those below cut are dropped
	sorted     []candidate
	// A score above bound sets passed: a list has a document twice.
	bound  uint32
	passed bool
}

type candidate struct{ docID, score uint32 }

// With more scores, several share a bucket.
const maxBuckets = 1 << 12

// Scores are at most bound, and at least k documents reach known (0: unknown).
func (s *selection) reset(k int, bound, known uint32) {
	s.k, s.bound, s.passed = k, bound, false
	s.shift = max(0, bits.Len32(bound)-bits.Len32(maxBuckets-1))
	n := int(bound>>s.shift) + 2
	s.counts = slices.Grow(s.counts[:0], n)[:n]
	clear(s.counts)
	s.cut, s.reached = known>>s.shift, 0
	s.need = uint64(max(known, 1))
	s.candidates = s.candidates[:0]
	s.limit = 4*k + 1024
}

// The score is at least s.need.
func (s *selection) add(docID, score uint32) {
	if score > s.bound {
		s.passed = true
		return
	}
	s.candidates = append(s.candidates, candidate{docID, score})
	s.counts[score>>s.shift]++
	s.reached++
	if s.reached < s.k {
		return
	}
	for s.reached-int(s.counts[s.cut]) >= s.k {
		s.reached -= int(s.counts[s.cut])
		s.cut++
	}
	s.need = max(s.need, uint64(s.cut)<<s.shift)
	if s.shift == 0 {
		// A later document with this score has a greater DocID.
		s.need = uint64(s.cut) + 1
	}
	if len(s.candidates) >= s.limit {
		s.drop()
	}
}

func (s *selection) drop() {
	kept := s.candidates[:0]
	for _, c := range s.candidates {
		if c.score>>s.shift >= s.cut {
			kept = append(kept, c)
		}
	}
	s.candidates = kept
	s.limit = max(s.limit, 2*len(kept))
}

func (s *selection) appendHits(dst []base.Hit) []base.Hit {
	s.drop()
	best := s.candidates
	if s.shift == 0 {
		best = s.countingSort()
	} else {
		slices.SortFunc(best, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.docID, b.docID))
		})
	}
	for _, c := range best[:min(s.k, len(best))] {
		dst = append(dst, base.Hit{DocID: base.DocID(c.docID), Score: base.Score(c.score)})
	}
	return dst
}

// Decreasing scores; stable.
func (s *selection) countingSort() []candidate {
	sum := uint32(0)
	for i := len(s.counts) - 1; i >= int(s.cut); i-- {
		n := s.counts[i]
		s.counts[i] = sum
		sum += n
	}
	s.sorted = slices.Grow(s.sorted[:0], len(s.candidates))[:len(s.candidates)]
	for _, c := range s.candidates {
		s.sorted[s.counts[c.score]] = c
		s.counts[c.score]++
	}
	return s.sorted
}
