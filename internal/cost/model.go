package cost

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Model predicts times. It is safe for concurrent use.
type Model struct {
	machine  Machine
	fitted   atomic.Pointer[fitted]
	changing sync.Mutex // held while replacing fitted
	cells    [NumKinds][NumClasses]cell
	scatters [NumKinds]scatter
	// seen counts observations; each one also ages one cell, in turn.
	seen  atomic.Uint64
	saved atomic.Uint64 // value of seen when the model was saved or loaded
}

// fitted is the immutable result of calibration and training.
type fitted struct {
	coefficients [NumKinds][maxBasis]float64
	samples      [NumKinds]int     // samples of the fit; 0: the coefficients are priors
	fitErrors    [NumKinds]float64 // mean relative error on left-out samples; 0: unknown
	// own trees replace coefficients where they are clearly better.
	own   [NumKinds]*Tree
	trees Trees // for PredictTree
}

// New returns a model with built-in coefficients.
func New(machine Machine) *Model {
	m := &Model{machine: machine}
	m.fitted.Store(&fitted{coefficients: priors})
	return m
}

// Machine returns the machine that the model is of.
func (m *Model) Machine() Machine { return m.machine }

// Predict predicts the time of work, at most three hours, so that times can be
// added. It takes less than 100 ns and allocates nothing.
func (m *Model) Predict(k Kind, f *Features) time.Duration {
	base := m.base(k, f)
	i, w := between(base)
	return time.Duration(min(base*m.factor(k, i, w), maxSample))
}

// between returns the last class whose middle is below a prediction, and the
// position between this middle and the next, in logarithms.
func between(base float64) (class int, part float64) {
	x := min(log2(max(base*(2.0/firstClass), 1))/2, NumClasses-1)
	class = min(int(x), NumClasses-2)
	return class, x - float64(class)
}

// factor interpolates the correction between the middles of two classes: with
// steps, predictions would fall while times rise.
func (m *Model) factor(k Kind, class int, part float64) float64 {
	return (1-part)*m.cells[k][class].factor() + part*m.cells[k][class+1].factor()
}

// base returns the uncorrected prediction in nanoseconds, up to maxSample.
func (m *Model) base(k Kind, f *Features) float64 {
	now := m.fitted.Load()
	if t := now.own[k]; t != nil && f.Batch <= 1 {
		var v Vector
		vector(k, f, &v)
		v.takeLogarithms()
		return min(t.predict(&v), maxSample)
	}
	return predictLinear(k, f, &now.coefficients[k])
}

func predictLinear(k Kind, f *Features, c *[maxBasis]float64) float64 {
	var x [maxBasis]float64
	n := basis(k, f, &x)
	sum := 0.0
	for i, v := range x[:n] {
		sum += v * c[i]
	}
	return min(max(sum, 1), maxSample)
}

// The constants are chosen, not measured: corrections suppress noise, but
// follow within seconds under load.
const (
	// decay is the weight of one observation, after the first 1/decay.
	decay = 1.0 / 32
	// maxStep limits the logarithm of an observed ratio, to a factor of 1.65.
	maxStep = 0.5
	// maxCorrection limits the logarithm of the correction, to a factor of 20.
	maxCorrection = 3
	// maxAge is the number of observations, of any kind, after which the
	// correction of an unobserved cell is halved: a place that was slow must be
	// tried again.
	maxAge = 4096
)

// cell has the observations of a kind and class.
type cell struct {
	// bits of the factor as a float64, XORed with the bits of 1, so that the zero
	// value is 1.
	bits atomic.Uint64

	mu sync.Mutex // guards the fields below
	// The logarithm of the factor, last the value of seen at its last change.
	log  float64
	n    int64 // observations
	last uint64
	// sums of |predicted-took|/took and (predicted-took)/took.
	relative, bias float64
}

var one = math.Float64bits(1)

func (c *cell) factor() float64 { return math.Float64frombits(c.bits.Load() ^ one) }

