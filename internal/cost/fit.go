package cost

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Measured is a measurement of work.
type Measured struct {
	Kind     Kind
	Features Features
	Took     time.Duration // > 0
}

const (
	// minSamples is the minimum number of samples per coefficient for fitting a
	// kind.
	minSamples = 3
	// treeSamples is the minimum number of samples for a tree, treePays the
	// maximum ratio of its error to the linear model's.
	treeSamples = 100
	treePays    = 0.85
	// folds is the number of parts of the samples for cross-validation.
	folds = 5
)

// Small leaves would fit noise.
var treeOptions = TreeOptions{MinLeaf: 6}

// Fit describes the fit of a kind.
type Fit struct {
	Kind    Kind `json:"-"`
	Samples int  `json:"samples"`
	// Error is the mean of |predicted-took|/took over samples, each predicted
	// by a model fitted without it.
	Error float64 `json:"mean_relative_error"`
	// Leaves of the tree; 0: the model is linear.
	Leaves int `json:"leaves,omitempty"`
}

// Calibrate fits the model of each kind that has enough samples; the others
// stay unchanged. A kind gets linear coefficients and, if clearly better, a
// tree for work that is not a batch. Earlier observations of a fitted kind are
// discarded. The model may be in use meanwhile. Samples of the same query must
// be adjacent; otherwise the order should be random.
func (m *Model) Calibrate(samples []Measured) {
	var byKind [NumKinds][]Measured
	for _, s := range samples {
		if s.Kind < NumKinds && s.Took > 0 && s.Took < maxSample {
			byKind[s.Kind] = append(byKind[s.Kind], s)
		}
	}
	m.changing.Lock()
	defer m.changing.Unlock()
	next := *m.fitted.Load()
	var done [NumKinds]bool
	var all sync.WaitGroup
	for k := range byKind {
		all.Go(func() { done[k] = next.fit(Kind(k), byKind[k]) })
	}
	all.Wait()
	m.fitted.Store(&next)
	for k := range m.cells {
		for i := range m.cells[k] {
			if done[k] {
				m.cells[k][i].forget()
			}
		}
		if done[k] {
			m.scatters[k].reset(fitScatter(next.fitErrors[k]), false)
		}
	}
}

// fit reports whether there were enough samples. Different kinds may be fitted
// concurrently.
func (f *fitted) fit(k Kind, samples []Measured) bool {
	c, ok := fitLinear(k, samples)
	if !ok {
		return false
	}
	f.coefficients[k], f.samples[k], f.own[k] = c, len(samples), nil
	f.fitErrors[k] = crossValidate(samples, fitOnlyLinear)
	single := slices.DeleteFunc(samples, func(s Measured) bool { return s.Features.Batch > 1 })
	if len(single) < treeSamples {
		return true
	}
	if err := crossValidate(single, fitTree); err < treePays*crossValidate(single, fitOnlyLinear) {
		if t, err := Train(treeSamplesOf(single), treeOptions); err == nil {
			f.own[k] = t
		}
		f.fitErrors[k] = err
	}
	return true
}

// Fits describes the fit of each calibrated kind.
func (m *Model) Fits() []Fit {
	now := m.fitted.Load()
	var fits []Fit
	for k := range NumKinds {
		if now.samples[k] == 0 {
			continue
		}
		f := Fit{Kind: k, Samples: now.samples[k], Error: now.fitErrors[k]}
		if t := now.own[k]; t != nil {
			f.Leaves = t.NumLeaves()
		}
		fits = append(fits, f)
	}
	return fits
}

// Calibrated reports whether any kind was calibrated.
func (m *Model) Calibrated() bool {
	return m.fitted.Load().samples != [NumKinds]int{}
}

func (c *cell) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.relative, c.bias = 0, 0, 0
	c.set(0)
}

type predictor func(f *Features) float64

// crossValidate returns the mean relative error over all samples of one kind,
// each predicted by a model of the other folds. Adjacent samples are in the
// same fold: they may be from the same query.
func crossValidate(samples []Measured, fit func(k Kind, samples []Measured) predictor) float64 {
	k, sum := samples[0].Kind, 0.0
	for fold := range folds {
		from, to := fold*len(samples)/folds, (fold+1)*len(samples)/folds
		p := fit(k, slices.Concat(samples[:from], samples[to:]))
		for i := range samples[from:to] {
			s := &samples[from+i]
			sum += math.Abs(p(&s.Features)-float64(s.Took)) / float64(s.Took)
		}
	}
	return sum / float64(len(samples))
}

