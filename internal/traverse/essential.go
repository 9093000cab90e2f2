package traverse

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
)

// Essential estimates the postings that an OR must read: the length of MaxScore's essential
// lists at the best k-th contribution known from the lists (Strohman, Turtle and Croft, SIGIR
// 2005, §3.1). live is Query.Live. It does not allocate. Its time grows with the square of the legs, slowly up to fewLegs.
func Essential(legs []Leg, k int, live []uint64) int64 {
	return EssentialAt(legs, k, live, 1)
}

// EssentialAt is Essential at factor times the threshold.
func EssentialAt(legs []Leg, k int, live []uint64, factor float64) int64 {
	var threshold base.Score
	if live == nil && k > 0 {
		for i := range legs {
			threshold = max(threshold, legs[i].kth(k))
		}
	}
	threshold = base.Score(float64(threshold) * factor)
	if len(legs) > fewLegs {
		return essentialOfMany(legs, threshold)
	}
	// In the order of their bounds, the essential ones are the last.
	var order [fewLegs]uint8
	var bounds [fewLegs]base.Score
	for i := range legs {
		bound, at := legs[i].MaxScore, i
		for ; at > 0 && bounds[at-1] > bound; at-- {
			bounds[at], order[at] = bounds[at-1], order[at-1]
		}
		bounds[at], order[at] = bound, uint8(i)
	}
	sum, bound := int64(0), base.Score(0)
	for at := range legs {
		if bound += bounds[at]; bound >= threshold {
			sum += int64(legs[order[at]].List.DocFreq)
		}
	}
	return sum
}

const fewLegs = 64

// essentialOfMany sums the bounds before each leg again, without memory for an order.
func essentialOfMany(legs []Leg, threshold base.Score) int64 {
	sum := int64(0)
	for i := range legs {
		l := &legs[i]
		// The bound of l and of all lists before it.
		bound := base.Score(0)
		for j := range legs {
			if o := &legs[j]; o.MaxScore < l.MaxScore || o.MaxScore == l.MaxScore && j <= i {
				bound += o.MaxScore
			}
		}
		if bound >= threshold {
			sum += int64(l.List.DocFreq)
		}
	}
	return sum
}

// LikelyKth is the greatest leg.Leg.LikelyKth of the lists whose directories have bounds for the query.
func LikelyKth(legs []Leg, n float64) base.Score {
	var best base.Score
	for i := range legs {
		if legs[i].Bounds == nil {
			best = max(best, legs[i].Leg.LikelyKth(n))
		}
	}
	return best
}

// kth returns a score that at least k documents reach by this list alone if none is deleted, or 0.
func (l *Leg) kth(k int) base.Score {
	if l.Bounds != nil {
		return 0
	}
	for i, n := range postings.Kth {
		if n >= k && l.List.Kth[i] > 0 {
			return l.Scale.Lower(l.List.Kth[i])
		}
	}
	return 0
}
