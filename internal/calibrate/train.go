package calibrate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/query"
)

// TrainOptions configure Train.
type TrainOptions struct {
	// Hits of the queries; 0: 10.
	K int
	// Number of training queries; the others are for testing. 0: 3000, as in the
	// paper, but at most three quarters of the queries.
	Train    int
	Progress func(done, total int64)
}

// TrainReport holds the prediction errors after Train.
type TrainReport struct {
	Queries int           `json:"queries"` // measured
	Train   int           `json:"train"`   // for training
	Trees   []TrainedTree `json:"trees"`
}

// TrainedTree describes one tree. Its error, over the test queries, is the mean
// of |predicted-measured|/measured.
type TrainedTree struct {
	Processor string    `json:"processor"` // "cpu" or "gpu"
	Mode      plan.Mode `json:"mode"`
	Queries   int       `json:"queries"` // for training
	Tested    int       `json:"tested"`
	Leaves    int       `json:"leaves"`
	Error     float64   `json:"mean_relative_error"`
	// The error of policy cost's model for the same queries and times, fitted to
	// the same training queries.
	Model float64 `json:"model_mean_relative_error"`
}

// fewQueries is the minimum number of training queries.
const fewQueries = 20

// Train measures every query on the CPU and, if there is one, the GPU, as OR
// and as AND. It trains the trees of PolicyQuery on a random subset (Ding et
// al., WWW 2009, §9) and fits the model of PolicyCost to the same queries,
// which represent the load better than Run's. The error wraps base.ErrBadInput
// if there are too few.
func Train(ctx context.Context, d *dispatch.Dispatcher, snapshot *index.Snapshot, queries []query.Node, o TrainOptions) (TrainReport, error) {
	m, err := newMeasurer(d.GPU(), snapshot)
	if err != nil {
		return TrainReport{}, err
	}
	return m.train(ctx, d, queries, o)
}

func (o TrainOptions) withDefaults(queries int) TrainOptions {
	if o.K <= 0 {
		o.K = 10
	}
	if o.Train <= 0 {
		o.Train = min(3000, queries*3/4)
	}
	o.Train = min(o.Train, queries)
	return o
}

func (m *measurer) train(ctx context.Context, d *dispatch.Dispatcher, queries []query.Node, o TrainOptions) (TrainReport, error) {
	o = o.withDefaults(len(queries))
	report := TrainReport{Queries: len(queries), Train: o.Train}
	if report.Train < fewQueries {
		return report, fmt.Errorf("train on %d of %d queries: at least %d are needed: %w", report.Train, len(queries), fewQueries, base.ErrBadInput)
	}
	queries = slices.Clone(queries)
	rng := rand.New(rand.NewPCG(uint64(len(queries)), 9)) // equal subsets for equal queries
	rng.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
	var t training
	for i, q := range queries {
		if i == report.Train {
			d.Costs().Calibrate(m.samples)
		}
		for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd} {
			p, err := m.Prepare(q, dispatch.Options{Mode: mode, K: o.K})
			if err != nil {
				return report, err
			}
			if mode == plan.ModeAnd && p.Stage(0).Kind() != traverse.And {
				continue // the AND of one word equals its OR
			}
			from := len(m.samples)
			w, err := m.measure(ctx, p)
			if err != nil {
				return report, err
			}
			t.add(&w, i < report.Train)
			if i >= report.Train {
				t.compare(d.Costs(), &w, m.samples[from:])
			}
		}
		if o.Progress != nil {
			o.Progress(int64(i+1), int64(len(queries)))
		}
	}
	if report.Train == len(queries) {
		d.Costs().Calibrate(m.samples)
	}
	trees, err := t.train(&report)
	if err != nil {
		return report, err
	}
	d.Costs().SetTrees(trees)
	return report, nil
}

type training struct {
	sets [sched.NumPlaces][2]treeSet // by place, and OR or AND
}

type treeSet struct {
	train, test []cost.Sample
	errors      float64 // sum of the model's errors
	compared    int
}

// at returns nil for kinds without a tree.
func (t *training) at(k cost.Kind) *treeSet {
	switch k {
	case cost.CPUTerm, cost.CPUOr:
		return &t.sets[sched.CPU][0]
	case cost.CPUAnd:
		return &t.sets[sched.CPU][1]
	case cost.GPUImagesOr, cost.GPUPackedOr:
		return &t.sets[sched.GPU][0]
	case cost.GPUImagesAnd, cost.GPUPackedAnd:
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

// compare adds the model's errors, by the same times that test the trees.
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
				Processor: sched.Place(at).String(), Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd}[i], Queries: len(s.train), Tested: len(s.test),
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
