package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

const million = 1_000_000

// hash is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func hash(n, seed int) uint64 {
	x := uint64(n)*0x9e3779b97f4a7c15 + uint64(seed)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func random(n int) int    { return int(hash(n, 1) % million) }
func place(n, of int) int { return int(int64(n) * million / int64(of)) }

// category c has a share of about 1/c.
func category(n int) int {
	u := float64(hash(n, 2)>>11) / (1 << 53)
	return int(math.Pow(1000, u)) - 1
}

// filter is a range of a field.
type filter struct {
	field    string
	wanted   float64 // percent
	from, to int
	matches  int
	value    func(n int) int
}

// filters have the given shares of the documents as closely as values allow.
func filters(docs []passage) (all []filter) {
	values := map[string]func(int) int{
		"random": random,
		"place":  func(n int) int { return place(n, len(docs)) },
		"size":   func(n int) int { return len(docs[n].Text) },
	}
	for _, field := range []string{"random", "place", "size"} {
		sorted := make([]int, len(docs))
		for n := range docs {
			sorted[n] = values[field](n)
		}
		slices.Sort(sorted)
		for _, wanted := range []float64{0.1, 1, 10, 50, 90} {
			f := filter{field: field, wanted: wanted, value: values[field], to: math.MaxInt32}
			n := int(float64(len(docs)) * wanted / 100)
			f.from = sorted[len(docs)-max(n, 1)] // of sizes, the longest
			if field == "place" {                // in the middle
				first := (len(docs) - n) / 2
				f.from, f.to = sorted[first], sorted[min(first+n, len(docs)-1)]
			}
			for _, v := range sorted {
				if v >= f.from && v <= f.to {
					f.matches++
				}
			}
			all = append(all, f)
		}
	}
	return all
}

func (f *filter) node() query.Node {
	return &query.Range{Field: f.field, From: strconv.Itoa(f.from), To: strconv.Itoa(f.to)}
}

const topK = 10

func (r *report) measure(ctx context.Context, dir string, docs []passage, queries []string, runs int) error {
	ix, err := griffin.Open(dir, griffin.Options{})
	if err != nil {
		return err
	}
	all := filters(docs)
	sums := make([]time.Duration, 1+len(all)) // the first without a filter
	for _, text := range queries {
		ranking, err := ix.Search(ctx, griffin.Query{Node: &query.Words{Text: text}, K: len(docs), Load: griffin.LoadNone})
		if err != nil {
			return errors.Join(fmt.Errorf("query %q: %w", text, err), ix.Close())
		}
		for i := range sums {
			words := query.Node(&query.Words{Text: text})
			if i > 0 {
				words = &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: words}, {Occur: query.Filter, Node: all[i-1].node()}}}
			}
			least := time.Duration(math.MaxInt64)
			var results *griffin.Results
			for range runs {
				if results, err = ix.Search(ctx, griffin.Query{Node: words, K: topK, Load: griffin.LoadNone, Policy: griffin.PolicyCPU}); err != nil {
					return errors.Join(fmt.Errorf("query %q: %w", text, err), ix.Close())
				}
				least = min(least, results.Took)
			}
			sums[i] += least
			if i > 0 {
				if err := all[i-1].check(ranking.Hits, results.Hits); err != nil {
					return errors.Join(fmt.Errorf("query %q: %w", text, err), ix.Close())
				}
			}
		}
	}
	mean := func(sum time.Duration) float64 { return float64(sum.Nanoseconds()) / 1000 / float64(len(queries)) }
	r.PlainMean = mean(sums[0])
	for i, f := range all {
		r.Filters = append(r.Filters, measured{
			Field: f.field, Wanted: f.wanted, Share: 100 * float64(f.matches) / float64(len(docs)),
			Mean: mean(sums[i+1]), Ratio: float64(sums[i+1]) / float64(sums[0]),
		})
	}
	return ix.Close()
}

// check compares hits with a ranking of all documents. DocIDs are the numbers of the passages.
func (f *filter) check(ranking, hits []griffin.Hit) error {
	n := 0
	for _, want := range ranking {
		if v := f.value(int(want.DocID)); v < f.from || v > f.to {
			continue
		}
		if n == topK {
			break
		}
		if n == len(hits) || hits[n].DocID != want.DocID || hits[n].Score != want.Score {
			return fmt.Errorf("filter %s: hit %d of %d differs, want document %d with %g", f.node(), n, len(hits), want.DocID, want.Score)
		}
		n++
	}
	if n != len(hits) {
		return fmt.Errorf("filter %s: %d hits, want %d", f.node(), len(hits), n)
	}
	return nil
}
