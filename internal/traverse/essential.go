package traverse

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// Essential estimates the postings that an OR must read: the length of MaxScore's essential
// lists at the best k-th contribution known from the lists (Strohman, Turtle and Croft, SIGIR
// 2005, §3.1). live is Query.Live. It does not allocate; its time is quadratic in the number of
// legs.
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

// LikelyKth estimates a score that n documents reach by one of the lists alone if none is deleted or masked, or
// returns 0 if nothing is known. Between the known k-th best contributions of a list it interpolates in log n, and
// after the last it goes on as before.
func LikelyKth(legs []Leg, n float64) base.Score {
	var best base.Score
	for i := range legs {
		best = max(best, legs[i].likelyKth(n))
	}
	return best
}

func (l *Leg) likelyKth(n float64) base.Score {
	if l.Bounds != nil || float64(l.List.DocFreq) < n {
		return 0
	}
	kth, known := &l.List.Kth, &postings.Kth
	at := 0
	for at < len(known) && float64(known[at]) < n {
		at++
	}
	switch {
	case at == 0:
		return l.kth(known[0])
	case at == len(known):
		at--
	}
	if kth[at] == 0 { // fewer documents than known[at]
		return 0
	}
	falls := float64(kth[at-1]-kth[at]) / math.Log(float64(known[at])/float64(known[at-1]))
	likely := float64(kth[at-1]) - float64(falls*math.Log(n/float64(known[at-1])))
	if likely < 1 {
		return 0
	}
	return l.Scale.Lower(score.Bound(likely))
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
