package griffin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"time"

	"github.com/griffin-search/griffin/internal/aggregate"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/collect"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/plan"
	kernels "github.com/griffin-search/griffin/internal/simd/column"
	"github.com/griffin-search/griffin/query"
)

// Total is a number of matching documents.
type Total struct {
	Value int64 `json:"value"`
	// Relation is "eq", or "gte" if Value is a lower bound.
	Relation string `json:"relation"`
}

// Values of Total.Relation.
const (
	TotalExact   = "eq"
	TotalAtLeast = "gte"
)

// needsMatches reports whether the search needs the set of all matching documents.
func (q *Query) needsMatches() bool {
	return len(q.Sort) > 0 || len(q.Aggregations) > 0 || len(q.Facets) > 0 || q.Collapse != "" || q.PostFilter != nil || q.MinScore > 0
}

// checkSorted checks the options that need the set of all matching documents.
func (q *Query) checkSorted() error {
	switch {
	case len(q.SearchAfter) > 0 && len(q.Sort) == 0:
		return fmt.Errorf("search_after needs a sort: %w", ErrBadInput)
	case len(q.SearchAfter) > 0 && q.Offset > 0:
		return fmt.Errorf("search_after with offset %d: the offset must be 0: %w", q.Offset, ErrBadInput)
	case !(q.MinScore >= 0):
		return fmt.Errorf("min_score %g is not 0 or greater: %w", q.MinScore, ErrBadInput)
	case q.needsMatches() && q.Mode == ModeSaat:
		return fmt.Errorf("mode saat has no sort, aggregations, collapse, post filter and least score: %w", ErrBadInput)
	case q.needsMatches() && q.Trace:
		return fmt.Errorf("a trace is of a search by score, without sort, aggregations, collapse, post filter and least score: %w", ErrBadInput)
	}
	if err := q.checkInnerHits(); err != nil {
		return err
	}
	for _, n := range []query.Node{q.Filter, q.PostFilter} {
		if n != nil {
			if err := query.Validate(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// filtered returns a node that also matches a filter, without its score.
func filtered(node, filter query.Node) query.Node {
	if filter == nil {
		return node
	}
	return &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: node}, {Occur: query.Filter, Node: filter}}}
}

// sortedSearch is a search over the set of matching documents.
type sortedSearch struct {
	*search
	plan     *dispatch.Query
	matches  [][]uint64     // by segment
	hits     [][]uint64     // of PostFilter
	selected [][]base.DocID // rising; in place of hits if a GPU has found them
	// answer is the ranking by score if allMatches has found it.
	answer   *plan.Answer
	keys     []collect.Key
	scorer   *plan.Scorer
	mapping  *mapping.Mapping
	segments []collect.Segment
	borrowed []*scratch
	// countedBy is Results.CountedBy.
	countedBy string
}

// runSorted answers a query that needsMatches.
func (s *search) runSorted(ctx context.Context) (*Results, error) {
	if s.searcher.Dispatcher().Engine() != nil {
		return nil, fmt.Errorf("engine %s has no sort, aggregations, collapse, post filter and least score: %w", s.index.runtime.engine, ErrBadInput)
	}
	sorted := &sortedSearch{search: s, plan: &s.sc.query, mapping: s.snapshot.Options.FieldMapping()}
	r, err := sorted.run(ctx)
	if err == nil && sorted.scorer != nil {
		err = sorted.scorer.Close()
	}
	for _, sc := range sorted.borrowed { // not deferred, as in answer
		s.index.scratches.Put(sc)
	}
	return r, err
}

func (s *sortedSearch) run(ctx context.Context) (*Results, error) {
	notes, err := s.prepare(s.plan, false /* cached */)
	if err != nil {
		return nil, err
	}
	if len(s.query.Sort) > 0 {
		if s.keys, err = collect.Parse(s.query.Sort, s.mapping.Field); err != nil {
			return nil, err
		}
	}
	if err := s.openSegments(); err != nil {
		return nil, err
	}
	if r, err := s.counted(ctx, notes); r != nil || err != nil {
		return r, err
	}
	if err := findMatches(ctx, s); err != nil {
		return nil, err
	}
	if s.query.MinScore > 0 {
		if err := s.dropBelow(ctx); err != nil {
			return nil, err
		}
	}
	r := &Results{Notes: notes, CountedBy: s.countedBy}
	if len(s.query.Aggregations)+len(s.query.Facets) > 0 {
		if err := s.aggregate(ctx, r); err != nil {
			return nil, err
		}
	}
	s.hits = s.matches
	if s.query.PostFilter != nil {
		if err := s.applyPostFilter(ctx); err != nil {
			return nil, err
		}
	}
	answer, err := s.rank(ctx, r)
	if err != nil {
		return nil, err
	}
	s.fill(r, s.plan, &answer, r.Hits)
	r.Matches = ones(s.hits)
	r.Total = Total{Value: r.Matches, Relation: TotalExact}
	return r, nil
}

// scratch returns a scratch until the end of the search.
func (s *sortedSearch) scratch() (*scratch, error) {
	sc, err := s.index.scratch(s.snapshot.Options.Analyzer)
	if err == nil {
		s.borrowed = append(s.borrowed, sc)
	}
	return sc, err
}

// matchesOf returns the live documents that match another query.
func (s *sortedSearch) matchesOf(ctx context.Context, node query.Node) ([][]uint64, error) {
	sc, err := s.scratch()
	if err != nil {
		return nil, err
	}
	if err := s.searcher.PrepareInto(&sc.query, sc.search, node, dispatch.Options{Mode: plan.Mode(ModeOr), K: 1}); err != nil {
		return nil, err
	}
	return s.allMatches(ctx, &sc.query, sc)
}

func (s *sortedSearch) applyPostFilter(ctx context.Context) error {
	words, err := s.matchesOf(ctx, s.query.PostFilter)
	if err != nil {
		return err
	}
	for i := range words {
		for j := range words[i] {
			words[i][j] &= s.matches[i][j]
		}
	}
	s.hits = words
	return nil
}

func (s *sortedSearch) openSegments() error {
	ties, err := s.snapshot.Ties()
	if err != nil {
		return err
	}
	s.segments = make([]collect.Segment, len(s.snapshot.Segments))
	for i := range s.segments {
		view := &s.snapshot.Segments[i]
		s.segments[i] = collect.Segment{NumDocs: view.NumDocs(), Base: view.Base, Derived: view.Derived, Column: func(field string) (*column.Column, error) {
			c, _, err := view.Column(field)
			return c, err
		}}
		for j := range ties {
			if ties[j].Base == view.Base {
				s.segments[i].Ranks = ties[j].Ranks
			}
		}
	}
	return nil
}

// scores returns the Scorer of the query.
func (s *sortedSearch) scores(ctx context.Context) (*plan.Scorer, error) {
	sc, err := s.scratch()
	if err != nil {
		return nil, err
	}
	return plan.NewScorer(ctx, &s.plan.Plan, &sc.search.Scratch)
}

// dropBelow removes documents with lower scores than Query.MinScore.
func (s *sortedSearch) dropBelow(ctx context.Context) error {
	scorer, err := s.scores(ctx)
	if err != nil {
		return err
	}
	for i, words := range s.matches {
		if err := scorer.Begin(i); err != nil {
			return err
		}
		for j, w := range words {
			for ; w != 0; w &= w - 1 {
				bit := bits.TrailingZeros64(w)
				score, err := scorer.Score(base.DocID(64*j + bit))
				if err != nil {
					return err
				}
				if score.Float64() < s.query.MinScore {
					words[j] &^= 1 << bit
				}
			}
		}
	}
	return scorer.Close()
}

// byScore reports whether the hits are the same without a sort.
func (s *sortedSearch) byScore() bool {
	return s.query.Collapse == "" && len(s.query.SearchAfter) == 0 &&
		(len(s.keys) == 0 || len(s.keys) == 1 && s.keys[0].By == collect.Score && s.keys[0].Desc)
}

// rank sets r.Hits.
func (s *sortedSearch) rank(ctx context.Context, r *Results) (plan.Answer, error) {
	if s.byScore() {
		return s.rankByScore(ctx, r)
	}
	o := collect.Options{Keys: s.keys, K: min(s.query.K+s.query.Offset, s.snapshot.NumDocs), Scores: s.query.TrackScores || len(s.keys) == 0}
	if len(s.keys) == 0 {
		o.Keys = []collect.Key{{By: collect.Score, Desc: true}}
	}
	var err error
	if len(s.query.SearchAfter) > 0 {
		if o.After, err = collect.ParseAfter(s.query.SearchAfter, s.keys); err != nil {
			return plan.Answer{}, err
		}
	}
	if s.query.Collapse != "" {
		f, ok := s.mapping.Field(s.query.Collapse)
		if !ok {
			return plan.Answer{}, fmt.Errorf("collapse by [%s]: no such field: %w", s.query.Collapse, ErrBadInput)
		}
		o.Collapse = f
	}
	if o.NeedsScores() {
		scorer, err := s.scores(ctx)
		if err != nil {
			return plan.Answer{}, err
		}
		s.scorer, o.Scorer = scorer, scorer
	}
	var found []collect.Hit
	if s.selected != nil {
		found, err = collect.RunDocs(ctx, s.segments, s.selected, o)
	} else {
		found, err = collect.Run(ctx, s.segments, s.hits, o)
	}
	if err != nil {
		return plan.Answer{}, err
	}
	if o.NeedsScores() {
		for i := range found {
			r.MaxScore = max(r.MaxScore, found[i].Score.Float64())
		}
	}
	found = found[min(s.query.Offset, len(found)):]
	if r.Hits, err = s.fetchSorted(ctx, s.plan, found, o.Keys, s.query.Load, s.query.Highlight); err != nil {
		return plan.Answer{}, err
	}
	if err := s.addInnerHits(ctx, &o, found, r.Hits); err != nil {
		return plan.Answer{}, err
	}
	for i := range r.Hits {
		r.Hits[i].NoScore = !o.NeedsScores()
		if s.query.Collapse != "" {
			r.Hits[i].Group = groupJSON(o.Collapse, found[i].Group)
		}
		if len(s.keys) == 0 {
			r.Hits[i].Sort = nil
		}
	}
	return plan.Answer{Mode: plan.Mode(s.query.Mode), Traversal: TraversalSort}, nil
}

// groupJSON is a value of the field that was collapsed by.
func groupJSON(f *mapping.Field, v collect.Value) json.RawMessage {
	k := collect.Key{By: collect.Values, Field: f}
	return k.AppendJSON(nil, v)
}

// fetchSorted loads hits with their values of the sort.
func (s *sortedSearch) fetchSorted(ctx context.Context, q *dispatch.Query, found []collect.Hit, keys []collect.Key, load Load, h *Highlight) ([]Hit, error) {
	hits := make([]base.Hit, len(found))
	for i, h := range found {
		hits[i] = base.Hit{DocID: s.snapshot.Segments[h.Segment].Base + h.Doc, Score: h.Score}
	}
	out, err := s.fetchParts(ctx, q, hits, load, h)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Sort = sortJSON(keys, found[i].Values)
	}
	return out, nil
}

