package cost

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func train(t testing.TB, samples []Sample, o TreeOptions) *Tree {
	t.Helper()
	tree, err := Train(samples, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.check(); err != nil {
		t.Fatal(err)
	}
	return tree
}

// randomCases creates many ties.
func randomCases(rng *rand.Rand, n int) []treeCase {
	cases := make([]treeCase, n)
	for i := range cases {
		c := &cases[i]
		for j := range 3 {
			c.x[j] = float64(rng.IntN(6))
		}
		c.x[3] = rng.Float64()
		c.y, c.place = c.x[rng.IntN(4)]+rng.NormFloat64()/4, i
	}
	return cases
}

func sdr(cases []treeCase, feature int, threshold float64) (reduction float64, n int) {
	var parts [2][]float64
	var all []float64
	for i := range cases {
		side := 1
		if cases[i].x[feature] <= threshold {
			side = 0
		}
		parts[side] = append(parts[side], cases[i].y)
		all = append(all, cases[i].y)
	}
	sd := func(y []float64) float64 {
		mean, squares := 0.0, 0.0
		for _, v := range y {
			mean += v / float64(len(y))
		}
		for _, v := range y {
			squares += (v - mean) * (v - mean) / float64(len(y))
		}
		return math.Sqrt(squares)
	}
	reduction = sd(all)
	for _, y := range parts {
		if len(y) > 0 {
			reduction -= float64(len(y)) / float64(len(all)) * sd(y)
		}
	}
	return reduction, len(parts[0])
}

func TestBestSplitAgainstExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for range 150 {
		cases := randomCases(rng, 2+rng.IntN(40))
		minLeaf := 1 + rng.IntN(4)
		bestReduction := 0.0
		for feature := range MaxTreeFeatures {
			for i := range cases {
				r, n := sdr(cases, feature, cases[i].x[feature])
				if n >= minLeaf && len(cases)-n >= minLeaf {
					bestReduction = max(bestReduction, r)
				}
			}
		}
		got, ok := bestSplit(slices.Clone(cases), minLeaf)
		if !ok {
			if bestReduction > 1e-6 {
				t.Fatalf("no split of %d cases, but one reduces by %g", len(cases), bestReduction)
			}
			continue
		}
		r, n := sdr(cases, got.feature, got.threshold)
		if math.Abs(r-bestReduction) > 1e-6 || n != got.n {
			t.Fatalf("%+v of %d cases reduces by %g with %d to the left, the best by %g", got, len(cases), r, n, bestReduction)
		}
	}
}

// Times 1, 1, 5, 5 at 1, 2, 3, 4 are split at 2.5; equal times are not split.
func TestBestSplitByHand(t *testing.T) {
	cases := func(y ...float64) []treeCase {
		c := make([]treeCase, len(y))
		for i := range c {
			c[i].x[2], c[i].y, c[i].place = float64(i+1), y[i], i
		}
		return c
	}
	if s, ok := bestSplit(cases(1, 1, 5, 5), 1); !ok || s != (split{feature: 2, threshold: 2.5, n: 2}) {
		t.Errorf("%+v, %v", s, ok)
	}
	if s, ok := bestSplit(cases(1, 5, 5, 5), 2); !ok || s.n != 2 {
		t.Errorf("with two in each part: %+v, %v", s, ok)
	}
	if s, ok := bestSplit(cases(3, 3, 3, 3), 1); ok {
		t.Errorf("equal times are split: %+v", s)
	}
	if s, ok := bestSplit(cases(1, 5, 5), 2); ok {
		t.Errorf("three cases are split in two parts of two: %+v", s)
	}
}

