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

// part c of the documents, in percent, has the term c in the field "part".
var parts = []float64{0.1, 1, 10, 50, 90}

func inPart(n, i int) bool { return hash(n, 4+i)%million < uint64(parts[i]*million/100) }

// filter is a range of a field, or a term.
type filter struct {
	field   string
	wanted  float64 // percent
	node    query.Node
	has     func(n int) bool
	matches int
}

// filters have the given shares of the documents as closely as values allow.
func filters(docs []passage) (all []filter) {
	values := map[string]func(int) int{
		"random": random,
		"place":  func(n int) int { return place(n, len(docs)) },
		"size":   func(n int) int { return len(docs[n].Text) },
	}
	for _, field := range []string{"random", "place", "size"} {
		value := values[field]
		sorted := make([]int, len(docs))
		for n := range docs {
			sorted[n] = value(n)
		}
		slices.Sort(sorted)
		for _, wanted := range parts {
			n := int(float64(len(docs)) * wanted / 100)
			from, to := sorted[len(docs)-max(n, 1)], math.MaxInt32 // of sizes, the longest
			if field == "place" {                                  // in the middle
				first := (len(docs) - n) / 2
				from, to = sorted[first], sorted[min(first+n, len(docs)-1)]
			}
			all = append(all, filter{
				field: field, wanted: wanted,
				node: &query.Range{Field: field, From: strconv.Itoa(from), To: strconv.Itoa(to)},
				has:  func(n int) bool { return value(n) >= from && value(n) <= to },
			})
		}
	}
	for i, wanted := range parts {
		all = append(all, filter{
			field: "part", wanted: wanted,
			node: &query.Term{Field: "part", Text: fmt.Sprint(wanted), Exact: true},
			has:  func(n int) bool { return inPart(n, i) },
		})
	}
	for i := range all {
		for n := range docs {
			if all[i].has(n) {
				all[i].matches++
			}
		}
	}
	return all
}

const topK = 10

// bars are the most that a filter may multiply the time of a query by.
var bars = map[float64]float64{0.1: 1.5, 1: 3, 10: 3, 50: 1.3, 90: 1.3}

func (r *report) measure(ctx context.Context, dir string, docs []passage, queries []string, runs int) error {
	ix, err := griffin.Open(dir, griffin.Options{})
	if err != nil {
		return err
	}
	m := &measurement{ix: ix, docs: docs, runs: runs}
	err = m.filters(ctx, r, queries)
	if err == nil {
		err = m.fields(ctx, r, queries)
	}
	return errors.Join(err, ix.Close())
}

type measurement struct {
	ix   *griffin.Index
	docs []passage
	runs int
}

// least returns the answer and the least time of the runs.
func (m *measurement) least(ctx context.Context, q griffin.Query) (*griffin.Results, time.Duration, error) {
	q.Load, q.Policy = griffin.LoadNone, griffin.PolicyCPU
	least := time.Duration(math.MaxInt64)
	var results *griffin.Results
	for range m.runs {
		var err error
		if results, err = m.ix.Search(ctx, q); err != nil {
			return nil, 0, err
		}
		least = min(least, results.Took)
	}
	return results, least, nil
}

// filters measures the best hits by score.
func (m *measurement) filters(ctx context.Context, r *report, queries []string) error {
	all := filters(m.docs)
	sums := make([]time.Duration, 1+len(all)) // the first without a filter
	for _, text := range queries {
		ranking, err := m.ix.Search(ctx, griffin.Query{Node: &query.Words{Text: text}, K: len(m.docs), Load: griffin.LoadNone})
		if err != nil {
			return fmt.Errorf("query %q: %w", text, err)
		}
		for i := range sums {
			q := griffin.Query{Node: &query.Words{Text: text}, K: topK}
			if i > 0 {
				q.Filter = all[i-1].node
			}
			results, took, err := m.least(ctx, q)
			if err != nil {
				return fmt.Errorf("query %q: %w", text, err)
			}
			sums[i] += took
			if i > 0 {
				if err := all[i-1].check(ranking.Hits, results.Hits); err != nil {
					return fmt.Errorf("query %q: %w", text, err)
				}
			}
		}
	}
	r.PlainMean = mean(sums[0], len(queries))
	for i, f := range all {
		r.Filters = append(r.Filters, measured{
			Field: f.field, Wanted: f.wanted, Share: 100 * float64(f.matches) / float64(len(m.docs)),
			Mean: mean(sums[i+1], len(queries)), Ratio: float64(sums[i+1]) / float64(sums[0]), Bar: bars[f.wanted],
		})
	}
	return nil
}

// mean is in microseconds.
func mean(sum time.Duration, n int) float64 { return float64(sum.Nanoseconds()) / 1000 / float64(n) }

// check compares hits with a ranking of all documents. DocIDs are the numbers of the passages.
func (f *filter) check(ranking, hits []griffin.Hit) error {
	n := 0
	for _, want := range ranking {
		if !f.has(int(want.DocID)) {
			continue
		}
		if n == topK {
			break
		}
		if n == len(hits) || hits[n].DocID != want.DocID || hits[n].Score != want.Score {
			return fmt.Errorf("filter %s: hit %d of %d differs, want document %d with %g", f.node, n, len(hits), want.DocID, want.Score)
		}
		n++
	}
	if n != len(hits) {
		return fmt.Errorf("filter %s: %d hits, want %d", f.node, len(hits), n)
	}
	return nil
}
