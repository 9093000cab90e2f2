package cost

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

func sized(t *testing.T, ns float64) Features {
	t.Helper()
	f := Features{}
	m := New(Machine{})
	f.Sum = int64((ns - m.base(GPUPackedOr, &f)) / priors[GPUPackedOr][2])
	if got := m.base(GPUPackedOr, &f); math.Abs(got-ns) > 1 {
		t.Fatalf("features of %g ns, not %g", got, ns)
	}
	return f
}

// The boundaries are 4, 16, 64 µs and so on to 65 ms.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		ns    float64
		class int
	}{
		{0, 0},
		{1, 0},
		{3999, 0},
		{4000, 1},
		{15999, 1},
		{16000, 2},
		{64000, 3},
		{256000, 4},
		{1024000, 5},
		{4096000, 6},
		{16384000, 7},
		{65535999, 7},
		{65536000, 8},
		{1e18, 8},
		{math.Inf(1), 8},
	} {
		if got := classOf(c.ns); got != c.class {
			t.Errorf("%g ns are of class %d, not %d", c.ns, got, c.class)
		}
	}
	for class := range NumClasses {
		from, below := classBounds(class)
		if classOf(float64(from)) != class || class < NumClasses-1 && (classOf(float64(below)-1) != class || classOf(float64(below)) != class+1) {
			t.Errorf("class %d is from %v to %v", class, from, below)
		}
		if (below == 0) != (class == NumClasses-1) {
			t.Errorf("class %d ends at %v", class, below)
		}
	}
}

// The prediction is 128 µs, the middle of a class. After work of 102.4 µs, the
// error is 0.25, and the correction moves half the way: a factor of sqrt(0.8),
// 114.49 µs. Work of 64 µs then has an error of 0.7889 and would be corrected
// by ln(64/114.49) = -0.5816, limited to -0.5, with weight a third: a factor of
// exp(-0.1667), 96.91 µs. Half-way to the middle of the next class the
// correction is half of that, in logarithms.
func TestErrorsByHand(t *testing.T) {
	m, f := New(Machine{}), sized(t, 128_000)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 1e-3 {
			t.Errorf("%s is %g, not %g", what, got, want)
		}
	}
	near("the first prediction", float64(m.Predict(GPUPackedOr, &f)), 128_000)
	m.Observe(GPUPackedOr, &f, 102_400)
	near("the second", float64(m.Predict(GPUPackedOr, &f)), 114_487)
	m.Observe(GPUPackedOr, &f, 64*time.Microsecond)
	near("the third", float64(m.Predict(GPUPackedOr, &f)), 96_910)
	m.Observe(GPUPackedOr, &f, 0)
	m.Observe(GPUPackedOr, &f, -1)
	errs := m.Errors()
	if len(errs) != 1 {
		t.Fatalf("%+v: want one class", errs)
	}
	e := errs[0]
	if e.Kind != GPUPackedOr || e.From != 64*time.Microsecond || e.Below != 256*time.Microsecond || e.Count != 2 {
		t.Errorf("%+v", e)
	}
	near("the mean error", e.Mean, (0.25+0.78885)/2)
	near("the bias", e.Bias, (0.25+0.78885)/2)
	near("the correction", e.Correction, 0.75711)
	m.Observe(GPUPackedOr, &f, 193_820) // twice the predicted time, limited to -0.5
	near("the mean error then", m.Errors()[0].Mean, (0.25+0.78885+0.5)/3)
	near("the bias then", m.Errors()[0].Bias, (0.25+0.78885-0.5)/3)
	half, other := sized(t, 256_000), sized(t, 512_000)
	near("the correction at last", m.Errors()[0].Correction, 0.85793)
	near("the prediction between two classes", float64(m.Predict(GPUPackedOr, &half)), 256_000*(1+0.85793)/2)
	near("the prediction of another class", float64(m.Predict(GPUPackedOr, &other)), 512_000)
}

// If times fall increasingly below predictions as sizes grow, predictions still
// increase with the size, and are right throughout every class.
func TestCorrectionsHaveNoSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 5))
	m := New(Machine{})
	taken := func(ns float64) float64 { return 40 * math.Pow(ns, 0.7) }
	for range 4000 {
		ns := 4000 * math.Exp(rng.Float64()*math.Log(64))
		f := sized(t, ns)
		m.Observe(GPUPackedOr, &f, time.Duration(taken(ns)))
	}
	last := 0.0
	for ns := 4000.0; ns < 256_000; ns *= 1.1 {
		f := sized(t, ns)
		got := float64(m.Predict(GPUPackedOr, &f))
		if got < last || math.Abs(got/taken(ns)-1) > 0.07 {
			t.Errorf("%.0f ns: predicted %.0f, before %.0f, took %.0f", ns, got, last, taken(ns))
		}
		last = got
	}
}