// set changes the correction; c.mu is held.
func (c *cell) set(log float64) {
	c.log = min(max(log, -maxCorrection), maxCorrection)
	c.bits.Store(math.Float64bits(math.Exp(c.log)) ^ one)
}

// Observe records the measured time of work, to improve later predictions of
// its class. It takes about 100 ns and never waits: of two simultaneous
// observations of a class one may be dropped. It ignores times that are not
// positive.
func (m *Model) Observe(k Kind, f *Features, took time.Duration) {
	if took <= 0 {
		return
	}
	now := m.seen.Add(1)
	m.age(now)
	base := m.base(k, f)
	i, w := between(base)
	predicted := base * m.factor(k, i, w)
	own := classOf(base)
	c, other := &m.cells[k][own], &m.cells[k][2*i+1-own]
	part := w // part of other in the correction
	if own != i {
		part = 1 - w
	}
	if !c.mu.TryLock() {
		return
	}
	c.n++
	difference := (predicted - float64(took)) / float64(took)
	c.relative += math.Abs(difference)
	c.bias += difference
	step := math.Log(float64(took) / predicted)
	m.scatters[k].observe(step, now)
	step = min(max(step, -maxStep), maxStep) * max(decay, 1/float64(c.n+1))
	step /= part*part + (1-part)*(1-part) // so that both together make the whole step
	c.last = now
	c.set(c.log + (1-part)*step)
	c.mu.Unlock()
	if other.mu.TryLock() {
		other.last = now
		other.set(other.log + part*step)
		other.mu.Unlock()
	}
}

// age halves the correction of one cell, in turn, if it was not observed for
// long. With the first cell of a kind it fades the kind's scatter.
func (m *Model) age(now uint64) {
	i := now % (uint64(NumKinds) * NumClasses)
	if k := i / NumClasses; i%NumClasses == 0 {
		m.scatters[k].fade(now)
	}
	c := &m.cells[i/NumClasses][i%NumClasses]
	if c.bits.Load() == 0 || !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if now > c.last+maxAge {
		c.last = now
		c.set(c.log / 2)
	}
}

// NumClasses is the number of size classes. The class depends on the predicted
// time: up to 4 µs, 16 µs, and so on; the last is unbounded.
const NumClasses = 9

const firstClass = 4000 // ns

func classOf(ns float64) int {
	n := uint64(min(ns, 1<<40)) / firstClass
	class := 0
	for ; n > 0 && class < NumClasses-1; n /= 4 {
		class++
	}
	return class
}

// ClassError is the error of predictions of a kind and class.
type ClassError struct {
	Kind Kind `json:"kind"`
	// The range of predicted times; Below is 0 for the last class.
	From  time.Duration `json:"from_ns"`
	Below time.Duration `json:"below_ns,omitempty"`
	Count int64         `json:"count"` // observations
	// Mean is the mean of |predicted-took|/took, Bias the mean of
	// (predicted-took)/took.
	Mean float64 `json:"mean_relative_error"`
	Bias float64 `json:"bias"`
	// The current factor of predictions.
	Correction float64 `json:"correction"`
}

// Errors returns the errors of all observations since the model was created or
// loaded, by kind, then class.
func (m *Model) Errors() []ClassError {
	var errs []ClassError
	for k := range m.cells {
		for i := range m.cells[k] {
			c := &m.cells[k][i]
			c.mu.Lock()
			if c.n > 0 {
				n := float64(c.n)
				from, below := classBounds(i)
				errs = append(errs, ClassError{
					Kind: Kind(k), From: from, Below: below, Count: c.n,
					Mean: c.relative / n, Bias: c.bias / n, Correction: math.Exp(c.log),
				})
			}
			c.mu.Unlock()
		}
	}
	return errs
}

func classBounds(class int) (from, below time.Duration) {
	below = firstClass << (2 * class)
	if class > 0 {
		from = below / 4
	}
	if class == NumClasses-1 {
		below = 0
	}
	return from, below
}
