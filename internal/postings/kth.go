package postings

import "github.com/griffin-search/griffin/internal/score"

// kthBest selects the Kth best of a stream of bounds. A full buffer, four times the largest k,
// is thinned, so most values cost one comparison.
type kthBest struct {
	best  []score.Bound
	floor score.Bound // values up to floor cannot change the result
}

func (b *kthBest) reset() { b.best, b.floor = b.best[:0], 0 }

func (b *kthBest) add(v score.Bound) {
	if v <= b.floor {
		return
	}
	b.best = append(b.best, v)
	if keep := Kth[len(Kth)-1]; len(b.best) >= 4*keep {
		selectBest(b.best, keep)
		b.best = b.best[:keep]
		b.floor = b.best[keep-1]
	}
}

// result returns the Kth[i]-th best values, 0 if there are fewer.
func (b *kthBest) result() (kth [len(Kth)]score.Bound) {
	best := b.best
	for i := len(Kth) - 1; i >= 0; i-- { // each among the best of the previous
		if k := Kth[i]; len(best) >= k {
			selectBest(best, k)
			best = best[:k]
			kth[i] = best[k-1]
		}
	}
	return kth
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
