package griffin

import (
	"context"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/aggregate"
	"github.com/griffin-search/griffin/internal/collect"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
)

// This file has searches that need no set of matching documents on the CPU: a GPU counts the values of fields, and finds the
// best hits by a field.

// Values of Results.CountedBy.
const (
	countedByGPU = "gpu"
	countedByCPU = "cpu: "
)

// notCounted is why the CPU counts or sorts: the search needs more than counts of keywords and an order by one field.
const notCounted = "the search filters after counting, aggregates more than values of keywords, or has another order than by one field"

// counted answers the search if a GPU supports its counts and its sort; else the result is nil.
func (s *sortedSearch) counted(ctx context.Context, notes []string) (*Results, error) {
	if s.searcher.Dispatcher().GPU() == nil {
		return nil, nil
	}
	began := time.Now()
	r := &Results{Notes: notes, CountedBy: countedByGPU}
	ok, err := s.countValues(ctx, r)
	if !ok || err != nil {
		return nil, err
	}
	answer, ok, err := s.rankCounted(ctx, r, began)
	if !ok || err != nil {
		return nil, err
	}
	total := r.Matches
	s.fill(r, s.plan, &answer, r.Hits)
	r.Matches, r.Total = total, Total{Value: total, Relation: TotalExact}
	return r, nil
}

// countValues sets the facets, the aggregations, and the matches if there are any.
func (s *sortedSearch) countValues(ctx context.Context, r *Results) (ok bool, err error) {
	s.countedBy = countedByCPU + notCounted
	if s.query.PostFilter != nil || s.query.MinScore > 0 || !s.byScore() && !s.byOneField() {
		return false, nil
	}
	if len(s.query.Aggregations)+len(s.query.Facets) == 0 {
		return !s.byScore(), nil
	}
	requests, err := s.requests()
	if err != nil {
		return false, err
	}
	ix := s.aggregated(ctx)
	fields, ok := aggregate.CountedFields(ix, requests)
	if !ok {
		return false, nil
	}
	counts, refusal, err := dispatch.CountValues(ctx, s.plan, s.sc.search, fields)
	if counts == nil || err != nil {
		s.countedBy = countedByCPU + refusal
		return false, err
	}
	useCounts(ix, counts, fields)
	r.Matches = counts.Matches
	return true, s.evaluate(ctx, r, ix, requests)
}

func useCounts(ix *aggregate.Index, counts *dispatch.ValueCounts, fields []string) {
	ix.Counts = func(segment int, field string) *aggregate.OrdinalCounts {
		one, i := &counts.Segments[segment], slices.Index(fields, field)
		return &aggregate.OrdinalCounts{Counts: one.Counts[i], Missing: one.Missing[i]}
	}
}

// countMatches has a GPU count the values of the matches that the CPU has found, if it can.
func (s *sortedSearch) countMatches(ctx context.Context, r *Results, ix *aggregate.Index, requests []*aggregate.Request) error {
	if s.searcher.Dispatcher().GPU() == nil {
		return nil
	}
	fields, ok := aggregate.CountedFields(ix, requests)
	if !ok {
		return nil
	}
	began := time.Now()
	counts, refusal, err := dispatch.CountMatches(ctx, s.plan, fields, s.matches)
	if err != nil {
		return err
	}
	if counts == nil {
		r.CountedBy = countedByCPU + refusal
		return nil
	}
	useCounts(ix, counts, fields)
	r.CountedBy, r.CountTook = countedByGPU, time.Since(began)
	return nil
}

// byOneField reports whether the hits are ordered first by the values of a field, as a GPU can.
func (s *sortedSearch) byOneField() bool {
	if len(s.keys) == 0 || s.query.Collapse != "" {
		return false
	}
	k := &s.keys[0]
	for i := range s.segments {
		if s.segments[i].Ranks != nil { // ties are not in the order of DocIDs
			return false
		}
	}
	return k.By == collect.Values && k.Field != nil && k.Mode <= collect.MaxMode && k.Missing != collect.AsValue
}

// afterRoom is the number of documents with the first value of Query.SearchAfter, besides the hits, that a GPU is asked for at
// first. The other keys order them, and those before the place are no hits.
const afterRoom = 64

// rankCounted sets the hits and CountTook.
func (s *sortedSearch) rankCounted(ctx context.Context, r *Results, began time.Time) (answer plan.Answer, ok bool, err error) {
	if s.byScore() {
		r.CountTook = time.Since(began)
		answer, err = s.rank(ctx, r)
		return answer, true, err
	}
	by := dispatch.FieldOrder{
		Field: s.keys[0].Field.Name, K: min(s.query.K+s.query.Offset, s.snapshot.NumDocs),
		Desc: s.keys[0].Desc, NoneFirst: s.keys[0].Missing == collect.First, Ties: len(s.keys) > 1,
	}
	room := 0
	if len(s.query.SearchAfter) > 0 {
		after, err := collect.ParseAfter(s.query.SearchAfter, s.keys)
		if err != nil {
			return answer, false, err
		}
		by.After = &dispatch.FieldAfter{None: after[0].None, Number: after[0].Number, Term: []byte(after[0].Term), Inclusive: by.Ties}
		if by.Ties {
			room = afterRoom
			by.K += room
		}
	}
	selected, refusal, err := dispatch.SelectByField(ctx, s.plan, s.sc.search, by)
	if selected != nil && by.Ties && selected.AtAfter > room {
		by.K += selected.AtAfter - room
		selected, refusal, err = dispatch.SelectByField(ctx, s.plan, s.sc.search, by)
	}
	if selected == nil || err != nil {
		s.countedBy = countedByCPU + refusal
		return answer, false, err
	}
	r.CountTook, r.Matches = time.Since(began), selected.Matches
	s.selected = selected.Segments
	answer, err = s.rank(ctx, r)
	return answer, true, err
}