func sortJSON(keys []collect.Key, values []collect.Value) json.RawMessage {
	raw := []byte{'['}
	for i := range keys {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = keys[i].AppendJSON(raw, values[i])
	}
	return append(raw, ']')
}

// rankByScore finds the hits as a search without a sort.
func (s *sortedSearch) rankByScore(ctx context.Context, r *Results) (plan.Answer, error) {
	q, sc := s.plan, s.sc
	if s.answer != nil {
		return s.ranked(ctx, r, sc, *s.answer, nil)
	}
	if s.hits != nil && s.searcher.Dispatcher().Plain() {
		answer, ok, err := plan.RankMatches(ctx, &q.Plan, &sc.search.Scratch, s.hits, sc.hits)
		if ok {
			return s.ranked(ctx, r, sc, answer, err)
		}
	}
	if s.query.PostFilter != nil {
		var err error
		if sc, err = s.scratch(); err != nil {
			return plan.Answer{}, err
		}
		q = &sc.query
		o := s.query.options(false /* cached */)
		o.Stop = s.stop
		if err := s.searcher.PrepareInto(q, sc.search, filtered(s.plan.Query(), s.query.PostFilter), o); err != nil {
			return plan.Answer{}, err
		}
	}
	answer, err := q.RunTraced(ctx, sc.search, sc.hits, nil)
	return s.ranked(ctx, r, sc, answer, err)
}

