package griffin_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/query"
)

// record is a city of GeoNames or a package of Debian, with fields under the same names.
type record struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Country string   `json:"country"`
	Feature string   `json:"feature"`
	People  int64    `json:"population"`
	Title   string   `json:"title"`
	Section string   `json:"section"`
	Size    int64    `json:"size"`
	Tags    []string `json:"tags"`

	at     int
	values map[string][]string // by keyword, filled by readRecords
}

// keywordsOf returns the distinct values of a keyword, in order.
func (r *record) keywordsOf(field string) []string {
	one := map[string]string{"country": r.Country, "feature": r.Feature, "section": r.Section, "name": r.Name}[field]
	switch {
	case field == "tags":
		tags := slices.Clone(r.Tags)
		slices.Sort(tags)
		return slices.Compact(tags)
	case one == "":
		return nil
	}
	return []string{one}
}

func (r *record) keywords(field string) []string { return r.values[field] }

func (r *record) number(field string) int64 {
	if field == "population" {
		return r.People
	}
	return r.Size
}

// TestStructuredData compares filters, sorts and facets over real data with loops over the documents.
func TestStructuredData(t *testing.T) {
	most, rounds := 6000, 40
	if os.Getenv("GRIFFIN_TEST_ALL") != "" {
		most, rounds = 1_000_000, 2000
	}
	for _, c := range []struct {
		file, mapping, number string
		keywords              []string
	}{
		{"cities", `{"properties": {"name": {"type": "keyword"}, "country": {"type": "keyword"}, "feature": {"type": "keyword"}, "population": {"type": "long"}}}`, "population", []string{"country", "feature", "name"}},
		{"debian-packages", `{"properties": {"section": {"type": "keyword"}, "tags": {"type": "keyword"}, "size": {"type": "long"}}}`, "size", []string{"section", "tags"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			records := readRecords(t, c.file+".jsonl.zst", c.keywords, most)
			ix := structuredIndex(t, c.mapping, c.keywords, c.number, records)
			for part := range structuredParts {
				t.Run(strconv.Itoa(part), func(t *testing.T) {
					t.Parallel()
					for round := part; round < rounds; round += structuredParts {
						r := rand.New(rand.NewPCG(uint64(round), 19))
						checkStructured(t, ix, records, r, c.keywords, c.number)
					}
				})
			}
		})
	}
}

// structuredParts is the number of subtests that share the rounds of a file.
const structuredParts = 8

func readRecords(t *testing.T, name string, keywords []string, most int) []record {
	t.Helper()
	in := bufio.NewScanner(shareddata.Open(t, filepath.Join(shareddata.Dir(t), "structured", name)))
	in.Buffer(nil, 1<<20)
	var out []record
	for len(out) < most && in.Scan() {
		r := record{at: len(out), values: map[string][]string{}}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		for _, k := range keywords {
			r.values[k] = r.keywordsOf(k)
		}
		out = append(out, r)
	}
	if err := in.Err(); err != nil || len(out) < min(most, 60_000) {
		t.Fatalf("%d records: %v", len(out), err)
	}
	return out
}

