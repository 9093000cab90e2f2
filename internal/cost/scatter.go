package cost

import (
	"math"
	"sync"
	"sync/atomic"
)

// scatter is the variance of the logarithm of measured/predicted of a kind,
// about its mean (which corrections handle).
type scatter struct {
	// doubt as a float64; 0: leastDoubt
	bits atomic.Uint64

	mu     sync.Mutex // guards the fields below
	mean   float64    // moving mean of the logarithms,
	square float64    // and of their squares
	last   uint64     // value of Model.seen at the last change
	seen   bool       // from observations, not only from the fit
}

const (
	// leastDoubt applies if times scatter by at most 40 %. Among 0.8 to 1.6, it
	// lost least time over 1,000 queries of the Terabyte track 2006, against GPUs
	// that take 20 to 70 µs.
	leastDoubt = 1.1
	// mostDoubt lets work be tried that would be faster by more than this.
	mostDoubt = 3
	// scatterDecay is the weight of an observation: a variance needs more
	// observations than a mean (chosen, not measured). maxScatter limits the
	// logarithm of one ratio.
	scatterDecay = 1.0 / 64
	maxScatter   = 2
)

// Doubt returns the factor, between 1.1 and 3, by which callers inflate a
// prediction if a wrong one is expensive. Predictions are medians; the mean of
// scattered times is greater, by the factor e^(variance of the logarithms / 2)
// if those are normal. Doubt starts with the error of the fit and follows
// observations.
func (m *Model) Doubt(k Kind) float64 {
	if bits := m.scatters[k].bits.Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return leastDoubt
}

// fitScatter returns the mean square, of the logarithm of measured/predicted, for a fit
// with a mean relative error.
func fitScatter(meanRelativeError float64) float64 {
	log := min(math.Log1p(meanRelativeError), maxScatter)
	return log * log
}

// observe never waits: of two simultaneous observations one may be dropped.
func (s *scatter) observe(log float64, now uint64) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	log = min(max(log, -maxScatter), maxScatter)
	s.last, s.seen = now, true
	s.set(s.mean+scatterDecay*(log-s.mean), s.square+scatterDecay*(log*log-s.square))
}

// fade halves the scatter if nothing was observed for long: a kind of work
// whose predictions are inflated is not chosen, so the factor would never fall again.
func (s *scatter) fade(now uint64) {
	if s.bits.Load() == 0 || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if now > s.last+maxAge {
		s.last = now
		s.set(0, (s.square-s.mean*s.mean)/2)
	}
}

// reset is given the variance of a fit or of saved observations.
func (s *scatter) reset(variance float64, seen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = seen
	s.set(0, variance)
}

// observed returns the variance, nil if it is not from observations.
func (s *scatter) observed() *float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen {
		return nil
	}
	variance := min(max(s.square-s.mean*s.mean, 0), maxScatter*maxScatter)
	return &variance
}

// set changes the means; s.mu is held.
func (s *scatter) set(mean, square float64) {
	s.mean, s.square = mean, square
	doubt := math.Exp(max(square-mean*mean, 0) / 2)
	s.bits.Store(math.Float64bits(min(max(doubt, leastDoubt), mostDoubt)))
}