// No model nearby has smaller squares, dependent features get no slope, and an
// exact line is recovered.
func TestRegress(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	squares := func(cases []treeCase, l *linear) (sum float64) {
		for i := range cases {
			r := l.value(&cases[i].x) - cases[i].y
			sum += r * r
		}
		return sum
	}
	for range 100 {
		cases := randomCases(rng, 10+rng.IntN(50))
		for i := range cases {
			cases[i].x[4] = cases[i].x[0] + 2*cases[i].x[1] // dependent
			cases[i].x[5] = 7.0 / 3                         // constant
		}
		used := [MaxTreeFeatures]bool{true, true, false, true, true, true}
		l := regress(cases, used)
		if l.Slopes[4] != 0 || l.Slopes[5] != 0 || l.Slopes[2] != 0 {
			t.Fatalf("slopes %v", l.Slopes)
		}
		least := squares(cases, &l)
		for range 30 {
			other := l
			other.Intercept += rng.NormFloat64() / 10
			for j := range used {
				if used[j] {
					other.Slopes[j] += rng.NormFloat64() / 10
				}
			}
			if s := squares(cases, &other); s < least {
				t.Fatalf("%+v has squares %g, %+v only %g", l, least, other, s)
			}
		}
		for i := range cases {
			cases[i].y = 3 + 2*cases[i].x[0] - 0.5*cases[i].x[3]
		}
		l = regress(cases, used)
		if s := squares(cases, &l); s > 1e-12 {
			t.Fatalf("a line is missed: %+v, squares %g", l, s)
		}
	}
}

// The times depend on one feature.
func TestSimplify(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	cases := randomCases(rng, 200)
	for i := range cases {
		cases[i].y = 1 + 3*cases[i].x[1] + 0.01*rng.NormFloat64()
	}
	l, err := simplify(cases, [MaxTreeFeatures]bool{true, true, true, true})
	kept := 0
	for j, s := range l.Slopes {
		if s != 0 {
			kept++
		}
		if j == 1 && math.Abs(s-3) > 0.02 {
			t.Errorf("slope %g, not 3", s)
		}
	}
	if kept > 2 || err > 0.01 {
		t.Errorf("%d features are kept of one that matters: %v, error %g", kept, l.Slopes, err)
	}
	// Residuals of 1 and -1 around the mean, 2 cases, 1 parameter: 1 * 3/1.
	two := []treeCase{{y: 1}, {y: 3}}
	if _, err := estimate(two, [MaxTreeFeatures]bool{}); math.Abs(err-3) > 1e-12 {
		t.Errorf("expected error %g, not 3", err)
	}
	if _, err := estimate(two[:1], [MaxTreeFeatures]bool{}); !math.IsInf(err, 1) {
		t.Errorf("expected error of a single case: %g", err)
	}
}

// powers creates samples whose time is a product of powers of the features,
// with another law for many terms than for few, times noise.
func powers(rng *rand.Rand, n int, noise float64) []Sample {
	samples := make([]Sample, n)
	for i := range samples {
		s := &samples[i]
		s.X = Vector{math.Exp(rng.Float64() * 12), math.Exp(rng.Float64() * 12), math.Exp(rng.Float64() * 12), float64(1 + rng.IntN(6))}
		s.Y = 1000 * math.Pow(1+s.X[0], 0.3)
		if s.X[3] > 3 {
			s.Y = 50 * math.Pow(1+s.X[2], 0.8)
		}
		s.Y *= math.Exp(noise * rng.NormFloat64())
	}
	return samples
}

// Two laws give two leaves: pruning removes splits of noise, and predictions of
// other samples are as good as the noise permits.
func TestTrainFindsTwoLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	samples, others := powers(rng, 2000, 0.1), powers(rng, 1000, 0.1)
	tree := train(t, samples, TreeOptions{MinLeaf: 20})
	unpruned := train(t, samples, TreeOptions{MinLeaf: 20, Unpruned: true})
	if tree.NumLeaves() >= unpruned.NumLeaves() || tree.NumLeaves() > 20 {
		t.Errorf("%d leaves, unpruned %d", tree.NumLeaves(), unpruned.NumLeaves())
	}
	// Three terms or four, each plus one as in a tree.
	if !slices.ContainsFunc(tree.Nodes, func(n treeNode) bool {
		return n.Left != 0 && n.Feature == 3 && n.Threshold > log2(4) && n.Threshold < log2(5)
	}) {
		t.Errorf("no node separates 3 terms from 4: %+v", tree.Nodes)
	}
	// The mean of |exp(0.1*g)-1| is 0.08.
	if e := tree.MeanRelativeError(others); e > 0.11 {
		t.Errorf("mean relative error %.3f on other samples", e)
	}
	exact := powers(rng, 500, 0)
	if e := train(t, exact, TreeOptions{Smoothing: -1}).MeanRelativeError(exact); e > 0.01 {
		t.Errorf("mean relative error %.4f without noise", e)
	}
}