// ranked sets r.Hits to the hits of an answer, which take the memory of sc.
func (s *sortedSearch) ranked(ctx context.Context, r *Results, sc *scratch, answer plan.Answer, err error) (plan.Answer, error) {
	if err != nil {
		return plan.Answer{}, err
	}
	sc.hits = answer.Hits
	for i, h := range answer.Hits {
		if h.Score.Float64() < s.query.MinScore {
			answer.Hits = answer.Hits[:i]
			break
		}
	}
	hits := answer.Hits[min(s.query.Offset, len(answer.Hits)):]
	if r.Hits, err = s.fetch(ctx, s.plan, hits); err != nil {
		return plan.Answer{}, err
	}
	if len(s.keys) > 0 {
		for i := range r.Hits {
			r.Hits[i].Sort = sortJSON(s.keys, []collect.Value{{Number: int64(hits[i].Score)}})
		}
	}
	return answer, nil
}

// TraversalSort is Results.Traversal of hits that were ranked by fields.
const TraversalSort = "sort"

func ones(bitmaps [][]uint64) (n int64) {
	for _, words := range bitmaps {
		n += int64(kernels.Ones(words))
	}
	return n
}

// requests are the requests of Query.Facets and Query.Aggregations.
func (s *sortedSearch) requests() ([]*aggregate.Request, error) {
	requests, err := s.query.facetRequests()
	if err != nil || len(s.query.Aggregations) == 0 {
		return requests, err
	}
	more, err := aggregate.Parse(s.query.Aggregations)
	return append(requests, more...), err
}

