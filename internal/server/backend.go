package server

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// backend is the part of an index that handlers use; tests replace it.
type backend struct {
	search   func(context.Context, searchRequest) (*griffin.Results, error)
	parse    func(text string) (query.Node, error)
	fields   func() bool // searches can sort and count by fields; nil: no
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
			q := req.query()
			if err := req.complete(&q, ix); err != nil {
				return nil, err
			}
			return ix.SearchInto(ctx, q, req.Memory)
		},
		parse:    func(text string) (query.Node, error) { return griffin.ParseFilter(ix, text) },
		fields:   func() bool { return ix.Runtime().DispatchStats().Engine == nil },
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
		Sort: griffin.SortKeys(r.Sort), TrackScores: r.Sort != "", Facets: r.Facets,
	}
}

// complete sets what depends on the index.
func (r searchRequest) complete(q *griffin.Query, ix *griffin.Index) error {
	if r.Page != nil {
		return r.Page(q)
	}
	all := &query.Boolean{}
	for _, text := range r.Filters {
		node, err := griffin.ParseFilter(ix, text)
		if err != nil {
			return fmt.Errorf("filter %.60q: %s: %w", text, base.Message(err), griffin.ErrBadInput)
		}
		all.Clauses = append(all.Clauses, query.Clause{Occur: query.Must, Node: node})
	}
	if len(all.Clauses) > 0 {
		q.Filter = all
	}
	return nil
}
