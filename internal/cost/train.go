package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// Sample is a measured query.
type Sample struct {
	X Vector
	Y float64 // its time in nanoseconds, >= 1
}

// TreeOptions are parameters of Train. Zero values select the defaults.
type TreeOptions struct {
	// Minimum number of samples of a leaf; 0: 4.
	MinLeaf int
	// The fraction of the standard deviation of all samples below which a node is
	// not split; 0: 0.05.
	MinSpread float64
	// The weight, in samples, of a node's model when models below are smoothed
	// towards it; 0: 15; negative: no smoothing.
	Smoothing float64
	// Unpruned keeps subtrees that are no better than one model.
	Unpruned bool
}

func (o TreeOptions) withDefaults() TreeOptions {
	if o.MinLeaf <= 0 {
		o.MinLeaf = 4
	}
	if o.MinSpread <= 0 {
		o.MinSpread = 0.05
	}
	if o.Smoothing == 0 {
		o.Smoothing = 15
	}
	o.Smoothing = max(o.Smoothing, 0)
	return o
}

// Train creates a model tree by M5 (Quinlan, Learning with Continuous Classes,
// AI 1992) as described by Wang and Witten (Induction of Model Trees for
// Predicting Continuous Classes, ECML 1997). A node is split where the standard
// deviation of the times falls most (bestSplit). Each node gets a linear model
// of the features compared in its subtree (simplify). A subtree whose expected
// error is not below its root's is pruned. Models are smoothed along the path
// from the root; here once, in the leaves' models. Train is deterministic.
//
// We differ: Ding et al. use M5Rules, which takes the best leaf of successive
// trees as rules; we keep the tree. Features and times are logarithms, so that
// the relative error is minimised. Missing values are not supported.
//
// The error wraps base.ErrBadInput if there are no samples or one is not a
// number.
func Train(samples []Sample, o TreeOptions) (*Tree, error) {
	if len(samples) == 0 {
		return nil, fmt.Errorf("train a tree: no samples: %w", base.ErrBadInput)
	}
	g := grower{options: o.withDefaults(), cases: make([]treeCase, len(samples))}
	t := &Tree{Samples: len(samples), Least: math.Inf(1)}
	for i, s := range samples {
		for _, v := range s.X {
			if !(v >= 0 && v < math.MaxInt64) {
				return nil, fmt.Errorf("train a tree: sample %d: feature %g: %w", i, v, base.ErrBadInput)
			}
		}
		if !(s.Y >= 1 && s.Y < maxSample) {
			return nil, fmt.Errorf("train a tree: sample %d: time %g: %w", i, s.Y, base.ErrBadInput)
		}
		g.cases[i] = treeCase{s.X, math.Log2(s.Y), i}
		g.cases[i].x.takeLogarithms()
		t.Least, t.Most = min(t.Least, s.Y/reach), max(t.Most, s.Y*reach)
	}
	g.spread = deviation(g.cases)
	root := g.grow(g.cases)
	root.smooth(g.options.Smoothing, nil)
	t.add(root)
	return t, nil
}

// maxSample is the longest time of a Sample: three hours.
const maxSample = 1e13

type treeCase struct {
	x     Vector
	y     float64
	place int
}

type grower struct {
	options TreeOptions
	spread  float64 // standard deviation of all cases
	cases   []treeCase
}

type branch struct {
	n           int
	model       linear
	used        [MaxTreeFeatures]bool // features compared in the subtree
	err         float64               // expected error of the subtree
	split       split
	left, right *branch // nil for a leaf
}

// grow makes the subtree of cases, which it reorders.
func (g *grower) grow(cases []treeCase) *branch {
	b := &branch{n: len(cases)}
	if s, ok := g.split(cases); ok {
		base.Sort(cases, byFeature(s.feature))
		b.split = s
		b.left, b.right = g.grow(cases[:s.n]), g.grow(cases[s.n:])
		b.used[s.feature] = true
		for i := range b.used {
			b.used[i] = b.used[i] || b.left.used[i] || b.right.used[i]
		}
	}
	var err float64
	b.model, err = simplify(cases, b.used)
	if b.left == nil {
		b.err = err
		return b
	}
	b.err = (float64(b.left.n)*b.left.err + float64(b.right.n)*b.right.err) / float64(b.n)
	if err <= b.err && !g.options.Unpruned {
		b.left, b.right, b.err = nil, nil, err
	}
	return b
}

// split returns the two parts of cases, and whether to split them.
func (g *grower) split(cases []treeCase) (split, bool) {
	if len(cases) < 2*g.options.MinLeaf || deviation(cases) <= g.options.MinSpread*g.spread {
		return split{}, false
	}
	return bestSplit(cases, g.options.MinLeaf)
}

