package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// facet is the time of a query with a terms facet over all its matches, or with a sort of them, one query at a time.
type facet struct {
	Of          string  `json:"of"`
	Share       float64 `json:"share"` // of the documents that pass a filter; 1: there is none
	Queries     int     `json:"queries"`
	MeanMatches float64 `json:"mean_matches"`
	Values      int     `json:"values"` // of the field
	// FirstMS is the first query, which computes the filter and brings the column to the GPU.
	FirstMS float64 `json:"first_ms"`
	// GPU is of whole searches with one hit, Counting of the counts in them, of which the kernels take Device.
	GPU      times   `json:"gpu"`
	Counting times   `json:"gpu_counting"`
	Device   float64 `json:"device_us"`
	CPU      times   `json:"cpu"`
	// CPUCount is of searches on the CPU that only count their matches.
	CPUCount times `json:"cpu_count"`
	// ChosenGPU are the queries that the default policy gives to the GPU, Chosen their time with it.
	ChosenGPU int   `json:"chosen_gpu"`
	Chosen    times `json:"chosen"`
}

// times are in µs.
type times struct {
	Mean   float64 `json:"mean_us"`
	Median float64 `json:"median_us"`
	P99    float64 `json:"p99_us"`
	Max    float64 `json:"max_us"`
}

