package postings

import (
	"slices"

	"github.com/griffin-search/griffin/internal/score"
)

// kthBest selects the Kth best of a stream of bounds. A full buffer, four times the largest k,
// is thinned, so most values cost one comparison.
type kthBest struct {
	best  []score.Bound
	floor score.Bound // values up to floor cannot change the result
}

func (b *kthBest) reset() { b.best, b.floor = b.best[:0], 0 }

// add adds up to codec.BlockLen values. It costs no branch that depends on a value.
func (b *kthBest) add(values []score.Bound) {
	n := len(b.best)
	b.best = slices.Grow(b.best, len(values))[:n+len(values)]
	for _, v := range values {
		b.best[n] = v
		if v > b.floor {
			n++
		}
	}
	b.best = b.best[:n]
	if n >= 4*Kth[len(Kth)-1] {
		b.thin()
	}
}

// thin keeps the values that can change the result.
func (b *kthBest) thin() {
	var kth [len(Kth)]score.Bound
	countBest(b.best, &kth)
	keep := Kth[len(Kth)-1]
	b.floor = kth[len(Kth)-1]
	n := 0 // Invariant: fewer than keep values are above the floor
	for _, v := range b.best {
		b.best[n] = v
		if v > b.floor {
			n++
		}
	}
	for ; n < keep; n++ {
		b.best[n] = b.floor
	}
	b.best = b.best[:keep]
}

// result returns the Kth[i]-th best values, 0 if there are fewer.
func (b *kthBest) result() (kth [len(Kth)]score.Bound) {
	switch n := len(b.best); {
	case n < Kth[0]:
	case n < minCounted:
		selectBest(b.best, Kth[0])
		kth[0] = b.best[Kth[0]-1]
	default:
		countBest(b.best, &kth)
	}
	return kth
}

// minCounted is the number of values from which on countBest is faster than selectBest. It is at most Kth[1].
const minCounted = 20

// countBest sets kth[i] for each Kth[i] up to the number of values. It counts values by their high bytes, then
// the values with the high byte of a result by their low bytes. Branches of comparisons would be harder to predict.
func countBest(values []score.Bound, kth *[len(Kth)]score.Bound) {
	var highs, lows [1 << 8]uint16 // at most 4*Kth[len(Kth)-1]+codec.BlockLen values
	best := score.Bound(0)
	for _, v := range values {
		highs[v>>8]++
		best = max(best, v)
	}
	high, above := int(best>>8), 0 // above counts values with a higher byte than high
	counted := -1
	for i, k := range Kth {
		if len(values) < k {
			return
		}
		for above+int(highs[high]) < k {
			above += int(highs[high])
			high--
		}
		if counted != high {
			counted = high
			lows = [1 << 8]uint16{}
			for _, v := range values {
				same := uint16(0)
				if int(v>>8) == high {
					same = 1
				}
				lows[v&0xff] += same
			}
		}
		low, rest := len(lows), k-above
		for rest > 0 {
			low--
			rest -= int(lows[low])
		}
		kth[i] = score.Bound(high<<8 | low)
	}
}

// selectBest moves the k best values to the front, ending with the k-th best; 1 <= k <=
// len(values) (C. A. R. Hoare, "Algorithm 65: find", CACM 1961, with the median of three as
// pivot).
func selectBest(values []score.Bound, k int) {
	for low, high := 0, len(values)-1; low < high; {
		a, m, z := values[low], values[(low+high)/2], values[high]
		pivot := max(min(a, m), min(max(a, m), z))
		i, j := low, high
		for i <= j {
			for values[i] > pivot {
				i++
			}
			for values[j] < pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k-1 <= j:
			high = j
		case k-1 >= i:
			low = i
		default: // all values between equal the pivot
			low = high
		}
	}
	// Invariant: values[:k-1] >= values[k-1] >= values[k:]
}
