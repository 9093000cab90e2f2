package server

import (
	"context"

	"github.com/griffin-search/griffin"
)

// backend is the part of an index that handlers use; tests replace it.
type backend struct {
	search   func(context.Context, searchRequest) (*griffin.Results, error)
	document func(ctx context.Context, id string) (griffin.Document, error)
	stats    func() (griffin.Stats, error)
	gpu      func() (stats griffin.GPUStats, used bool)
	dispatch func() griffin.DispatchStats
	results  func() (stats griffin.ResultCacheStats, used bool)
	refresh  func() (changed bool, err error)
}

func indexBackend(ix *griffin.Index) backend {
	return backend{
		search: func(ctx context.Context, req searchRequest) (*griffin.Results, error) {
			return ix.Search(ctx, req.query())
		},
		document: ix.Document,
		stats:    ix.Stats,
		gpu:      ix.Runtime().GPUStats,
		dispatch: ix.Runtime().DispatchStats,
		results:  ix.ResultCacheStats,
		refresh:  ix.Refresh,
	}
}

func (r searchRequest) query() griffin.Query {
	return griffin.Query{
		Text: r.Text, K: r.K, Offset: r.Offset, Mode: r.Mode, Trace: r.Trace, Lenient: r.Lenient,
		SnippetLength: griffin.DefaultSnippetLength, Budget: griffin.Budget{Postings: int64(r.Rho)},
	}
}
