package cost

import (
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Trees predict the time of whole queries, by processor and mode. nil:
// untrained.
type Trees struct {
	CPUOr, CPUAnd, GPUOr, GPUAnd *Tree
}

var treeNames = [...]string{"cpu-or", "cpu-and", "gpu-or", "gpu-and"}

// named returns the address of the tree of a name, or nil if there is none.
func (t *Trees) named(name string) **Tree {
	for i, at := range [...]**Tree{&t.CPUOr, &t.CPUAnd, &t.GPUOr, &t.GPUAnd} {
		if treeNames[i] == name {
			return at
		}
	}
	return nil
}

// of returns the tree for whole queries of a kind, or nil.
func (t *Trees) of(k Kind) *Tree {
	switch k {
	case CPUTerm, CPUOr:
		return t.CPUOr
	case CPUAnd:
		return t.CPUAnd
	case GPUImagesOr, GPUPackedOr:
		return t.GPUOr
	case GPUImagesAnd, GPUPackedAnd:
		return t.GPUAnd
	}
	return nil
}

// Trees returns the trees of the model.
func (m *Model) Trees() Trees { return m.fitted.Load().trees }

// Adopt takes over the calibration and the trees of from, a model of the same
// machine. m may be in use.
func (m *Model) Adopt(from *Model) {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.fitted.Store(from.fitted.Load())
}

// SetTrees replaces the trees of the model.
func (m *Model) SetTrees(t Trees) {
	m.changing.Lock()
	defer m.changing.Unlock()
	next := *m.fitted.Load()
	next.trees = t
	m.fitted.Store(&next)
}

// PredictTree returns the tree's prediction for a whole query, of kind CPUTerm,
// CPUOr, CPUAnd, GPUImagesOr, GPUImagesAnd, GPUPackedOr or GPUPackedAnd;
// without a tree it is Predict.
func (m *Model) PredictTree(k Kind, f *Features) time.Duration {
	t := m.fitted.Load().trees.of(k)
	if t == nil {
		return m.Predict(k, f)
	}
	return time.Duration(min(t.Predict(TreeFeatures(f)), maxSample))
}

// MaxTreeFeatures is the maximum number of features of a Tree.
const MaxTreeFeatures = 8

// Vector holds the features of a Tree, >= 0; unused ones are 0.
type Vector [MaxTreeFeatures]float64

// TreeFeatures are the features of Ding et al. (Using Graphics Processors for
// High Performance IR Query Processing, WWW 2009, section 9): the lengths of
// the shortest list and of the second shortest, the sum of all lengths, and the
// number of terms.
func TreeFeatures(f *Features) Vector {
	return Vector{float64(f.Shortest), float64(f.Second), float64(f.Sum), float64(f.Lists)}
}

// Tree is a model tree: inner nodes compare a feature with a threshold, leaves
// have linear models. Immutable.
type Tree struct {
	// The root first, each before its descendants.
	Nodes []treeNode `json:"nodes"`
	// Number of training samples.
	Samples int `json:"samples"`
	// Limits of predictions, in nanoseconds: the shortest measured time divided by
	// reach, and the longest times reach.
	Least float64 `json:"least_ns"`
	Most  float64 `json:"most_ns"`
}

const reach = 4

// treeNode is a leaf if Left is 0. Features and times are logarithms.
type treeNode struct {
	Feature   int     `json:"feature,omitempty"`
	Threshold float64 `json:"threshold,omitempty"` // up to and including it: Left
	Left      int     `json:"left,omitempty"`
	Right     int     `json:"right,omitempty"`
	Model     *linear `json:"model,omitempty"` // for a leaf
}

type linear struct {
	Intercept float64 `json:"intercept"`
	Slopes    Vector  `json:"slopes"`
}

func (l *linear) value(v *Vector) float64 {
	sum := l.Intercept
	for i, s := range l.Slopes {
		sum += s * v[i]
	}
	return sum
}

// Predict predicts the time of a query in nanoseconds from its TreeFeatures, in
// less than 100 ns.
func (t *Tree) Predict(x Vector) float64 {
	x.takeLogarithms()
	return t.predict(&x)
}

// predict is Predict for features that are logarithms.
func (t *Tree) predict(v *Vector) float64 {
	n := &t.Nodes[0]
	for n.Left != 0 {
		next := n.Right
		if v[n.Feature&(MaxTreeFeatures-1)] <= n.Threshold {
			next = n.Left
		}
		n = &t.Nodes[next]
	}
	return min(max(exp2(n.Model.value(v)), t.Least), t.Most)
}

// NumLeaves is the number of linear models.
func (t *Tree) NumLeaves() int { return (len(t.Nodes) + 1) / 2 }

// MeanRelativeError returns the mean of |predicted-measured|/measured over
// samples, or 0.
func (t *Tree) MeanRelativeError(samples []Sample) float64 {
	sum := 0.0
	for i := range samples {
		sum += math.Abs(t.Predict(samples[i].X)-samples[i].Y) / samples[i].Y
	}
	return sum / float64(max(len(samples), 1))
}

// check ensures that Predict terminates with a number.
func (t *Tree) check() error {
	if len(t.Nodes) == 0 || !(t.Least > 0 && t.Least <= t.Most && t.Most <= math.MaxInt64/2) {
		return fmt.Errorf("%d nodes, times from %g to %g: %w", len(t.Nodes), t.Least, t.Most, base.ErrCorrupt)
	}
	finite := func(v float64) bool { return math.Abs(v) <= maxLogarithm }
	for i := range t.Nodes {
		n := &t.Nodes[i]
		ok := false
		if n.Left == 0 {
			ok = n.Model != nil && finite(n.Model.Intercept)
			for _, s := range n.slopes() {
				ok = ok && finite(s)
			}
		} else {
			ok = n.Feature >= 0 && n.Feature < MaxTreeFeatures && finite(n.Threshold) &&
				n.Left > i && n.Left < len(t.Nodes) && n.Right > i && n.Right < len(t.Nodes)
		}
		if !ok {
			return fmt.Errorf("node %d of %d: %w", i, len(t.Nodes), base.ErrCorrupt)
		}
	}
	return nil
}

func (n *treeNode) slopes() []float64 {
	if n.Model == nil {
		return nil
	}
	return n.Model.Slopes[:]
}

// maxLogarithm prevents overflow of sums of products.
const maxLogarithm = 1e6

// takeLogarithms replaces each feature by the logarithm of the feature plus one, because
// a query of one term has no second list.
func (v *Vector) takeLogarithms() {
	for i, x := range v {
		v[i] = log2(1 + max(x, 0))
	}
}
