package score

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
)

// Bound is a contribution's saturation freq/(freq+K) in units of 1/65535, without the idf,
// which changes with the collection. Upper bounds (of a block or list) are rounded up, lower
// ones (a k-th best) down. For external weights (Saturation.Linear) it is the weight, at most
// MaxBound.
type Bound uint16

// MaxBound is saturation 1.
const MaxBound Bound = math.MaxUint16

// Saturation is the part of BM25 that a Bound covers, with the mean length of bounds.
type Saturation struct {
	BM25
	AvgLen float64
	// Linear: frequencies are external weights and bounds; BM25 and AvgLen are ignored.
	Linear bool
}

func (s Saturation) value(freq, length uint32) float64 {
	avg := meanOf(s.AvgLen)
	k1, b := float64(s.K1), float64(s.B)
	f := float64(freq)
	if f+k1 == 0 {
		return 0
	}
	return f / (f + float64(k1*(1-b)) + float64(k1*b/avg*float64(length)))
}

// meanOf is the mean length that scores use: 1 if no live document has a length. Deleted ones may have.
func meanOf(avg float64) float64 {
	if !(avg > 0) {
		return 1
	}
	return avg
}

// Bounds returns a posting's bound, rounded down and up.
func (s Saturation) Bounds(freq, length uint32) (lower, upper Bound) {
	if s.Linear {
		b := Bound(min(freq, uint32(MaxBound)))
		return b, b
	}
	v := s.value(freq, length) * float64(MaxBound)
	lower = Bound(v)
	upper = lower
	if float64(lower) < v {
		upper++
	}
	return lower, upper
}

// Upper is rounded up.
func (s Saturation) Upper(freq, length uint32) Bound {
	_, upper := s.Bounds(freq, length)
	return upper
}

// Bound is the saturation under the term's own parameters, rounded up; NewScale(t, 0, 0).Upper
// of it bounds Score(freq, length) as tightly as an index built with these.
func (t Term) Bound(freq, length uint32) Bound {
	if t.Linear {
		return Bound(min(freq, uint32(MaxBound)))
	}
	f := float64(max(freq, 1))
	v := f / (f + float64(t.C0) + float64(float64(t.C1)*float64(length))) * float64(MaxBound)
	b := Bound(v)
	if float64(b) < v {
		b++
	}
	return b
}

// Scale converts Bounds to Scores for one query term, also after the mean length has changed.
// With r = avgLenNow/avgLenThen: if r > 1, K decreases at most by r, so saturation increases at
// most by r; if r < 1, saturation only decreases, at most by r.
type Scale struct {
	up, down float64
}

// NewScale is for bounds with the term's K1 and B, computed with mean length avgThen (the
// segment's), in a collection with avgNow.
func NewScale(t Term, avgThen, avgNow float64) Scale {
	r := 1.0
	if avgThen > 0 {
		r = meanOf(avgNow) / avgThen
	}
	// Term.Score's float32 arithmetic errs by less than 2^-20 of the value: weight, C0, C1,
	// freq and length are rounded, then five operations and the final addition, each by at most
	// 2^-24; K's part counts at most once. slack covers this and the rounding here, 2^-53 a
	// step.
	const slack = 1.0 / (1 << 20)
	if t.Linear { // one rounded product and sum of an exact bound
		w := float64(t.Weight)
		return Scale{up: w * (1 + slack), down: w * (1 - slack)}
	}
	w := float64(t.Weight) / float64(MaxBound)
	return Scale{up: w * max(r, 1) * (1 + slack), down: w * min(r, 1) * (1 - slack)}
}

// Upper returns a Score that no contribution with saturation at most b exceeds.
func (s Scale) Upper(b Bound) base.Score { return base.Score(s.up*float64(b)) + 1 }

// Lower returns a Score that contributions with saturation at least b reach.
func (s Scale) Lower(b Bound) base.Score {
	return base.Score(max(float64(s.down*float64(b))-1, 0))
}
