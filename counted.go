package griffin

import (
	"context"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/aggregate"
	"github.com/griffin-search/griffin/internal/dispatch"
)

// This file has facets that need no set of matching documents: a GPU counts the values of fields.

// Values of Results.CountedBy.
const (
	countedByGPU = "gpu"
	countedByCPU = "cpu: "
)

// notCounted is why the CPU counts: the search needs more than counts of keywords.
const notCounted = "the search sorts or filters after counting, or aggregates more than values of keywords"

// counted answers the search if a GPU can count what it needs; else the result is nil.
func (s *sortedSearch) counted(ctx context.Context, notes []string) (*Results, error) {
	if len(s.query.Aggregations)+len(s.query.Facets) == 0 || s.searcher.Dispatcher().GPU() == nil {
		return nil, nil
	}
	s.countedBy = countedByCPU + notCounted
	if s.query.PostFilter != nil || s.query.MinScore > 0 || !s.byScore() {
		return nil, nil
	}
	requests, err := s.requests()
	if err != nil {
		return nil, err
	}
	ix := s.aggregated(ctx)
	fields, ok := aggregate.CountedFields(ix, requests)
	if !ok {
		return nil, nil
	}
	began := time.Now()
	counts, refusal, err := dispatch.CountValues(ctx, s.plan, s.sc.search, fields)
	if counts == nil || err != nil {
		s.countedBy = countedByCPU + refusal
		return nil, err
	}
	ix.Counts = func(segment int, field string) *aggregate.OrdinalCounts {
		one, i := &counts.Segments[segment], slices.Index(fields, field)
		return &aggregate.OrdinalCounts{Counts: one.Counts[i], Missing: one.Missing[i]}
	}
	r := &Results{Notes: notes, CountedBy: countedByGPU, CountTook: time.Since(began)}
	if err := s.evaluate(ctx, r, ix, requests); err != nil {
		return nil, err
	}
	answer, err := s.rank(ctx, r)
	if err != nil {
		return nil, err
	}
	s.fill(r, s.plan, &answer, r.Hits)
	r.Matches = counts.Matches
	r.Total = Total{Value: r.Matches, Relation: TotalExact}
	return r, nil
}
