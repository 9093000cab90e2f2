package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// byFields are means over the queries, in microseconds.
type byFields struct {
	// Matches is the mean number of matching documents.
	Matches float64 `json:"matches"`
	// Count is a search for the best hit and the number of matches, as of HTTP's _count.
	Count float64 `json:"count_us"`
	// ByDate and ByPlace are searches for the best hits by a field, with the number of matches; their ratios are to
	// Count.
	ByDate  ranked `json:"by_date"`
	ByPlace ranked `json:"by_place"`
	// Facet is a search for one hit in the order of writing and the most frequent categories of all matches.
	// FacetValues are its values a second, in millions, with the time of finding the matches.
	Facet       float64 `json:"facet_us"`
	FacetValues float64 `json:"facet_million_values_per_second"`
	// AllFacet is the same of all documents; AllValues are its values a second, in millions.
	AllFacet  float64 `json:"all_facet_us"`
	AllValues float64 `json:"all_facet_million_values_per_second"`
}

type ranked struct {
	Mean  float64 `json:"mean_us"`
	Ratio float64 `json:"ratio"`
	Bar   float64 `json:"bar"`
}

// Bars of sorting by a field, relative to counting, and of facets, in million values a second.
const (
	sortBar  = 1.5
	facetBar = 150
)

// fields measures sorting and facets.
func (m *measurement) fields(ctx context.Context, r *report, queries []string) error {
	var count, byDate, byPlace, facet time.Duration
	var matches int64
	dates, places := m.orders()
	for _, text := range queries {
		words := &query.Words{Text: text}
		counted, took, err := m.least(ctx, griffin.Query{Node: words, K: 1, Count: true})
		if err != nil {
			return fmt.Errorf("query %q: %w", text, err)
		}
		count += took
		matches += counted.Matches
		all, err := m.ix.Search(ctx, griffin.Query{Node: words, K: len(m.docs), Load: griffin.LoadNone})
		if err != nil {
			return fmt.Errorf("query %q: %w", text, err)
		}
		with := make([]bool, len(m.docs))
		for _, h := range all.Hits {
			with[h.DocID] = true
		}
		for _, by := range []struct {
			sort  string
			order []int
			sum   *time.Duration
		}{{`{"date": "desc"}`, dates, &byDate}, {`{"place": "asc"}`, places, &byPlace}} {
			found, took, err := m.least(ctx, griffin.Query{Node: words, K: topK, Sort: json.RawMessage(by.sort)})
			if err == nil {
				err = checkOrder(found, by.order, with, counted.Matches)
			}
			if err != nil {
				return fmt.Errorf("query %q by %s: %w", text, by.sort, err)
			}
			*by.sum += took
		}
		found, took, err := m.facet(ctx, words)
		if err == nil {
			err = m.checkFacet(found, with)
		}
		if err != nil {
			return fmt.Errorf("query %q: %w", text, err)
		}
		facet += took
	}
	found, took, err := m.facet(ctx, &query.MatchAll{})
	if err == nil {
		err = m.checkFacet(found, slices.Repeat([]bool{true}, len(m.docs)))
	}
	if err != nil {
		return err
	}
	n := len(queries)
	r.Fields = byFields{
		Matches: float64(matches) / float64(n), Count: mean(count, n), Facet: mean(facet, n), AllFacet: mean(took, 1),
		ByDate:    ranked{mean(byDate, n), float64(byDate) / float64(count), sortBar},
		ByPlace:   ranked{mean(byPlace, n), float64(byPlace) / float64(count), sortBar},
		AllValues: float64(len(m.docs)) / float64(took.Microseconds()), FacetValues: float64(matches) / float64(facet.Microseconds()),
	}
	return nil
}

// orders returns the passages by falling date and by rising place, then in the order of writing.
func (m *measurement) orders() (dates, places []int) {
	for n := range m.docs {
		dates, places = append(dates, n), append(places, n)
	}
	slices.SortStableFunc(dates, func(a, b int) int { return cmp.Compare(date(b), date(a)) })
	return dates, places
}

func checkOrder(found *griffin.Results, order []int, with []bool, matches int64) error {
	if found.Matches != matches {
		return fmt.Errorf("%d matches, want %d", found.Matches, matches)
	}
	n := 0
	for _, doc := range order {
		switch {
		case !with[doc]:
			continue
		case n == topK:
			return nil
		case n == len(found.Hits) || int(found.Hits[n].DocID) != doc:
			return fmt.Errorf("hit %d of %d differs, want document %d", n, len(found.Hits), doc)
		}
		n++
	}
	return nil
}

func (m *measurement) facet(ctx context.Context, node query.Node) (*griffin.Results, time.Duration, error) {
	return m.least(ctx, griffin.Query{Node: node, K: 1, Sort: json.RawMessage(`"_doc"`), Facets: []griffin.Facet{{Field: "category", Size: topK}}})
}

func (m *measurement) checkFacet(found *griffin.Results, with []bool) error {
	counts := map[string]int64{}
	for n := range m.docs {
		if with[n] {
			counts[categoryName(n)]++
		}
	}
	facet := found.Facets["category"]
	for i, v := range facet {
		if v.Count != counts[v.Text] || i > 0 && v.Count > facet[i-1].Count {
			return fmt.Errorf("facet %s: %d documents, want %d, after %d", v.Text, v.Count, counts[v.Text], facet[max(i, 1)-1].Count)
		}
		delete(counts, v.Text)
	}
	for name, count := range counts {
		if len(facet) < topK || count > facet[len(facet)-1].Count {
			return fmt.Errorf("facet %s with %d documents is missing", name, count)
		}
	}
	return nil
}