// Predictions follow a place that becomes three times slower, or recovers,
// within 100 observations. If one observation in twenty takes a hundred times longer,
// it does not distort them.
func TestObserveFollowsDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	m, f := New(Machine{}), sized(t, 100_000)
	for phase, slow := range []float64{1, 3, 1} {
		for range 100 {
			took := 100_000 * slow * math.Exp(0.1*rng.NormFloat64())
			if rng.IntN(20) == 0 {
				took *= 100
			}
			m.Observe(GPUPackedOr, &f, time.Duration(took))
		}
		if got := float64(m.Predict(GPUPackedOr, &f)) / 100_000 / slow; got < 0.75 || got > 1.35 {
			t.Errorf("phase %d: predictions are %.2f times what is observed", phase, got)
		}
	}
}

// A correction is limited, and is halved repeatedly when its class is not
// observed any more.
func TestCorrectionsAge(t *testing.T) {
	m, f := New(Machine{}), sized(t, 100_000)
	for range 1000 {
		m.Observe(GPUPackedOr, &f, time.Hour)
	}
	limit := 100_000 * math.Exp(maxCorrection)
	if got := float64(m.Predict(GPUPackedOr, &f)); math.Abs(got/limit-1) > 1e-3 {
		t.Errorf("after many hours %g ns, not the limit, %g", got, limit)
	}
	other := Features{}
	for range 2 * maxAge {
		m.Observe(CPUBegin, &other, m.Predict(CPUBegin, &other))
	}
	if got := float64(m.Predict(GPUPackedOr, &f)); got > limit/math.E || got < 100_000 {
		t.Errorf("after %d other observations %g ns", 2*maxAge, got)
	}
	for range 40 * maxAge {
		m.Observe(CPUBegin, &other, m.Predict(CPUBegin, &other))
	}
	if got := float64(m.Predict(GPUPackedOr, &f)); math.Abs(got/100_000-1) > 0.01 {
		t.Errorf("after very many %g ns, not 100000", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	samples := measuredAnd(rng, 120, func() float64 { return 1 })
	tree, err := Train([]Sample{{Vector{1}, 100}, {Vector{2}, 200}}, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Machine{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 3000 {
				s := &samples[i%len(samples)]
				if p := m.Predict(CPUAnd, &s.Features); p < 1 || p > time.Minute {
					t.Errorf("%v", p)
					return
				}
				if m.PredictTree(CPUAnd, &s.Features) < 1 {
					t.Error("a tree predicts nothing")
					return
				}
				m.Observe(CPUAnd, &s.Features, s.Took)
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			m.Calibrate(samples)
			m.SetTrees(Trees{CPUAnd: tree})
			m.Errors()
			m.Fits()
			m.save()
		}
	})
	wg.Wait()
	if m.Trees().CPUAnd != tree || len(m.Fits()) != 1 {
		t.Error("what was set is lost")
	}
	if n := m.seen.Load(); n != 12000 {
		t.Errorf("%d observations, not 12000", n)
	}
}

func TestPredictAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 3))
	m := New(Machine{})
	f := Features{Lists: 3, K: 10, Shortest: 100, Second: 1000, Longest: 9000, Sum: 10100}
	m.Calibrate(measuredAnd(rng, 150, func() float64 { return math.Exp(rng.NormFloat64()) }))
	if n := testing.AllocsPerRun(100, func() {
		for k := range NumKinds {
			m.Observe(k, &f, m.Predict(k, &f)+m.PredictTree(k, &f))
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkPredict(b *testing.B) {
	f := Features{Lists: 3, K: 10, Shortest: 100, Second: 1000, Longest: 9000, Sum: 10100, Candidates: 50}
	m := New(Machine{})
	for _, k := range []Kind{CPUOr, CPUAnd, CPUIntersect, GPUPackedAnd} {
		b.Run("model=linear/kind="+k.String(), func(b *testing.B) {
			for b.Loop() {
				m.Predict(k, &f)
			}
		})
	}
	rng := rand.New(rand.NewPCG(9, 4))
	samples := make([]Sample, 2000)
	for i := range samples {
		for j := range MaxTreeFeatures {
			samples[i].X[j] = math.Floor(math.Exp(10 * rng.Float64()))
		}
		samples[i].Y = 1000 + samples[i].X[0]*samples[i].X[1]
	}
	tree, err := Train(samples, treeOptions)
	if err != nil {
		b.Fatal(err)
	}
	m.SetTrees(Trees{CPUOr: tree})
	b.Run("model=tree", func(b *testing.B) {
		for b.Loop() {
			m.PredictTree(CPUOr, &f)
		}
		b.ReportMetric(float64(tree.NumLeaves()), "leaves")
	})
	b.Run("observe", func(b *testing.B) {
		for b.Loop() {
			m.Observe(CPUAnd, &f, time.Microsecond)
		}
	})
}
