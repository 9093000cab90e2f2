package ding09

import (
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

const (
	// maxSamples is the paper's number of queries for training.
	maxSamples = 3000
	// firstTraining is the number of samples of the first tree. Trees are trained again whenever
	// the number has doubled.
	firstTraining = 32
)

// priorPosting is the time of a posting before the first training.
const priorPosting = 10 * time.Nanosecond

// costs predicts times by model trees of the paper's features (§9): the lengths of the shortest
// list and of the second shortest, the sum of all lengths, and the number of terms. Safe for
// concurrent use.
type costs struct {
	mu      sync.Mutex
	classes map[plan.Mode]*class
}

// class has the trees of a mode, by processor.
type class struct {
	samples [sched.NumPlaces][]cost.Sample
	trees   [sched.NumPlaces]*cost.Tree
}

func newCosts() *costs {
	return &costs{classes: map[plan.Mode]*class{}}
}

func (c *costs) class(mode plan.Mode) *class {
	if c.classes[mode] == nil {
		c.classes[mode] = &class{}
	}
	return c.classes[mode]
}

// featuresOf returns the features of a query, with the lengths summed over the segments.
func featuresOf(stages []stage) cost.Vector {
	var lengths []int64
	for _, terms := range stages[len(stages)-1].segments {
		for i, t := range terms {
			if i == len(lengths) {
				lengths = append(lengths, 0)
			}
			lengths[i] += int64(t.DocFreq())
		}
	}
	f := cost.Features{Lists: len(lengths)}
	for i, n := range lengths {
		switch i {
		case 0:
			f.Shortest = n
		case 1:
			f.Second = n
		}
		f.Sum += n
	}
	return cost.TreeFeatures(&f)
}

// sum is the place of cost.Features.Sum in a vector.
const sum = 2

// predict returns the times on both processors, with a transfer to the GPU. Until a mode has a tree for
// each, its queries go to the processor with fewer samples.
func (c *costs) predict(mode plan.Mode, x cost.Vector, transfer time.Duration) (predicted [sched.NumPlaces]time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.class(mode)
	if k.trees[sched.CPU] == nil || k.trees[sched.GPU] == nil {
		prior := priorPosting * time.Duration(1+x[sum])
		predicted = [sched.NumPlaces]time.Duration{prior, prior}
		more := sched.CPU
		if len(k.samples[sched.GPU]) > len(k.samples[sched.CPU]) {
			more = sched.GPU
		}
		predicted[more] *= 2
		return predicted
	}
	for p, tree := range k.trees {
		predicted[p] = max(time.Duration(tree.Predict(x)), 1)
	}
	predicted[sched.GPU] += transfer
	return predicted
}

// observe learns the time of a query without transfers.
func (c *costs) observe(at sched.Place, mode plan.Mode, x cost.Vector, took time.Duration) {
	samples := c.add(at, mode, cost.Sample{X: x, Y: float64(max(took, 1))})
	n := len(samples)
	if n < firstTraining || n != maxSamples && n&(n-1) != 0 {
		return
	}
	tree, err := cost.Train(samples, cost.TreeOptions{})
	if err != nil {
		return // the former tree stays
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.class(mode); k.trees[at] == nil || k.trees[at].Samples < n {
		k.trees[at] = tree
	}
}

// add returns the samples with a new one, which do not change; nil if there were enough.
func (c *costs) add(at sched.Place, mode plan.Mode, s cost.Sample) []cost.Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.class(mode)
	if len(k.samples[at]) == maxSamples {
		return nil
	}
	k.samples[at] = append(k.samples[at], s)
	return k.samples[at]
}

// transferTime predicts the transfer of the lists that the GPU lacks, and whether there are any.
func (g *gpu) transferTime(p *plan.Plan, stages []stage) (took time.Duration, missing bool) {
	segments := p.Snapshot().Segments
	n, bytes := 0, int64(0)
	for i, terms := range stages[len(stages)-1].segments {
		for _, t := range terms {
			if !g.cache.has(listKey(&segments[i], t)) {
				n++
				bytes += t.SizeBytes()
			}
		}
	}
	return g.cache.transferTime(n, bytes), n > 0
}