// split divides cases sorted by a feature: the first n have at most the
// threshold.
type split struct {
	feature   int
	threshold float64
	n         int
}

// bestSplit returns the split with the greatest reduction of the standard
// deviation,
//
//	SDR = sd(T) - sum over both parts of |Ti|/|T| * sd(Ti),
//
// with at least minLeaf cases in each part; among equal ones, the first feature
// and the smallest threshold. It reorders cases.
func bestSplit(cases []treeCase, minLeaf int) (best split, ok bool) {
	var whole moments
	for i := range cases {
		whole.add(cases[i].y, 1)
	}
	least := whole.n * whole.deviation() * (1 - 1e-9) // a reduction within rounding does not count
	for feature := range MaxTreeFeatures {
		base.Sort(cases, byFeature(feature))
		var left moments
		right := whole
		for i := range len(cases) - minLeaf {
			left.add(cases[i].y, 1)
			right.add(cases[i].y, -1)
			from, to := cases[i].x[feature], cases[i+1].x[feature]
			if i+1 < minLeaf || from == to {
				continue
			}
			if d := left.n*left.deviation() + right.n*right.deviation(); d < least {
				middle := from + (to-from)/2
				if middle >= to { // adjacent numbers
					middle = from
				}
				least, ok = d, true
				best = split{feature, middle, i + 1}
			}
		}
	}
	return best, ok
}

// byFeature orders cases by a feature and breaks ties by index, so that the tree does
// not depend on the previous order.
func byFeature(feature int) func(a, b treeCase) int {
	return func(a, b treeCase) int {
		return cmp.Or(cmp.Compare(a.x[feature], b.x[feature]), cmp.Compare(a.place, b.place))
	}
}

type moments struct{ n, sum, squares float64 }

func (m *moments) add(y, times float64) {
	m.n += times
	m.sum += times * y
	m.squares += times * y * y
}

func (m *moments) deviation() float64 {
	if m.n <= 0 {
		return 0
	}
	mean := m.sum / m.n
	return math.Sqrt(max(m.squares/m.n-mean*mean, 0))
}

func deviation(cases []treeCase) float64 {
	var m moments
	for i := range cases {
		m.add(cases[i].y, 1)
	}
	return m.deviation()
}

// simplify fits a linear model of the used features, and removes features one
// by one while the expected error, which it returns, does not rise.
func simplify(cases []treeCase, used [MaxTreeFeatures]bool) (linear, float64) {
	model, err := estimate(cases, used)
	for {
		best := -1
		for i := range used {
			if !used[i] {
				continue
			}
			used[i] = false
			without, e := estimate(cases, used)
			used[i] = true
			if e <= err {
				best, model, err = i, without, e
			}
		}
		if best < 0 {
			return model, err
		}
		used[best] = false
	}
}

// estimate fits a linear model and returns its expected error: the mean
// absolute residual times (n+v)/(n-v) for v parameters and n cases.
func estimate(cases []treeCase, used [MaxTreeFeatures]bool) (linear, float64) {
	model := regress(cases, used)
	sum, v := 0.0, 1
	for i := range cases {
		sum += math.Abs(model.value(&cases[i].x) - cases[i].y)
	}
	for _, u := range used {
		if u {
			v++
		}
	}
	n := len(cases)
	if n <= v {
		return model, math.Inf(1)
	}
	return model, sum / float64(n) * float64(n+v) / float64(n-v)
}

// smooth smooths the leaves' models towards those above, whose path is from the
// root to b. A prediction p of a node with n cases becomes (n*p + k*q)/(n+k),
// with q of the parent; for linear models the result is linear too.
func (b *branch) smooth(k float64, path []*branch) {
	if b.left != nil {
		path = append(path, b)
		b.left.smooth(k, path)
		b.right.smooth(k, path)
		return
	}
	below := b.n
	for _, above := range slices.Backward(path) {
		weight := float64(below) / (float64(below) + k)
		b.model.Intercept = weight*b.model.Intercept + (1-weight)*above.model.Intercept
		for i := range b.model.Slopes {
			b.model.Slopes[i] = weight*b.model.Slopes[i] + (1-weight)*above.model.Slopes[i]
		}
		below = above.n
	}
}

// add appends the nodes of a subtree and returns the index of its root.
func (t *Tree) add(b *branch) int {
	at := len(t.Nodes)
	t.Nodes = append(t.Nodes, treeNode{})
	if b.left == nil {
		model := b.model
		t.Nodes[at].Model = &model
		return at
	}
	left := t.add(b.left)
	right := t.add(b.right)
	t.Nodes[at] = treeNode{Feature: b.split.feature, Threshold: b.split.threshold, Left: left, Right: right}
	return at
}
