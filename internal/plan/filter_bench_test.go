package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/query"
)

// BenchmarkFilter measures the top 10 of the first TB05 queries over passages of Wikipedia, without a filter and
// with one that a share of the passages matches at random: a term, whose list is read every time, or a range
// of terms, whose bitmap is kept. An operation is all queries.
func BenchmarkFilter(b *testing.B) {
	const numDocs = 200_000
	shares := []float64{0.001, 0.01, 0.1, 0.5, 0.9}
	rng := rand.New(rand.NewPCG(71, 1))
	ix := indextest.Write(b, index.Options{Analyzer: "english", Fields: []string{"share"}, NoStored: true}, func(w *indextest.Writer) {
		for _, line := range plantest.WikiSlice(b, numDocs) {
			var d corpus.Document
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				b.Fatal(err)
			}
			for i, s := range shares {
				if rng.Float64() < s {
					d.Extra = append(d.Extra, corpus.Field{Name: "share", Value: fmt.Sprintf("s%d", i)})
				}
			}
			w.Add(&d)
		}
		w.Commit()
	})
	s, sc := New(indextest.Snapshot(b, ix), nil), testScratch(b, "english")
	topics := shareddata.Queries(b, "tb05-1000.tsv")[:200]
	run := func(b *testing.B, filter query.Node) {
		var plans []*Plan
		for _, t := range topics {
			var q query.Node = &query.Words{Text: t.Text, Occur: query.Should}
			if filter != nil {
				q = &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: q}, {Occur: query.Filter, Node: filter}}}
			}
			p, err := s.Prepare(sc, q, Options{K: 10})
			if err != nil {
				b.Fatal(err)
			}
			plans = append(plans, p)
		}
		dst := make([]base.Hit, 0, 10)
		for b.Loop() {
			for _, p := range plans {
				if _, err := p.RunCPU(context.Background(), sc, dst, nil); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("filter=none", func(b *testing.B) { run(b, nil) })
	for i, share := range shares {
		term := fmt.Sprintf("s%d", i)
		b.Run(fmt.Sprintf("share=%g/filter=term", share), func(b *testing.B) { run(b, &query.Term{Field: "share", Text: term, Exact: true}) })
		b.Run(fmt.Sprintf("share=%g/filter=range", share), func(b *testing.B) { run(b, &query.Range{Field: "share", From: term, To: term}) })
	}
}
