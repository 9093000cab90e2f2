package griffin

import (
	"context"

	"github.com/griffin-search/griffin/internal/calibrate"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
)

// TrainOptions configure Train. The zero value has the defaults.
type TrainOptions struct {
	// K is the number of hits of each query; 0 is DefaultK.
	K int
	// Train is the number of queries to train on; the others test. 0 is 3000, at most
	// three quarters of the queries.
	Train int
	// Progress, if not nil, is called a few times a second with queries.
	Progress func(done, total int64)
}

// TrainReport is the result of Train.
type TrainReport struct {
	Queries int           `json:"queries"` // that were measured
	Train   int           `json:"train"`   // that were trained on
	Trees   []TrainedTree `json:"trees"`
	// SaveErr is the reason why the model, which the Runtime uses anyway, could not be kept in
	// RuntimeOptions.CostDir; nil: it was.
	SaveErr error `json:"-"`
}

// TrainedTree describes a model tree for one processor and mode. Its errors are the mean of
// |predicted-measured|/measured over queries that it was not trained on.
type TrainedTree struct {
	Processor string  `json:"processor"` // "cpu" or "gpu"
	Mode      Mode    `json:"mode"`
	Queries   int     `json:"queries"` // trained on
	Tested    int     `json:"tested"`
	Leaves    int     `json:"leaves"`
	Error     float64 `json:"mean_relative_error"`
	// ModelError is the error of the cost model of PolicyCost, fitted to the same queries.
	ModelError float64 `json:"model_mean_relative_error"`
}

// Train measures queries of a log on the CPU and any GPU, and fits the trees of PolicyQuery and
// the cost model of PolicyCost to their times. It needs at least 20 queries; the error wraps
// ErrBadInput if there are fewer. The result is kept in RuntimeOptions.CostDir
// (TrainReport.SaveErr).
func (ix *Index) Train(ctx context.Context, queries []query.Node, o TrainOptions) (_ TrainReport, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	for _, q := range queries {
		if err := query.Validate(q); err != nil {
			return TrainReport{}, err
		}
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return TrainReport{}, err
	}
	defer snapshot.Release()
	r, err := calibrate.Train(ctx, ix.runtime.dispatcher, snapshot, queries, calibrate.TrainOptions(o))
	if err != nil {
		return TrainReport{}, err
	}
	report := TrainReport{Queries: r.Queries, Train: r.Train}
	for _, t := range r.Trees {
		report.Trees = append(report.Trees, TrainedTree{
			Processor: t.Processor, Mode: Mode(t.Mode), Queries: t.Queries, Tested: t.Tested, Leaves: t.Leaves, Error: t.Error, ModelError: t.Model,
		})
	}
	ix.runtime.measured.Store(ix.runtime.dispatcher.Costs().Calibrated())
	report.SaveErr = ix.runtime.saveCosts()
	return report, nil
}