func structuredIndex(t *testing.T, mapping string, keywords []string, number string, records []record) *griffin.Index {
	t.Helper()
	m, err := griffin.ParseMapping([]byte(mapping))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(t.TempDir()+"/ix", griffin.Settings{Analyzer: "simple", Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	for part := range slices.Chunk(records, len(records)/3+1) {
		var docs []griffin.Document
		for i := range part {
			r := &part[i]
			d := griffin.Document{ID: strconv.Itoa(r.at), Title: r.Title, Text: r.Name, Fields: []griffin.Field{{Name: number, Value: strconv.FormatInt(r.number(number), 10)}}}
			for _, k := range keywords {
				for _, v := range r.keywords(k) {
					d.Fields = append(d.Fields, griffin.Field{Name: k, Value: v})
				}
			}
			docs = append(docs, d)
		}
		if err := ix.Add(t.Context(), docs...); err != nil {
			t.Fatal(err)
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}

// structuredMatch is a record that matches, with its sort keys.
type structuredMatch struct {
	at      int
	key     string // the least value, or the greatest if the order falls
	missing bool   // it has no value
	number  int64
}

// checkStructured compares one search: a filter by a keyword or a range, a sort by two keys, a facet with a sum.
func checkStructured(t *testing.T, ix *griffin.Index, records []record, r *rand.Rand, keywords []string, number string) {
	t.Helper()
	sample := &records[r.IntN(len(records))]
	by, facet := keywords[r.IntN(len(keywords))], keywords[r.IntN(len(keywords))]
	q := griffin.Query{Node: &query.MatchAll{}, K: 1 + r.IntN(50)}
	keep := func(*record) bool { return true }
	switch values := sample.keywords(by); {
	case r.IntN(3) == 0:
		least := sample.number(number)
		q.Filter = &query.Range{Field: number, From: strconv.FormatInt(least, 10)}
		keep = func(x *record) bool { return x.number(number) >= least }
	case len(values) > 0:
		v := values[r.IntN(len(values))]
		q.Filter = &query.Term{Field: by, Text: v, Exact: true}
		keep = func(x *record) bool { return slices.Contains(x.keywords(by), v) }
	}
	first, second := "asc", "desc"
	if r.IntN(2) == 0 {
		first, second = second, first
	}
	q.Sort = fmt.Appendf(nil, `[{%q: %q}, {%q: %q}]`, facet, first, number, second)
	q.Aggregations = fmt.Appendf(nil, `{"f": {"terms": {"field": %q, "size": 20}, "aggs": {"s": {"sum": {"field": %q}}}}}`, facet, number)
	got := mustSearch(t, ix, q)

	var match []structuredMatch
	counts, sums := map[string]int64{}, map[string]float64{}
	for i := range records {
		if x := &records[i]; keep(x) {
			values := x.keywords(facet)
			m := structuredMatch{at: x.at, number: x.number(number), missing: len(values) == 0}
			if !m.missing {
				m.key = values[0]
				if first == "desc" {
					m.key = values[len(values)-1]
				}
			}
			match = append(match, m)
			for _, v := range values {
				counts[v]++
				sums[v] += float64(m.number)
			}
		}
	}
	sign := 1
	if first == "desc" {
		sign = -1
	}
	slices.SortStableFunc(match, func(a, b structuredMatch) int {
		if c := cmp.Compare(a.key, b.key); !a.missing && !b.missing && c != 0 {
			return sign * c
		}
		if a.missing != b.missing { // last
			if a.missing {
				return 1
			}
			return -1
		}
		return -sign * cmp.Compare(a.number, b.number)
	})
	var want []string
	for _, m := range match[:min(len(match), q.K)] {
		want = append(want, strconv.Itoa(m.at))
	}
	what := fmt.Sprintf("filter %v, sort %s", q.Filter, q.Sort)
	if ids := hitIDs(got); !slices.Equal(ids, want) || got.Total.Value != int64(len(match)) {
		t.Fatalf("%s: total %v, hits %v, want %d, %v", what, got.Total, ids, len(match), want)
	}
	values := make([]string, 0, len(counts))
	for v := range counts {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	terms, _ := got.Aggregations.Get("f")
	buckets := terms.Buckets()
	if len(buckets) != min(len(values), 20) {
		t.Fatalf("%s: %d buckets of %d", what, len(buckets), len(values))
	}
	for i, b := range buckets {
		s, _ := b.Aggregations.Get("s")
		if sum, _ := s.Value(); b.Key != values[i] || b.DocCount != counts[values[i]] || sum != sums[values[i]] {
			t.Fatalf("%s: bucket %d: %s with %d and %g, want %s with %d and %g", what, i, b.Key, b.DocCount, sum, values[i], counts[values[i]], sums[values[i]])
		}
	}
}
