package cost

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// measuredAnd creates samples of conjunctions that take noise * (700 ns + 0.3
// ns per posting of the shortest list + 2 ns per probe of the second).
func measuredAnd(rng *rand.Rand, n int, noise func() float64) []Measured {
	samples := make([]Measured, n)
	for i := range samples {
		f := Features{Lists: 2, K: 10, Shortest: int64(math.Exp(1 + rng.Float64()*10))}
		f.Second = int64(float64(f.Shortest) * math.Exp(rng.Float64()*6))
		f.Longest, f.Sum = f.Second, f.Shortest+f.Second
		samples[i] = Measured{CPUAnd, f, time.Duration(trueAnd(&f) * noise())}
	}
	return samples
}

func trueAnd(f *Features) float64 {
	return 700 + 0.3*float64(f.Shortest) + 2*probes(f.Shortest, f.Second)
}

func worst(m *Model, samples []Measured, truth func(f *Features) float64) float64 {
	w := 0.0
	for i := range samples {
		f := &samples[i].Features
		w = max(w, math.Abs(float64(m.Predict(samples[i].Kind, f))/truth(f)-1))
	}
	return w
}

// Without noise, the model is recovered within rounding; with 10 % noise,
// within a fraction of it; with a tenth of the samples ten times too long,
// within a few per cent.
func TestCalibrateRecoversAModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, c := range []struct {
		name  string
		noise func() float64
		most  float64
	}{
		{"exact", func() float64 { return 1 }, 0.005},
		{"noise", func() float64 { return math.Exp(0.1 * rng.NormFloat64()) }, 0.05},
		{"outliers", func() float64 {
			if rng.IntN(10) == 0 {
				return 10
			}
			return math.Exp(0.02 * rng.NormFloat64())
		}, 0.06},
	} {
		t.Run(c.name, func(t *testing.T) {
			samples := measuredAnd(rng, 600, c.noise)
			m := New(Machine{})
			m.Calibrate(samples)
			if w := worst(m, samples, trueAnd); w > c.most {
				t.Errorf("%s: off by up to %.3f", c.name, w)
			}
			fits := m.Fits()
			if len(fits) != 1 || fits[0].Kind != CPUAnd || fits[0].Samples != 600 || fits[0].Leaves != 0 {
				t.Errorf("%s: %+v, not a linear model of 600 samples", c.name, fits)
			}
			if !m.Calibrated() || New(Machine{}).Calibrated() {
				t.Errorf("%s: calibrated %v", c.name, m.Calibrated())
			}
		})
	}
}

// The unbounded solution has a negative coefficient; the result satisfies the
// Kuhn-Tucker conditions of the bounded optimum: the gradient is 0 where a
// coefficient is positive, and not negative where it is 0.
func TestCoefficientsAreNotNegative(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	atBound := 0
	for range 200 {
		n := 2 + rng.IntN(maxBasis-1)
		rows := make([][maxBasis]float64, 20+rng.IntN(50))
		weights := make([]float64, len(rows))
		for i := range rows {
			weights[i] = rng.Float64()
			for j := range n {
				rows[i][j] = rng.ExpFloat64() * math.Pow(10, float64(j-3))
			}
			if n > 2 && i%3 == 0 {
				rows[i][2] = rows[i][1] // nearly the same quantity
			}
		}
		c := nonNegative(rows, weights, n)
		for j := range maxBasis {
			gradient, size := 0.0, 0.0
			for i := range rows {
				r := -1.0
				for l := range n {
					r += rows[i][l] * c[l]
				}
				gradient += weights[i] * r * rows[i][j]
				size += weights[i] * rows[i][j]
			}
			switch {
			case c[j] < 0 || j >= n && c[j] != 0:
				t.Fatalf("coefficient %d of %d is %g", j, n, c[j])
			case c[j] > 0 && math.Abs(gradient) > 1e-5*size, gradient < -1e-5*size:
				t.Fatalf("coefficient %d of %d is %g with gradient %g of %g", j, n, c[j], gradient, size)
			case j < n && c[j] == 0:
				atBound++
			}
		}
	}
	if atBound == 0 {
		t.Error("no coefficient is at its bound")
	}
}

