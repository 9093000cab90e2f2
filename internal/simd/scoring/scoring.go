package scoring

import (
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd"
)

// BlockLen is the number of postings of a full block.
const BlockLen = 128

// Term has the parameters of a term's contributions, as score.Term: round(Weight*freq / (freq +
// (C0 + C1*length))) in float32, each operation rounded, or round(Weight*freq) if Linear.
type Term struct {
	Weight, C0, C1 float32
	Linear         bool
}

// Contributions sets dst[i] to the contribution of freqs[i] in a document of lengths[docIDs[i]]
// tokens (unread if t.Linear). DocIDs must be below len(lengths), contributions below 2^32; dst
// and freqs have the length of docIDs, and dst is none of the inputs.
func Contributions(dst, docIDs, freqs, lengths []uint32, t *Term) {
	n := len(docIDs)
	contributions(dst[:n], docIDs, freqs[:n], lengths, t)
}

// Match looks up docIDs in block. Both increase strictly, block up to padding that no DocID
// exceeds. It stops at the first DocID above last and returns the number before it. Match i, of
// matches, is docIDs[of[i]], equal to block[at[i]].
func Match(of, at *[BlockLen]uint8, docIDs []uint32, block *[BlockLen]uint32, last uint32) (looked, matches int) {
	return match(of, at, docIDs[:min(len(docIDs), BlockLen)], block, last)
}

const (
	// Window is the number of accumulators.
	Window = 1 << 14
	// lineLen accumulators, one vector, share a mark.
	lineLen = 16
)

// Accumulators hold the sums of a window's documents. The zero value is ready to use. Between
// windows, all sums are 0 and unmarked.
type Accumulators struct {
	sums [Window]uint32
	// marks[i] is not 0 if any of sums[16*i:][:16] may be.
	marks [Window / lineLen]uint8
	// touched has the documents passed to AddAny.
	touched [Window / 64]uint64
}

// Add adds contributions[i] to the sum of docIDs[i], in [first, first+Window).
func (a *Accumulators) Add(docIDs, contributions []uint32, first uint32) {
	contributions = contributions[:len(docIDs)]
	for i, d := range docIDs {
		at := (d - first) % Window
		a.sums[at] += contributions[i]
		a.marks[at/lineLen] = 1
	}
}

// Collect writes DocIDs, in increasing order, and sums of the documents in [first, first+n)
// that reach least, not 0, and returns their number. It zeroes the n sums, rounded up to a
// multiple of 16, for which docIDs and sums must have room. No contributions may lie beyond
// those n documents, because vectors would write out of bounds.
func (a *Accumulators) Collect(docIDs, sums []uint32, first uint32, n int, least uint32) int {
	lines := (min(n, Window) + lineLen - 1) / lineLen
	return collect(a, docIDs[:lines*lineLen], sums[:lines*lineLen], first, lines, least)
}

// AddAny is Add for CollectAny. Marking documents is slower in long windows, but faster without
// vectors (see AnyPays). Do not mix it with Add between two collections.
func (a *Accumulators) AddAny(docIDs, contributions []uint32, first uint32) {
	contributions = contributions[:len(docIDs)]
	for i, d := range docIDs {
		at := (d - first) % Window
		a.sums[at] += contributions[i]
		a.touched[at/64] |= 1 << (at % 64)
	}
}

// AnyPays reports whether AddAny and CollectAny are faster.
func AnyPays() bool { return simd.Current() == simd.PureGo }

// CollectAny is Collect for any least. With 0 it also returns documents whose contributions
// are 0.
func (a *Accumulators) CollectAny(docIDs, sums []uint32, first uint32, n int, least uint32) int {
	words := (min(n, Window) + 63) / 64
	found := 0
	for i := 0; i < words; i += 64 {
		// Without branches: in a sparse window the words are unpredictable.
		some := uint64(0)
		for j, word := range a.touched[i:min(i+64, words)] {
			some |= (word | -word) >> 63 << (j & 63)
		}
		for ; some != 0; some &= some - 1 {
			j := (i + bits.TrailingZeros64(some)) % len(a.touched)
			word := a.touched[j]
			a.touched[j] = 0
			for ; word != 0; word &= word - 1 {
				at := (j*64 + bits.TrailingZeros64(word)) % Window
				docIDs[found], sums[found] = first+uint32(at), a.sums[at]
				if a.sums[at] >= least {
					found++
				}
				a.sums[at] = 0
			}
		}
	}
	return found
}

// Select moves docIDs[i] and scores[i] that reach least to the front of toDocIDs and toScores,
// in order, and returns their number. All slices have the length of docIDs; outputs may be the
// inputs.
func Select(toDocIDs, toScores, docIDs, scores []uint32, least uint32) int {
	n := len(docIDs)
	return selectScores(toDocIDs[:n], toScores[:n], docIDs, scores[:n], least)
}

// Intersect copies the docIDs that are in the set, in order, and their indexes to of, and returns their number. Bit
// d%64 of set[d/64] stands for d; no other document is in the set. The rest of to and of is undefined.
func Intersect(to *[BlockLen]uint32, of *[BlockLen]uint8, docIDs []uint32, set []uint64) int {
	return intersect(to, of, docIDs[:min(len(docIDs), BlockLen)], set)
}

// Prefetch begins to load the cache lines of p. Without assembly it does nothing.
func Prefetch(p []byte) {
	if len(p) > 0 {
		prefetch(&p[0], len(p))
	}
}
