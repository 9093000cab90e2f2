package cost

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// observed observes times that are the predictions multiplied by a lognormal
// factor.
func observed(t *testing.T, n int, deviation float64) *Model {
	t.Helper()
	m := New(Machine{})
	f := sized(t, 50_000)
	rng := rand.New(rand.NewPCG(3, 14))
	for range n {
		m.Observe(GPUPackedOr, &f, time.Duration(50_000*math.Exp(deviation*rng.NormFloat64())))
	}
	return m
}

// The mean of lognormal times is the median times e to half of their variance.
func TestDoubt(t *testing.T) {
	if got := New(Machine{}).Doubt(GPUPackedOr); got != leastDoubt {
		t.Errorf("nothing observed: %g, want %g", got, leastDoubt)
	}
	for _, c := range []struct{ deviation, least, most float64 }{
		{0, leastDoubt, leastDoubt},
		{0.2, leastDoubt, leastDoubt},
		{0.8, 1.2, 1.6},
		{1.2, 1.5, 2.6},
		{9, mostDoubt, mostDoubt},
	} {
		m := observed(t, 1000, c.deviation)
		if got := m.Doubt(GPUPackedOr); !(got >= c.least && got <= c.most) {
			t.Errorf("standard deviation %g: %g, want %g to %g", c.deviation, got, c.least, c.most)
		}
		if got := m.Doubt(CPUOr); got != leastDoubt {
			t.Errorf("another kind: %g, want %g", got, leastDoubt)
		}
	}
}

// A constant factor is no scatter: the correction handles it.
func TestDoubtOfBias(t *testing.T) {
	m := New(Machine{})
	f := sized(t, 50_000)
	for i := range 1000 {
		m.Observe(GPUPackedOr, &f, 5*time.Microsecond)
		if got := m.Doubt(GPUPackedOr); got > 1.5 {
			t.Fatalf("after %d times of a tenth: %g", i+1, got)
		}
	}
	if got := m.Doubt(GPUPackedOr); got != leastDoubt {
		t.Errorf("in the end %g, want %g", got, leastDoubt)
	}
}

// Observations survive several restarts, separate from the error of the fit.
func TestDoubtIsSaved(t *testing.T) {
	m := observed(t, 1000, 1.2)
	disk := vfstest.NewMem()
	for range 2 {
		want := m.Doubt(GPUPackedOr)
		if err := m.Save(disk, FileName); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(disk, FileName, Machine{})
		if err != nil {
			t.Fatal(err)
		}
		if got := loaded.Doubt(GPUPackedOr); want == leastDoubt || math.Abs(got-want) > 1e-9 {
			t.Fatalf("doubt %g after it was loaded, %g before", got, want)
		}
		if got := loaded.Doubt(CPUOr); got != leastDoubt {
			t.Fatalf("another kind: %g, want %g", got, leastDoubt)
		}
		m = loaded
	}
}

// A kind whose predictions are inflated is not chosen, so it gets no observations.
func TestDoubtFades(t *testing.T) {
	m := observed(t, 1000, 1.5)
	before := m.Doubt(GPUPackedOr)
	f := Features{Lists: 1, Shortest: 1000, Sum: 1000}
	for range 20 * maxAge {
		m.Observe(CPUAnd, &f, 10*time.Microsecond)
	}
	if got := m.Doubt(GPUPackedOr); before < 1.5 || got != leastDoubt {
		t.Errorf("%g, and %g after long; want %g in the end", before, got, leastDoubt)
	}
}

// A fit with a large error on new samples inflates predictions from the start, also after
// loading it.
func TestDoubtOfFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 71))
	var samples []Measured
	for range 90 { // too few for a tree
		n := 1 + rng.Int64N(100_000)
		took := 1000 + 5*float64(n)*math.Exp(1.5*rng.NormFloat64())
		samples = append(samples, Measured{CPUBegin, Features{Shortest: n}, time.Duration(took)})
	}
	m := New(Machine{})
	m.Calibrate(samples)
	got, err := m.Doubt(CPUBegin), m.fitted.Load().fitErrors[CPUBegin]
	if err < 1 || got < 1.2 || got != min(math.Exp(fitScatter(err)/2), mostDoubt) {
		t.Errorf("mean relative error %g: doubt %g", err, got)
	}
	saved := m.save()
	if read, err := saved.model(); err != nil || read.Doubt(CPUBegin) != got {
		t.Errorf("read: %v, doubt %g, want %g", err, read.Doubt(CPUBegin), got)
	}
}
