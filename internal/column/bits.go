package column

import (
	"sync"

	kernels "github.com/griffin-search/griffin/internal/simd/column"
)

// rankBits is a set of ranks or of positions of values, with two words more than their number
// needs.
type rankBits []uint64

var pool sync.Pool

// borrow returns an empty set over n numbers, for giveBack.
func borrow(n uint64) rankBits {
	size := numWords(n) + 2
	if b, ok := pool.Get().(*rankBits); ok && cap(*b) >= size {
		s := (*b)[:size]
		clear(s)
		return s
	}
	return make(rankBits, size)
}

func giveBack(s rankBits) {
	if s != nil {
		pool.Put(&s)
	}
}

// from returns 64 bits from position at on.
func (s rankBits) from(at uint64) uint64 {
	w := s[at/64] >> (at % 64)
	if at%64 != 0 {
		w |= s[at/64+1] << (64 - at%64)
	}
	return w
}

func (s rankBits) count() int { return kernels.Ones(s) }

// any reports whether one of the positions [from, to) is set.
func (s rankBits) any(from, to uint64) bool {
	if from >= to {
		return false
	}
	first, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(63-(to-1)%64)
	if first == last {
		return s[first]&head&tail != 0
	}
	if s[first]&head != 0 || s[last]&tail != 0 {
		return true
	}
	for _, w := range s[first+1 : last] {
		if w != 0 {
			return true
		}
	}
	return false
}

// setBits sets the bits [from, to).
func setBits(words []uint64, from, to uint64) {
	if from >= to {
		return
	}
	first, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(63-(to-1)%64)
	if first == last {
		words[first] |= head & tail
		return
	}
	words[first] |= head
	for i := first + 1; i < last; i++ {
		words[i] = ^uint64(0)
	}
	words[last] |= tail
}

// orBlock ORs the bits of block i's n values.
func orBlock(words []uint64, i int, set *[2]uint64, n int) {
	if n < blockLen {
		if n < 64 {
			set[0] &= 1<<n - 1
			set[1] = 0
		} else {
			set[1] &= 1<<(n-64) - 1
		}
	}
	words[2*i] |= set[0]
	if n > 64 {
		words[2*i+1] |= set[1]
	}
}
