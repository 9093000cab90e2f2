package griffin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/griffin-search/griffin/internal/aggregate"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/collect"
)

// topHits ranks the documents of a top_hits.
type topHits struct {
	ctx    context.Context
	search *sortedSearch
	ranker *collect.Ranker
	scorer interface{ Close() error } // nil: no scores
	keys   []collect.Key
	from   int
	scored bool
	raw    json.RawMessage

	highlight *Highlight // nil: none
}

// topDocs are the documents of a bucket, with the request.
type topDocs struct {
	hits    []Hit
	request json.RawMessage
}

// topHitsRequest are its parameters.
type topHitsRequest struct {
	Size        *int            `json:"size"`
	From        int             `json:"from"`
	Sort        json.RawMessage `json:"sort"`
	TrackScores bool            `json:"track_scores"`
}

// topHitsKeys are the keys of topHitsRequest.
var topHitsKeys = []string{"size", "from", "sort", "track_scores"}

// parseHits returns the passages that the options besides topHitsKeys ask for.
func (q *Query) parseHits(raw json.RawMessage) (*Highlight, error) {
	var others map[string]json.RawMessage
	if err := json.Unmarshal(raw, &others); err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrBadInput)
	}
	for _, key := range topHitsKeys {
		delete(others, key)
	}
	if len(others) == 0 {
		return nil, nil
	}
	if q.ParseHits != nil {
		raw, err := json.Marshal(others)
		if err != nil {
			return nil, err
		}
		return q.ParseHits(raw)
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		if key != "_source" {
			return nil, fmt.Errorf("unknown option [%s]: there are size, from, sort, _source and track_scores: %w", key, ErrBadInput)
		}
	}
	return nil, nil
}

// maxTopHits is index.max_inner_result_window of OpenSearch.
const maxTopHits = 100

func (s *sortedSearch) topHits(ctx context.Context, raw json.RawMessage) (aggregate.HitRanker, error) {
	const defaultSize = 3
	var r topHitsRequest
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(raw, &r); {
	case errors.As(err, &wrong) && wrong.Field == "track_scores":
		return nil, fmt.Errorf("[%s]: want true or false: %w", wrong.Field, ErrBadInput)
	case errors.As(err, &wrong) && wrong.Field != "":
		return nil, fmt.Errorf("[%s]: want a whole number: %w", wrong.Field, ErrBadInput)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", err, ErrBadInput)
	}
	members, err := base.Members(raw)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if string(m.Value) == "null" && slices.Contains(topHitsKeys, m.Name) {
			return nil, base.Locate(fmt.Errorf("[%s] is null: leave it out: %w", m.Name, ErrBadInput), m.Value)
		}
	}
	highlight, err := s.query.parseHits(raw)
	if err != nil {
		return nil, err
	}
	size := defaultSize
	if r.Size != nil {
		size = *r.Size
	}
	if size < 0 || r.From < 0 || size+r.From > maxTopHits {
		return nil, fmt.Errorf("from %d and size %d: want at most %d together: %w", r.From, size, maxTopHits, ErrBadInput)
	}
	t := &topHits{ctx: ctx, search: s, from: r.From, raw: raw, highlight: highlight}
	t.keys = []collect.Key{{By: collect.Score, Desc: true}}
	o := collect.Options{K: size + r.From, Scores: true}
	if r.Sort != nil {
		if t.keys, err = collect.Parse(r.Sort, s.mapping.Field); err != nil {
			return nil, err
		}
		o.Scores = r.TrackScores
	}
	o.Keys = t.keys
	if t.scored = o.NeedsScores(); t.scored {
		scorer, err := s.scores(ctx)
		if err != nil {
			return nil, err
		}
		t.scorer, o.Scorer = scorer, scorer
	}
	if r.Sort == nil {
		t.keys = nil // hits have no values of a sort
	}
	t.ranker = collect.NewRanker(ctx, s.segments, o)
	return t, nil
}

// Begin implements aggregate.HitRanker.
func (t *topHits) Begin(segment int) error { return t.ranker.Begin(segment) }

// Add implements aggregate.HitRanker.
func (t *topHits) Add(doc base.DocID, bucket uint32) error { return t.ranker.Add(doc, bucket) }

// Hits implements aggregate.HitRanker.
func (t *topHits) Hits(bucket uint32) (*aggregate.Hits, error) {
	if t.scorer != nil {
		if err := t.scorer.Close(); err != nil {
			return nil, err
		}
		t.scorer = nil
	}
	found, err := t.ranker.Hits(bucket)
	if err != nil {
		return nil, err
	}
	found = found[min(t.from, len(found)):]
	load := t.search.query.Load
	if t.highlight != nil {
		load = LoadFields
	}
	hits, err := t.search.fetchSorted(t.ctx, t.search.plan, found, t.keys, load, t.highlight)
	if err != nil {
		return nil, err
	}
	for i := range hits {
		if t.keys == nil {
			hits[i].Sort = nil
		}
		hits[i].NoScore = !t.scored
	}
	return &aggregate.Hits{Docs: topDocs{hits, t.raw}}, nil
}

// appendTopHits appends the value of "hits".
func appendTopHits(dst []byte, h *aggregate.Hits, hit func(dst []byte, h *Hit, request json.RawMessage) []byte) []byte {
	docs := h.Docs.(topDocs)
	hits := docs.hits
	dst = strconv.AppendInt(append(dst, `{"total":{"value":`...), h.Total, 10)
	dst = append(dst, `,"relation":"eq"},"max_score":`...)
	best, scored := 0.0, false
	for i := range hits {
		if !hits[i].NoScore {
			best, scored = max(best, hits[i].Score), true
		}
	}
	if scored {
		dst = strconv.AppendFloat(dst, best, 'f', -1, 64)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"hits":[`...)
	for i := range hits {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = hit(dst, &hits[i], docs.request)
	}
	return append(dst, "]}"...)
}
