package exec

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// TrainOptions say how Train trains.
type TrainOptions struct {
	// K is how many hits queries ask for; default 10.
	K int
	// Train is how many queries are trained on; the others test. Default 3000, as in the
	// paper, or three quarters of the queries if that is less.
	Train int
	// Progress, if set, is called with the queries done and in all.
	Progress func(done, total int64)
}

// TrainReport tells how well times are predicted after Train.
type TrainReport struct {
	Queries int           `json:"queries"` // that were measured
	Train   int           `json:"train"`   // of them
	Trees   []TrainedTree `json:"trees"`
}

// TrainedTree is one of the trees, with errors over queries that it was not trained on:
// the mean of |predicted-measured|/measured.
type TrainedTree struct {
	Processor string  `json:"processor"` // "cpu" or "gpu"
	Mode      Mode    `json:"mode"`
	Queries   int     `json:"queries"` // trained on
	Tested    int     `json:"tested"`
	Leaves    int     `json:"leaves"`
	Error     float64 `json:"mean_relative_error"`
	// Model is the error of the policy cost's model of the same work, by the same times, fitted
	// to the same queries.
	Model float64 `json:"model_mean_relative_error"`
}

// fewQueries is the least number of queries to train on.
const fewQueries = 20

// Train measures every query on the CPU and, if there is one, on the GPU, as OR and as
// AND, and trains the trees of PolicyQuery on part of them, chosen at random (Ding et
// al., WWW 2009, §9). The model of PolicyCost is fitted to the same queries: it knows them
// better than Calibrate's. The error wraps base.ErrBadInput if there are too few.
func (d *Dispatcher) Train(ctx context.Context, snapshot *index.Snapshot, queries []query.Node, o TrainOptions) (TrainReport, error) {
	if o.K <= 0 {
		o.K = 10
	}
	m, err := newMeasurer(d.gpu, snapshot)
	if err != nil {
		return TrainReport{}, err
	}
	queries = slices.Clone(queries)
	rng := rand.New(rand.NewPCG(uint64(len(queries)), 9)) // the same queries, the same halves
	rng.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
	if o.Train <= 0 {
		o.Train = min(3000, len(queries)*3/4)
	}
	report := TrainReport{Queries: len(queries), Train: min(o.Train, len(queries))}
	if report.Train < fewQueries {
		return report, fmt.Errorf("train on %d of %d queries: at least %d are needed: %w", report.Train, len(queries), fewQueries, base.ErrBadInput)
	}
	var t training
	for i, q := range queries {
		if i == report.Train {
			d.costs.Calibrate(m.samples)
		}
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			p, err := m.searcher.Prepare(m.sc, q, Options{Mode: mode, K: o.K})
			if err != nil {
				return report, err
			}
			if mode == ModeAnd && p.stages[0].kind != traverse.And {
				continue // of one word, an AND is the OR that was measured
			}
			from := len(m.samples)
			w, err := m.measure(ctx, p)
			if err != nil {
				return report, err
			}
			t.add(&w, i < report.Train)
			if i >= report.Train {
				t.compare(d.costs, &w, m.samples[from:])
			}
		}
		if o.Progress != nil {
			o.Progress(int64(i+1), int64(len(queries)))
		}
	}
	if report.Train == len(queries) {
		d.costs.Calibrate(m.samples)
	}
	trees, err := t.train(&report)
	if err != nil {
		return report, err
	}
	d.costs.SetTrees(trees)
	return report, nil
}

// training gathers what trees are trained and tested on.
type training struct {
	sets [sched.NumPlaces][2]treeSet // by place, and OR or AND
}

// treeSet is what one tree is made of.
type treeSet struct {
	train, test []cost.Sample
	errors      float64 // of the model, summed
	compared    int
}

// at returns the set that a kind of whole queries belongs to, nil if it has none.
func (t *training) at(k cost.Kind) *treeSet {
	switch k {
	case cost.CPUTerm, cost.CPUOr:
		return &t.sets[sched.CPU][0]
	case cost.CPUAnd:
		return &t.sets[sched.CPU][1]
	case cost.GPUImagesOr, cost.GPUDirectOr:
		return &t.sets[sched.GPU][0]
	case cost.GPUImagesAnd, cost.GPUDirectAnd:
		return &t.sets[sched.GPU][1]
	}
	return nil
}

func (t *training) add(w *whole, train bool) {
	for at, took := range w.took {
		s := t.at(w.kind[at])
		switch sample := (cost.Sample{X: w.features, Y: float64(took)}); {
		case took <= 0 || s == nil:
		case train:
			s.train = append(s.train, sample)
		default:
			s.test = append(s.test, sample)
		}
	}
}

// compare notes how far off the model is for a whole query, by the samples of the times that
// trees are tested with.
func (t *training) compare(m *cost.Model, w *whole, samples []cost.Measured) {
	for i := range samples {
		x := &samples[i]
		for at, took := range w.took {
			if s := t.at(x.Kind); s != nil && x.Kind == w.kind[at] && x.Took == took && x.Features.Batch <= 1 {
				s.errors += math.Abs(float64(m.Predict(x.Kind, &x.Features)-x.Took)) / float64(x.Took)
				s.compared++
			}
		}
	}
}

// train trains the trees that have samples.
func (t *training) train(report *TrainReport) (trees cost.Trees, err error) {
	places := [sched.NumPlaces][2]**cost.Tree{
		sched.CPU: {&trees.CPUOr, &trees.CPUAnd},
		sched.GPU: {&trees.GPUOr, &trees.GPUAnd},
	}
	for at := range places {
		for i, place := range places[at] {
			s := &t.sets[at][i]
			if len(s.train) < fewQueries {
				continue
			}
			if *place, err = cost.Train(s.train, cost.TreeOptions{}); err != nil {
				return trees, err
			}
			tree := TrainedTree{
				Processor: sched.Place(at).String(), Mode: []Mode{ModeOr, ModeAnd}[i], Queries: len(s.train), Tested: len(s.test),
				Leaves: (*place).NumLeaves(), Error: (*place).MeanRelativeError(s.test),
			}
			if s.compared > 0 {
				tree.Model = s.errors / float64(s.compared)
			}
			report.Trees = append(report.Trees, tree)
		}
	}
	return trees, nil
}