// If no linear model fits, a kind gets a tree, which is better on new samples
// and not used for batches.
func TestCalibrateTakesATree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	samples := func(n int) []Measured {
		s := make([]Measured, n)
		for i := range s {
			f := Features{Lists: 1 + rng.IntN(4), K: 10, Sum: int64(math.Exp(2 + rng.Float64()*12))}
			f.Shortest, f.Longest = f.Sum, f.Sum
			took := 1000 + 20*math.Sqrt(float64(f.Sum))
			if f.Lists > 2 {
				took *= 5
			}
			s[i] = Measured{GPUImagesOr, f, time.Duration(took)}
		}
		return s
	}
	m := New(Machine{})
	train, test := samples(500), samples(500)
	m.Calibrate(train)
	if f := m.Fits(); len(f) != 1 || f[0].Leaves < 2 || f[0].Error > 0.1 {
		t.Fatalf("%+v: want a tree", f)
	}
	e := 0.0
	for i := range test {
		e += math.Abs(float64(m.Predict(GPUImagesOr, &test[i].Features))/float64(test[i].Took)-1) / float64(len(test))
	}
	if e > 0.1 {
		t.Errorf("error %.3f on other samples", e)
	}
	batch := test[0].Features
	batch.Batch = 16
	if got, want := float64(m.Predict(GPUImagesOr, &batch)), predictLinear(GPUImagesOr, &batch, &m.fitted.Load().coefficients[GPUImagesOr]); math.Abs(got-want) > 1 {
		t.Errorf("a batch: %g, the linear model says %g", got, want)
	}
	few := New(Machine{})
	few.Calibrate(train[:treeSamples-1])
	if f := few.Fits(); len(f) != 1 || f[0].Leaves != 0 {
		t.Errorf("%+v: want a linear model of too few samples for a tree", f)
	}
}

// Kinds without enough samples stay unchanged, invalid times are ignored, and
// earlier observations of a fitted kind are discarded.
func TestCalibrateKeepsTheOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	m := New(Machine{})
	f := Features{Lists: 2, K: 10, Shortest: 100, Second: 1000, Longest: 1000, Sum: 1100}
	before := m.Predict(CPUOr, &f)
	m.Observe(CPUAnd, &f, time.Second)
	m.Observe(CPUTree, &f, time.Second)
	samples := measuredAnd(rng, 100, func() float64 { return 1 })
	samples = append(samples, Measured{CPUOr, f, 5}, Measured{CPUAnd, f, 0}, Measured{CPUAnd, f, -5}, Measured{NumKinds, f, 5})
	m.Calibrate(samples)
	if got := m.Predict(CPUOr, &f); got != before {
		t.Errorf("the prediction of a kind with one sample is %v, was %v", got, before)
	}
	if f := m.Fits(); len(f) != 1 || f[0].Samples != 100 {
		t.Errorf("%+v: want one of 100 samples", f)
	}
	errs := m.Errors()
	if len(errs) != 1 || errs[0].Kind != CPUTree {
		t.Errorf("%+v: want what was observed of cpu-tree", errs)
	}
	m.Calibrate(nil)
	if got := m.Predict(CPUAnd, &f); math.Abs(float64(got)/trueAnd(&f)-1) > 0.01 {
		t.Errorf("after a calibration with nothing %v, not %g", got, trueAnd(&f))
	}
}

// Ten samples in five folds, each predicted by the mean of the eight others.
func TestCrossValidate(t *testing.T) {
	took := []time.Duration{1, 1, 2, 2, 2, 2, 2, 2, 3, 3}
	samples := make([]Measured, len(took))
	for i := range took {
		samples[i] = Measured{CPUOr, Features{}, took[i]}
	}
	var seen []int
	got := crossValidate(samples, func(_ Kind, of []Measured) predictor {
		sum := 0.0
		for i := range of {
			sum += float64(of[i].Took)
		}
		seen = append(seen, len(of))
		return func(*Features) float64 { return sum / float64(len(of)) }
	})
	// Means 18/8, 2, 2, 2, 14/8: errors 1.25, 1.25, six times 0, and 1.25/3
	// twice.
	want := (2*1.25 + 2*1.25/3) / 10
	if math.Abs(got-want) > 1e-12 || !slices.Equal(seen, []int{8, 8, 8, 8, 8}) {
		t.Errorf("%g, not %g; fitted to %v samples", got, want, seen)
	}
}