// The mean of 10/100 and 30/100.
func TestMeanRelativeError(t *testing.T) {
	tree := train(t, []Sample{{Vector{1}, 100}, {Vector{1}, 100}}, TreeOptions{})
	if got := tree.MeanRelativeError([]Sample{{Vector{1}, 100 / 1.1}, {Vector{5}, 100 / 0.7}}); math.Abs(got-0.2) > 1e-3 {
		t.Errorf("%g, not 0.2", got)
	}
	if got := tree.MeanRelativeError(nil); got != 0 {
		t.Errorf("%g of no samples", got)
	}
}

// A leaf of 5 cases predicts 10, below a node of 20 with 16, below the root
// with 30; k is 15: (5*10+15*16)/20 = 14.5, (20*14.5+15*30)/35 = 21.14.
func TestSmooth(t *testing.T) {
	leaf := func(n int, v float64) *branch { return &branch{n: n, model: linear{Intercept: v, Slopes: Vector{v}}} }
	inner := &branch{n: 20, model: linear{Intercept: 16, Slopes: Vector{16}}, left: leaf(5, 10), right: leaf(15, 18)}
	root := &branch{n: 35, model: linear{Intercept: 30, Slopes: Vector{30}}, left: inner, right: leaf(15, 40)}
	root.smooth(15, nil)
	for _, c := range []struct {
		b    *branch
		want float64
	}{{inner.left, 740.0 / 35}, {inner.right, (20*17 + 450.0) / 35}, {root.right, 35}, {root, 30}, {inner, 16}} {
		if got := c.b.model; math.Abs(got.Intercept-c.want) > 1e-9 || math.Abs(got.Slopes[0]-c.want) > 1e-9 {
			t.Errorf("%+v, not %g", got, c.want)
		}
	}
}

func TestTrainIsDeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 5))
	samples := powers(rng, 500, 0.3)
	for i := range samples {
		samples[i].X[1] = float64(rng.IntN(4)) // ties
	}
	a, err := json.Marshal(train(t, samples, TreeOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(train(t, slices.Clone(samples), TreeOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Error("two trees of the same samples differ")
	}
}

// Predictions stay within reach of measured times and are continuous except at
// thresholds: on a path through the features at most one step in fifty is a
// jump.
func TestPredictionsAreContinuous(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 6))
	samples := powers(rng, 1000, 0.05)
	tree := train(t, samples, TreeOptions{MinLeaf: 20})
	least, most := math.Inf(1), 0.0
	for i := range samples {
		least, most = min(least, samples[i].Y), max(most, samples[i].Y)
	}
	for _, x := range []Vector{{}, {math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}, {-5, -1}, {math.Inf(1)}} {
		if got := tree.Predict(x); !(got >= least/reach-1 && got <= most*reach+1) {
			t.Errorf("%v: %g, beyond %g to %g", x, got, least, most)
		}
	}
	jumps, last := 0, 0.0
	const steps = 2000
	for i := range steps {
		v := math.Exp(12 * float64(i) / steps)
		got := tree.Predict(Vector{v, v, v, 2})
		if i > 0 && math.Abs(math.Log(got/last)) > 0.02 {
			jumps++
		}
		last = got
	}
	if jumps > steps/50 {
		t.Errorf("%d jumps in %d steps", jumps, steps)
	}
}

func TestTrainRefuses(t *testing.T) {
	good := Sample{Vector{1}, 100}
	for _, samples := range [][]Sample{
		nil,
		{good, {Vector{math.NaN()}, 100}},
		{good, {Vector{-1}, 100}},
		{good, {Vector{math.Inf(1)}, 100}},
		{good, {Vector{1}, 0}},
		{good, {Vector{1}, math.NaN()}},
		{good, {Vector{1}, math.Inf(1)}},
	} {
		if tree, err := Train(samples, TreeOptions{}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%v: tree %v, error %v", samples, tree, err)
		}
	}
	if tree := train(t, []Sample{good}, TreeOptions{}); math.Abs(tree.Predict(Vector{9})-100) > 0.1 {
		t.Errorf("a tree of one sample predicts %g", tree.Predict(Vector{9}))
	}
}

func TestTreeFeatures(t *testing.T) {
	f := Features{Lists: 3, Shortest: 5, Second: 70, Longest: 800, Sum: 875, Essential: 5, K: 10}
	if got := TreeFeatures(&f); got != (Vector{5, 70, 875, 3}) {
		t.Errorf("%v", got)
	}
}
