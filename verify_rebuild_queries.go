package griffin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// sampleQueries combines the terms of a sample, each once, to queries of 1 to 4 words.
func sampleQueries(sample []index.SampledTerm, m *mapping.Mapping) []string {
	rng := rand.New(rand.NewPCG(sampleSeed, 1))
	var queries []string
	for len(sample) > 0 {
		n := min(1+rng.IntN(4), len(sample))
		words := make([]string, n)
		for i, t := range sample[:n] {
			words[i] = sampleClause(t, m).String()
		}
		queries = append(queries, strings.Join(words, " "))
		sample = sample[n:]
	}
	return queries
}

// sampleClause finds a term. In a vector, the weight is small enough for the greatest weight of a document.
func sampleClause(t index.SampledTerm, m *mapping.Mapping) query.Node {
	if m != nil {
		if f, ok := m.Field(t.Field); ok && f.Type.Vector() {
			return &query.Weights{Field: t.Field, Terms: []query.TermWeight{{Term: t.Term, Weight: min(1, f.Scale()/2)}}}
		}
	}
	return &query.Term{Field: t.Field, Text: t.Term}
}

// compareAnswers compares the answers of both indexes to queries of the sample.
func (r *rebuild) compareAnswers(ctx context.Context, sample []index.SampledTerm) error {
	queries := sampleQueries(sample, r.old.ix.Options().Mapping)
	progress := r.progress("query")
	modes, ks := []Mode{ModeOr, ModeAnd, ModeAndOr}, []int{10, 1000}
	total := int64(len(queries) * len(modes) * len(ks))
	for _, text := range queries {
		for _, mode := range modes {
			for _, k := range ks {
				d, err := r.compareAnswer(ctx, Query{Text: text, Mode: mode, K: k, Count: true, Load: LoadIDs})
				if err != nil {
					return fmt.Errorf("query %q: %w", text, err)
				}
				r.report.Queries++
				progress(r.report.Queries, total)
				if d == nil {
					continue
				}
				d.Query, d.Place = text, fmt.Sprintf("query %q, mode %v, k %d", text, mode, k)
				if r.report.Differences = append(r.report.Differences, *d); len(r.report.Differences) == MaxDifferences {
					return nil
				}
			}
		}
	}
	return nil
}

// compareAnswer returns the first difference, or nil.
func (r *rebuild) compareAnswer(ctx context.Context, q Query) (*Difference, error) {
	got, err := r.old.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	want, err := r.fresh.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	if got.Matches != want.Matches {
		return &Difference{What: "matches", Got: strconv.FormatInt(got.Matches, 10), Want: strconv.FormatInt(want.Matches, 10)}, nil
	}
	describe := func(hits []Hit, i int) string {
		if i >= len(hits) {
			return "none"
		}
		return fmt.Sprintf("%q with score %v", hits[i].ID, hits[i].Score)
	}
	for i := range max(len(got.Hits), len(want.Hits)) {
		if g, w := describe(got.Hits, i), describe(want.Hits, i); g != w {
			return &Difference{What: "hit " + strconv.Itoa(i+1), Got: g, Want: w}, nil
		}
	}
	return nil, nil
}
