package dispatch

import (
	"math"
	"sync/atomic"
)

// selectivity corrects the estimate that terms are independent, by the number of lists
// intersected before: the words of a query occur together. It is safe for concurrent use.
type selectivity struct {
	logs    [maxSelectivity]atomic.Uint64 // bits of a logarithm, minus the initial one
	factors [maxSelectivity]atomic.Uint64 // bits of e to the power of that logarithm; 0: the initial one
}

// firstSelectivity has the logarithms of the initial corrections, from the second list on:
// means over the queries, of 2,000 of the TREC Terabyte logs on the Wikipedia passages, that
// expect more than one document (760, 207, 68, 29 and 9).
var firstSelectivity = [maxSelectivity]float64{0.75, 0.7, 0.3, 0.17, 0.12}

const (
	maxSelectivity = 5
	// selectivityDecay is the weight of an observation, and maxSelectivityLog the greatest logarithm.
	selectivityDecay  = 1.0 / 16
	maxSelectivityLog = 3
)

func (s *selectivity) log(i int) float64 {
	at := min(i, maxSelectivity) - 1
	return math.Float64frombits(s.logs[at].Load()) + firstSelectivity[at]
}

// factor returns the ratio of documents in list i, among the documents of the lists before, to
// the number that independence predicts.
func (s *selectivity) factor(i int) float64 {
	at := min(i, maxSelectivity) - 1
	if bits := s.factors[at].Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return firstFactors[at]
}

var firstFactors = func() (f [maxSelectivity]float64) {
	for i, l := range firstSelectivity {
		f[i] = math.Exp(l)
	}
	return f
}()

// observe records documents expected and found in the lists [from, to), among the documents of
// the lists before.
func (s *selectivity) observe(from, to int, expected float64, found int) {
	from = max(from, 1)
	if expected <= 0 {
		return
	}
	step := math.Log(max(float64(found), 0.5)/max(expected, 0.5)) / float64(to-from)
	step = min(max(step, -1), 1) * selectivityDecay
	for i := from; i < to; i++ {
		l := min(max(s.log(i)+step, 0), maxSelectivityLog)
		at := min(i, maxSelectivity) - 1
		s.logs[at].Store(math.Float64bits(l - firstSelectivity[at]))
		s.factors[at].Store(math.Float64bits(math.Exp(l)))
	}
}
