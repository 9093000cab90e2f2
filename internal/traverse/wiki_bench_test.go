package traverse_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Single queries on the Wikipedia passages, warm. One operation runs the whole log; the
// percentiles are over the fastest run of each query.
func BenchmarkWiki(b *testing.B) {
	w := loadWiki(b)
	for _, log := range queryLogs {
		texts := readQueries(b, log)
		queries := make([]traverse.Query, len(texts))
		for i, terms := range texts {
			queries[i] = w.query(terms)
		}
		for _, mode := range []traverse.Mode{traverse.Or, traverse.And} {
			for _, name := range traverse.Names(mode) {
				t, err := traverse.Lookup(mode, name)
				if err != nil {
					b.Fatal(err)
				}
				for _, k := range []int{10, 1000} {
					b.Run(fmt.Sprintf("log=%s/mode=%s/traversal=%s/k=%d", log[:4], mode, name, k), func(b *testing.B) {
						benchmarkQueries(b, t, queries, k)
					})
				}
			}
		}
	}
}

func benchmarkQueries(b *testing.B, t traverse.Traversal, queries []traverse.Query, k int) {
	var (
		s     traverse.Scratch
		queue topk.Queue
	)
	fastest := make([]time.Duration, len(queries))
	runs := 0
	for b.Loop() {
		s.Stats = traverse.Stats{}
		for i := range queries {
			start := time.Now()
			queue.Reset(k)
			if err := t.Run(b.Context(), &s, &queries[i], &queue); err != nil {
				b.Fatal(err)
			}
			if d := time.Since(start); runs == 0 || d < fastest[i] {
				fastest[i] = d
			}
		}
		runs++
	}
	var sum time.Duration
	for _, d := range fastest {
		sum += d
	}
	n := len(queries)
	slices.Sort(fastest)
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	b.ReportMetric(us(sum)/float64(n), "mean-us")
	b.ReportMetric(us(fastest[n/2]), "p50-us")
	b.ReportMetric(us(fastest[n*95/100]), "p95-us")
	b.ReportMetric(us(fastest[n*99/100]), "p99-us")
	b.ReportMetric(float64(s.Stats.PostingsScored)/float64(n), "scored/query")
	b.ReportMetric(float64(s.Stats.PostingsDecoded)/float64(n), "decoded/query")
	b.ReportMetric(float64(s.Stats.Candidates)/float64(n), "candidates/query")
}
