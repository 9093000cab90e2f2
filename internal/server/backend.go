package server

import (
	"context"

	"github.com/griffin-search/griffin"
)

// backend is what the handlers need of an index, as functions, so that tests
// can make it slow, broken or busy.
type backend struct {
	search   func(context.Context, searchRequest) (*griffin.Results, error)
	document func(ctx context.Context, id string) (griffin.Document, bool, error)
	stats    func() (griffin.Stats, error)
	gpu      func() (stats griffin.GPUStats, used bool)
	dispatch func() griffin.DispatchStats
	results  func() (stats griffin.ResultCacheStats, used bool)
}

func indexBackend(ix *griffin.Index) backend {
	return backend{
		search: func(ctx context.Context, req searchRequest) (*griffin.Results, error) {
			return ix.Search(ctx, req.Text, req.options()...)
		},
		document: ix.Document,
		stats:    ix.Stats,
		gpu:      ix.GPUStats,
		dispatch: ix.DispatchStats,
		results:  ix.ResultCacheStats,
	}
}

func (r searchRequest) options() []griffin.SearchOption {
	opts := []griffin.SearchOption{
		griffin.WithK(r.K), griffin.WithOffset(r.Offset), griffin.WithMode(r.Mode), griffin.WithSnippets(),
	}
	if r.Rho > 0 {
		opts = append(opts, griffin.WithBudget(int64(r.Rho), 0))
	}
	if r.Trace {
		opts = append(opts, griffin.WithTrace())
	}
	if r.Lenient {
		opts = append(opts, griffin.WithLenientSyntax())
	}
	return opts
}