// aggregate evaluates Query.Facets and Query.Aggregations over the matching documents.
func (s *sortedSearch) aggregate(ctx context.Context, r *Results) error {
	requests, err := s.requests()
	if err != nil {
		return err
	}
	ix := s.aggregated(ctx)
	if err := s.countMatches(ctx, r, ix, requests); err != nil {
		return err
	}
	return s.evaluate(ctx, r, ix, requests)
}

func (s *sortedSearch) aggregated(ctx context.Context) *aggregate.Index {
	ix := &aggregate.Index{Field: s.mapping.Field, Now: time.Now(), Filter: s.aggregationFilter}
	for i := range s.snapshot.Segments {
		view := &s.snapshot.Segments[i]
		ix.Segments = append(ix.Segments, aggregate.Segment{NumDocs: view.NumDocs(), Live: view.Live.Words(), Column: s.segments[i].Column})
	}
	ix.Hits = func(raw json.RawMessage) (aggregate.HitRanker, error) { return s.topHits(ctx, raw) }
	return ix
}

func (s *sortedSearch) evaluate(ctx context.Context, r *Results, ix *aggregate.Index, requests []*aggregate.Request) error {
	results, err := aggregate.Run(ctx, ix, requests, s.matches, aggregate.Limits{})
	if err != nil {
		return err
	}
	if n := len(s.query.Facets); n > 0 {
		r.Facets, results = s.query.facets(results[:n]), results[n:]
	}
	r.Aggregations = Aggregations{results}
	return nil
}

// aggregationFilter evaluates the queries of the aggregations filter and filters.
func (s *sortedSearch) aggregationFilter(ctx context.Context, raw json.RawMessage) ([][]uint64, error) {
	parse := s.query.ParseQuery
	if parse == nil {
		parse = s.parseQueryString
	}
	node, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return s.matchesOf(ctx, node)
}

// parseQueryString reads {"query_string": {"query": TEXT}} and {"match_all": {}}.
func (s *sortedSearch) parseQueryString(raw json.RawMessage) (query.Node, error) {
	var q struct {
		QueryString *struct {
			Query string `json:"query"`
		} `json:"query_string"`
		MatchAll *struct{} `json:"match_all"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil || (q.QueryString == nil) == (q.MatchAll == nil) {
		return nil, fmt.Errorf(`query %.80s: want {"query_string": {"query": TEXT}} or {"match_all": {}}, or set Query.ParseQuery: %w`, raw, ErrBadInput)
	}
	if q.MatchAll != nil {
		return &query.MatchAll{}, nil
	}
	return parseFilter(s.searcher, q.QueryString.Query)
}
