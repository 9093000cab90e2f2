package postings

import (
	"slices"

	"github.com/griffin-search/griffin/internal/score"
)

// kthBest keeps the best Kth[len-1] of a stream of bounds. Values are gathered
// in a buffer of four times that many and thinned out when it is full, so that
// a value costs a comparison and, rarely, a share of a sort.
type kthBest struct {
	best  []score.Bound
	floor score.Bound // no value at or below it can change the answer
}

func (b *kthBest) reset() { b.best, b.floor = b.best[:0], 0 }

func (b *kthBest) add(v score.Bound) {
	if v <= b.floor {
		return
	}
	b.best = append(b.best, v)
	if keep := Kth[len(Kth)-1]; len(b.best) >= 4*keep {
		slices.Sort(b.best)
		n := copy(b.best, b.best[len(b.best)-keep:])
		b.best = b.best[:n]
		b.floor = b.best[0]
	}
}

// result returns the Kth[i]-th best values; 0 where there are fewer.
func (b *kthBest) result() (kth [len(Kth)]score.Bound) {
	slices.Sort(b.best)
	for i, k := range Kth {
		if len(b.best) >= k {
			kth[i] = b.best[len(b.best)-k]
		}
	}
	return kth
}
