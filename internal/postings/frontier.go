package postings

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// pair determines a posting's score, apart from its term. It dominates another if its freq is
// not smaller and its length not greater: it then scores at least as high for all K1, B and
// mean lengths.
type pair struct{ freq, length uint32 }

// frontierSet gathers pairs. Its frontier are the distinct ones that no other dominates: only the shortest length of each
// freq matters. A table covers small freqs, nearly all; a sort covers the rest.
type frontierSet struct {
	shortest [smallFreqs]uint32 // by freq in seen
	seen     uint64
	high     []pair
}

const smallFreqs = 64

// add costs no branch that depends on the length.
func (s *frontierSet) add(freq, length uint32) {
	if freq >= smallFreqs {
		s.high = append(s.high, pair{freq, length})
		return
	}
	unseen := uint32(s.seen>>freq&1) - 1 // all bits, or 0
	s.shortest[freq] = min(s.shortest[freq]|unseen, length)
	s.seen |= 1 << freq
}

// take appends the frontier, strictly rising in both members, and empties s.
func (s *frontierSet) take(dst []pair) []pair {
	start := len(dst)
	// Invariant: dst[start:] falls in both freq and length
	if len(s.high) > 0 {
		slices.SortFunc(s.high, func(a, b pair) int {
			return cmp.Or(cmp.Compare(b.freq, a.freq), cmp.Compare(a.length, b.length))
		})
		for _, p := range s.high {
			if n := len(dst); n == start || p.length < dst[n-1].length {
				dst = append(dst, p)
			}
		}
		s.high = s.high[:0]
	}
	for s.seen != 0 {
		freq := uint32(bits.Len64(s.seen) - 1)
		s.seen &^= 1 << freq
		length := s.shortest[freq]
		if n := len(dst); n == start || length < dst[n-1].length {
			dst = append(dst, pair{freq, length})
		}
	}
	slices.Reverse(dst[start:])
	return dst
}

func appendFrontier(dst []byte, pairs []pair) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(pairs)))
	freq, length := uint32(0), ^uint32(0) // -1: the first length is encoded unchanged
	for _, p := range pairs {
		dst = binary.AppendUvarint(dst, uint64(p.freq-freq-1))
		dst = binary.AppendUvarint(dst, uint64(p.length-length-1))
		freq, length = p.freq, p.length
	}
	return dst
}

type frontierReader struct {
	src []byte
	at  int
}

func (r *frontierReader) next(blockSize int, visit func(pair)) error {
	n, at := readVbyte(r.src, r.at)
	if at < 0 || n == 0 || int64(n) > int64(blockSize) {
		return fmt.Errorf("frontier at byte %d: %d pairs: %w", r.at, n, base.ErrCorrupt)
	}
	freq, length := uint64(0), uint64(0)
	for i := range n {
		var f, l uint32
		if f, at = readVbyte(r.src, at); at >= 0 {
			l, at = readVbyte(r.src, at)
		}
		if at < 0 {
			return fmt.Errorf("frontier at byte %d: pair %d: %w", r.at, i, base.ErrCorrupt)
		}
		freq += uint64(f) + 1
		length += uint64(l)
		if i > 0 {
			length++
		}
		if freq > 1<<32-1 || length > 1<<32-1 {
			return fmt.Errorf("frontier at byte %d: pair %d passes 2^32: %w", r.at, i, base.ErrCorrupt)
		}
		visit(pair{uint32(freq), uint32(length)})
	}
	r.at = at
	return nil
}

// FrontierBounds computes each block's BlockMaxScore under saturation s into dst[:0], and their
// maximum, as tight as the directory's, with a few operations a block. It is for another K1 or
// B; for another mean length use score.Scale.
func (l *List) FrontierBounds(dst []score.Bound, s score.Saturation) (bounds []score.Bound, maxBound score.Bound, err error) {
	dst = dst[:0]
	r := frontierReader{src: l.frontiers}
	var bound score.Bound
	visit := func(p pair) { bound = max(bound, s.Upper(p.freq, p.length)) }
	for i := range l.NumBlocks() {
		bound = 0
		if err := r.next(l.BlockSize(i), visit); err != nil {
			return dst, 0, fmt.Errorf("block %d: %w", i, err)
		}
		dst = append(dst, bound)
		maxBound = max(maxBound, bound)
	}
	return dst, maxBound, nil
}
