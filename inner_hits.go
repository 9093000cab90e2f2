package griffin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/griffin-search/griffin/internal/aggregate"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/collect"
)

// InnerHits asks for the best documents of each group of Query.Collapse.
type InnerHits struct {
	// Name is the key of Hit.InnerHits.
	Name string
	// Options are as of the aggregation top_hits, in the JSON of OpenSearch: size (default 3), from, sort and
	// track_scores; _source is for who writes the hits.
	Options json.RawMessage
}

// InnerResult are documents of a group.
type InnerResult struct {
	// Total is the number of documents of the group.
	Total int64
	Hits  []Hit

	request json.RawMessage
}

// AppendInnerHits appends the JSON object of OpenSearch for Hit.InnerHits, in the order of the names. hit writes
// one, with the options of its InnerHits.
func (h *Hit) AppendInnerHits(dst []byte, hit func(dst []byte, h *Hit, options json.RawMessage) []byte) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(h.InnerHits)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		key, _ := json.Marshal(name) // texts have a JSON form
		dst = append(append(dst, key...), `:{"hits":`...)
		r := h.InnerHits[name]
		dst = append(appendTopHits(dst, &aggregate.Hits{Total: r.Total, Docs: topDocs{r.Hits, r.request}}, hit), '}')
	}
	return append(dst, '}')
}

func (q *Query) checkInnerHits() error {
	names := map[string]bool{}
	for _, inner := range q.InnerHits {
		switch {
		case q.Collapse == "":
			return fmt.Errorf("inner hits %q without a collapse: %w", inner.Name, ErrBadInput)
		case inner.Name == "" || names[inner.Name]:
			return fmt.Errorf("inner hits need a name each, but there are several %q: %w", inner.Name, ErrBadInput)
		}
		names[inner.Name] = true
	}
	return nil
}

// addInnerHits sets the documents of the groups of hits.
func (s *sortedSearch) addInnerHits(ctx context.Context, o *collect.Options, found []collect.Hit, hits []Hit) error {
	if len(s.query.InnerHits) == 0 {
		return nil
	}
	groups := make([]collect.Value, len(found))
	for i := range found {
		groups[i] = found[i].Group
	}
	var rankers []aggregate.HitRanker
	for _, inner := range s.query.InnerHits {
		options := inner.Options
		if options == nil {
			options = json.RawMessage("{}")
		}
		r, err := s.topHits(ctx, options)
		if err != nil {
			return base.Locate(fmt.Errorf("inner hits %q: %w", inner.Name, err), options)
		}
		rankers = append(rankers, r)
	}
	if len(hits) == 0 {
		return nil
	}
	adders := make([]collect.Adder, len(rankers))
	for i, r := range rankers {
		adders[i] = r
	}
	totals, err := collect.AddGroups(ctx, s.segments, s.hits, o.Collapse, groups, adders)
	if err != nil {
		return err
	}
	for i := range hits {
		hits[i].InnerHits = map[string]InnerResult{}
		for k, inner := range s.query.InnerHits {
			r, err := rankers[k].Hits(uint32(i))
			if err != nil {
				return err
			}
			docs := r.Docs.(topDocs)
			hits[i].InnerHits[inner.Name] = InnerResult{Total: totals[i], Hits: docs.hits, request: docs.request}
		}
	}
	return nil
}
