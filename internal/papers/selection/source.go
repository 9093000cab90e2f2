package selection

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Score is in 32 bits, or the wide sum of package scoring.
type Score interface{ uint32 | uint64 }

// Source is scores in device memory, with conditions for hits.
type Source[S Score] struct {
	Scores cuda.Buffer[S] // 16-byte aligned
	// Distinct, each below 2^32-1 with Base added. Zero: score i belongs to
	// document i, as in accumulators.
	DocIDs cuda.Buffer[uint32]
	// Bit d%32 of word d/32 is set if document d is not deleted. Zero: all are
	// live.
	Live cuda.Buffer[uint32]
	// Count, unless it is the zero Buffer, holds the number of scores in device
	// memory, at most Scores.Len().
	Count cuda.Buffer[uint32]
	// If *Matches, written by earlier work, is at least Enough, the results stay
	// unchanged. Zero: no condition.
	Matches cuda.Buffer[uint32]
	Enough  uint32
	Base    base.DocID
	// Lower scores are excluded. Narrow accumulators need 1: there 0 is a document
	// without postings.
	LeastScore uint32
	// Documents with fewer postings are excluded, for wide sums: 1 for OR.
	LeastPostings uint32
}

// Array is a Source of narrow scores for kernels.
type Array struct {
	scores                              uint64
	docIDs, live, numScores, matches    cuda.Ptr[uint32]
	enough, maxScores, base, leastScore uint32
	leastMatches, _                     uint32
}

// NewArray is for Selector.Arrays. The error wraps ErrShape if buffers do not
// fit together.
func NewArray(s Source[uint32]) (Array, error) { return s.array() }

func (s *Source[S]) array() (Array, error) {
	if err := s.check(); err != nil {
		return Array{}, err
	}
	n := s.Scores.Len()
	return Array{
		scores: uint64(s.Scores.Ptr()), docIDs: s.DocIDs.Ptr(), live: s.Live.Ptr(), numScores: s.Count.Ptr(), matches: s.Matches.Ptr(),
		enough: s.Enough, maxScores: uint32(n), base: uint32(s.Base), leastScore: s.LeastScore, leastMatches: s.LeastPostings,
	}, nil
}

// check returns an error if buffers do not fit together.
func (s *Source[S]) check() error {
	n, byNumber := s.Scores.Len(), s.DocIDs.IsZero()
	switch {
	case uint64(n) > 1<<32-1 || s.Scores.Ptr()%16 != 0:
		return fmt.Errorf("%d scores at %#x: %w", n, s.Scores.Ptr(), ErrShape)
	case !byNumber && s.DocIDs.Len() < n:
		return fmt.Errorf("%d scores with %d DocIDs: %w", n, s.DocIDs.Len(), ErrShape)
	case byNumber && uint64(n)+uint64(s.Base) > 1<<32-1:
		return fmt.Errorf("%d scores of documents from %d on: %w", n, s.Base, ErrShape)
	case byNumber && !s.Live.IsZero() && 32*uint64(s.Live.Len()) < uint64(n):
		return fmt.Errorf("%d scores with %d words of live documents: %w", n, s.Live.Len(), ErrShape)
	}
	return nil
}

// Key is a hit as one number that increases with its rank: the score above,
// ^DocID below. 0 is not a hit.
type Key uint64

// WideKey is the same in 128 bits: the low and the high word.
type WideKey [2]uint64

// AppendHits appends hits up to the first key 0.
func AppendHits(dst []base.Hit, keys []Key) []base.Hit {
	for _, k := range keys {
		if k == 0 {
			break
		}
		dst = append(dst, base.Hit{DocID: base.DocID(^uint32(k)), Score: base.Score(k >> 32)})
	}
	return dst
}

// AppendWideHits is AppendHits for wide keys.
func AppendWideHits(dst []base.Hit, keys []WideKey) []base.Hit {
	for _, k := range keys {
		if k == (WideKey{}) {
			break
		}
		dst = append(dst, base.Hit{DocID: base.DocID(^uint32(k[0])), Score: base.Score(k[1]<<32 | k[0]>>32)})
	}
	return dst
}
