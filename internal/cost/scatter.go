package cost

import (
	"math"
	"sync"
	"sync/atomic"
)

// scatter is how far times of a kind are from what is predicted: the variance of the
// logarithm of their ratio. (What all of them are off by is corrected by class.) Its zero
// value is as it is before anything was measured.
type scatter struct {
	// bits of the doubt that follows as a float64; 0: leastDoubt.
	bits atomic.Uint64

	mu     sync.Mutex // guards what follows
	mean   float64    // moving, of the logarithms,
	square float64    // and of their squares
	last   uint64     // the value of Model.seen when they changed
	seen   bool       // they are of times that were observed, not of the fit alone
}

const (
	// leastDoubt is for kinds whose times scatter by 40 % at most: of 0.8 to 1.6, it lost
	// least over 1,000 queries of the log of the Terabyte track of 2006, against GPUs that
	// take 20 to 70 µs.
	leastDoubt = 1.1
	// mostDoubt is for a kind that little is known of: what would be faster by that and more is
	// tried nevertheless.
	mostDoubt = 3
	// scatterDecay is the weight of an observation, half of a correction's, as a variance needs
	// more of them than a mean (chosen, not measured), maxScatter the most that the logarithm
	// of one ratio counts as.
	scatterDecay = 1.0 / 64
	maxScatter   = 2
)

// Doubt returns what a prediction of a kind is to be multiplied with, between 1.1 and 3, where
// a wrong one is dear: predictions are medians, and the mean of times that scatter about them is
// greater, by e to half of the variance of the logarithms if those are normal. It begins
// with what the fit was off by, follows what is observed, and takes a nanosecond.
func (m *Model) Doubt(k Kind) float64 {
	if bits := m.scatters[k].bits.Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return leastDoubt
}

// fitScatter is the mean square that a fit with a mean relative error has.
func fitScatter(meanRelativeError float64) float64 {
	log := min(math.Log1p(meanRelativeError), maxScatter)
	return log * log
}

// observe tells that the logarithm of a time over what was predicted was so much. It never
// waits: of two at the same instant one may be left out.
func (s *scatter) observe(log float64, now uint64) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	log = min(max(log, -maxScatter), maxScatter)
	s.last, s.seen = now, true
	s.set(s.mean+scatterDecay*(log-s.mean), s.square+scatterDecay*(log*log-s.square))
}

// fade halves it if nothing was observed for long: what is doubted is not chosen, and would
// never be trusted again.
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

// reset makes it a variance: that of a fit, or one that was observed.
func (s *scatter) reset(variance float64, seen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = seen
	s.set(0, variance)
}

// observed returns the variance if it is of times that were observed, else nil.
func (s *scatter) observed() *float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen {
		return nil
	}
	variance := min(max(s.square-s.mean*s.mean, 0), maxScatter*maxScatter)
	return &variance
}

// set changes the means. s.mu is held.
func (s *scatter) set(mean, square float64) {
	s.mean, s.square = mean, square
	doubt := math.Exp(max(square-mean*mean, 0) / 2)
	s.bits.Store(math.Float64bits(min(max(doubt, leastDoubt), mostDoubt)))
}