func timesOf(all []time.Duration) (t times) {
	if len(all) == 0 {
		return t
	}
	slices.Sort(all)
	for _, d := range all {
		t.Mean += us(d) / float64(len(all))
	}
	t.Median, t.P99, t.Max = us(all[len(all)/2]), us(all[len(all)*99/100]), us(all[len(all)-1])
	return t
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// facetShares are shares of 1,000 of the documents that pass a filter.
var facetShares = []int{1000, 500, 10}

// facetRounds are the rounds over all queries; the first is not counted.
const facetRounds = 4

// countings are the measurements over all matches.
var countings = []struct {
	name string
	set  func(q *griffin.Query)
}{
	{"facet kind", func(q *griffin.Query) { q.Facets = []griffin.Facet{{Field: "kind", Size: 10}} }},
	{"sort day:desc", func(q *griffin.Query) { q.K, q.Sort = 10, griffin.SortKeys("day:desc") }},
	{"sort number", func(q *griffin.Query) { q.K, q.Sort = 10, griffin.SortKeys("number") }},
	{"sort kind", func(q *griffin.Query) { q.K, q.Sort = 10, griffin.SortKeys("kind") }},
}

func (b *bench) measureFacets(ctx context.Context, rt *griffin.Runtime) error {
	for i := range countings {
		for _, share := range facetShares {
			if err := b.measureFacet(ctx, rt, countings[i].name, share, countings[i].set); err != nil {
				return err
			}
			if i > 0 {
				break // sorts without a filter only
			}
		}
	}
	return nil
}

func (b *bench) measureFacet(ctx context.Context, rt *griffin.Runtime, name string, share int, set func(q *griffin.Query)) error {
	n := min(b.facets, len(b.words))
	if n == 0 {
		return nil
	}
	f := &facet{Of: name, Queries: n, Share: float64(share) / 1000}
	var filter query.Node
	if share < 1000 {
		filter = &query.Range{Field: "number", From: "0", To: fmt.Sprint(share - 1)}
	}
	queries := make([]griffin.Query, n)
	for i := range queries {
		queries[i] = griffin.Query{Node: b.words[i], Filter: filter, K: 1, Load: griffin.LoadNone, Policy: griffin.PolicyGPU}
		set(&queries[i])
	}
	if err := b.compareFacets(ctx, f, queries); err != nil {
		return err
	}
	before, _ := rt.GPUStats()
	var searches, counts []time.Duration
	for range facetRounds - 1 {
		for i := range queries {
			began := time.Now()
			r, err := b.gpu.Search(ctx, queries[i])
			if err != nil {
				return err
			}
			searches, counts = append(searches, time.Since(began)), append(counts, r.CountTook)
		}
	}
	f.GPU, f.Counting = timesOf(searches), timesOf(counts)
	after, _ := rt.GPUStats()
	if tallies := after.Devices[0].Tallies - before.Devices[0].Tallies; tallies > 0 {
		f.Device = us(after.Devices[0].Busy-before.Devices[0].Busy) / float64(tallies)
	}
	if err := b.facetsByPolicy(ctx, f, queries); err != nil {
		return err
	}
	if err := b.facetsOnCPU(ctx, f, queries); err != nil {
		return err
	}
	b.report.Facets = append(b.report.Facets, f)
	fmt.Printf("%s of %.0f matches (filter %.1f %%): counting on the GPU %.0f µs median, %.0f p99 (kernels %.0f mean), search %.0f median; CPU %.0f, counting matches alone %.0f; the policy gives %d of %d to the GPU, %.0f µs mean; first query %.0f ms\n",
		name, f.MeanMatches, 100*f.Share, f.Counting.Median, f.Counting.P99, f.Device, f.GPU.Median, f.CPU.Median, f.CPUCount.Median, f.ChosenGPU, n, f.Chosen.Mean, f.FirstMS)
	return b.write()
}

// compareFacets searches on the GPU, which must count all values as the CPU does.
func (b *bench) compareFacets(ctx context.Context, f *facet, queries []griffin.Query) error {
	const allValues = 1 << 16 // more than the field has
	for i := range queries {
		q := queries[i]
		if q.Facets != nil {
			q.Facets = []griffin.Facet{{Field: "kind", Size: allValues}}
		}
		began := time.Now()
		got, err := b.gpu.Search(ctx, q)
		if err != nil {
			return err
		}
		if i == 0 {
			f.FirstMS = ms(time.Since(began))
		}
		if got.CountedBy != "gpu" {
			return fmt.Errorf("%s of query %d was counted by %s", f.Of, i, got.CountedBy)
		}
		q.Policy = ""
		want, err := b.cpu.Search(ctx, q)
		if err != nil {
			return err
		}
		if got.Matches != want.Matches || !reflect.DeepEqual(got.Facets, want.Facets) || !reflect.DeepEqual(got.Hits, want.Hits) {
			return fmt.Errorf("%s of query %d, of %d matches, differs from the CPU's, of %d", f.Of, i, got.Matches, want.Matches)
		}
		f.MeanMatches += float64(got.Matches) / float64(len(queries))
		f.Values = max(f.Values, len(got.Facets["kind"]))
	}
	return nil
}

func (b *bench) facetsByPolicy(ctx context.Context, f *facet, queries []griffin.Query) error {
	var searches []time.Duration
	for round := range 2 {
		for i := range queries {
			q := queries[i]
			q.Policy = ""
			began := time.Now()
			r, err := b.gpu.Search(ctx, q)
			if err != nil {
				return err
			}
			if round == 0 {
				continue
			}
			searches = append(searches, time.Since(began))
			if r.CountedBy == "gpu" {
				f.ChosenGPU++
			}
		}
	}
	f.Chosen = timesOf(searches)
	return nil
}

func (b *bench) facetsOnCPU(ctx context.Context, f *facet, queries []griffin.Query) error {
	var searches, counts []time.Duration
	for i := range queries {
		q := queries[i]
		q.Policy = ""
		began := time.Now()
		if _, err := b.cpu.Search(ctx, q); err != nil {
			return err
		}
		searches = append(searches, time.Since(began))
		q.Facets, q.Sort, q.Count = nil, nil, true
		began = time.Now()
		if _, err := b.cpu.Search(ctx, q); err != nil {
			return err
		}
		counts = append(counts, time.Since(began))
	}
	f.CPU, f.CPUCount = timesOf(searches), timesOf(counts)
	return nil
}