func fitOnlyLinear(k Kind, samples []Measured) predictor {
	c, _ := fitLinear(k, samples)
	return func(f *Features) float64 { return predictLinear(k, f, &c) }
}

func fitTree(k Kind, samples []Measured) predictor {
	t, err := Train(treeSamplesOf(samples), treeOptions)
	if err != nil {
		return func(*Features) float64 { return math.Inf(1) }
	}
	return func(f *Features) float64 {
		var v Vector
		vector(k, f, &v)
		return t.Predict(v)
	}
}

func treeSamplesOf(samples []Measured) []Sample {
	of := make([]Sample, len(samples))
	for i := range samples {
		vector(samples[i].Kind, &samples[i].Features, &of[i].X)
		of[i].Y = float64(samples[i].Took)
	}
	return of
}

// fitLinear returns coefficients; ok is false if there are too few samples.
func fitLinear(k Kind, samples []Measured) (c [maxBasis]float64, ok bool) {
	var x [maxBasis]float64
	n := basis(k, &Features{}, &x)
	if len(samples) == 0 {
		return c, false
	}
	rows := make([][maxBasis]float64, len(samples))
	for i := range samples {
		basis(k, &samples[i].Features, &rows[i])
		for j := range n {
			rows[i][j] /= float64(samples[i].Took)
		}
	}
	return leastRelativeSquares(rows, n), len(samples) >= minSamples*n
}

// The number of reweighting rounds, and the relative residual from which on a
// sample has less weight (Huber's weights): interrupted work is an outlier.
const (
	rounds   = 12
	residual = 0.3
)

// leastRelativeSquares returns the c >= 0 that minimise the sum of (row*c -
// 1)², robust against outliers. Rows are quantities divided by the time:
// [len(rows)][n].
func leastRelativeSquares(rows [][maxBasis]float64, n int) (c [maxBasis]float64) {
	weights := make([]float64, len(rows))
	for i := range weights {
		weights[i] = 1
	}
	for range rounds {
		c = nonNegative(rows, weights, n)
		for i := range rows {
			r := -1.0
			for j := range n {
				r += rows[i][j] * c[j]
			}
			weights[i] = residual / max(residual, math.Abs(r))
		}
	}
	center(rows, &c, n)
	return c
}

// center scales coefficients such that the median of predicted/measured is 1.
// Least relative squares underestimate, because a prediction too high by a
// factor costs more than one too low.
func center(rows [][maxBasis]float64, c *[maxBasis]float64, n int) {
	ratios := make([]float64, len(rows)) // predicted/took
	for i := range rows {
		for j := range n {
			ratios[i] += rows[i][j] * c[j]
		}
	}
	slices.Sort(ratios)
	median := ratios[len(ratios)/2]
	if median <= 0 {
		return
	}
	for j := range n {
		c[j] = min(c[j]/median, maxCoefficient)
	}
}

// nonNegative minimises the sum of weight*(row*c - 1)² over c >= 0 by
// coordinate descent: the function is convex.
func nonNegative(rows [][maxBasis]float64, weights []float64, n int) (c [maxBasis]float64) {
	var gram [maxBasis][maxBasis]float64
	var target, scale [maxBasis]float64
	for i := range rows {
		for j := range n {
			v := weights[i] * rows[i][j]
			target[j] += v
			for l := range n {
				gram[j][l] += v * rows[i][l]
			}
		}
	}
	// Scale such that the diagonal is 1.
	for j := range n {
		if gram[j][j] > 0 {
			scale[j] = 1 / math.Sqrt(gram[j][j])
		}
	}
	for j := range n {
		target[j] *= scale[j]
		for l := range n {
			gram[j][l] *= scale[j] * scale[l]
		}
	}
	const sweeps, enough = 20000, 1e-12
	for range sweeps {
		moved, largest := 0.0, 0.0
		for j := range n {
			if scale[j] == 0 {
				continue
			}
			gradient := -target[j]
			for l := range n {
				gradient += gram[j][l] * c[l]
			}
			next := max(c[j]-gradient, 0)
			moved = max(moved, math.Abs(next-c[j]))
			largest = max(largest, next)
			c[j] = next
		}
		if moved <= enough*largest {
			break
		}
	}
	for j := range n {
		c[j] *= scale[j]
	}
	return c
}
