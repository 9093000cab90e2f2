package aggregate

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// Errors name the aggregation and the parameter, and nothing is ignored.
func TestErrors(t *testing.T) {
	ix := testIndex(t, newTestMapping(t), [][]testDoc{randomDocs(rand.New(rand.NewPCG(1, 1)), 5)})
	matches := [][]uint64{{31}}
	for request, want := range map[string]string{
		`[]`:                    "want an object",
		`{"a": 1}`:              "aggregation [a]",
		`{"a": {}}`:             "it has no type",
		`{"a": {"median": {}}}`: "unknown type [median]",
		`{"a": {"sum": {"field": "size"}, "max": {"field": "size"}}}`:                                                 "two types",
		`{"a": {"sum": {"field": "size"}}, "a": {"sum": {"field": "size"}}}`:                                          "[a] is given twice",
		`{"a>b": {"sum": {"field": "size"}}}`:                                                                         "a name must not",
		`{"a": {"sum": {}}}`:                                                                                          "aggregation [a] of type [sum]: the parameter [field] is required",
		`{"a": {"sum": {"field": "size", "script": "x"}}}`:                                                            "unknown parameter [script]",
		`{"a": {"sum": {"field": "tag"}}}`:                                                                            "type keyword is not a number",
		`{"a": {"sum": {"field": "place"}}}`:                                                                          "type geo_point is not a number",
		`{"a": {"sum": {"field": "nothing"}}}`:                                                                        "field [nothing] is not in the mapping",
		`{"a": {"terms": {"field": "body"}}}`:                                                                         "is a text",
		`{"a": {"terms": {"field": "bare"}}}`:                                                                         "doc_values",
		`{"a": {"terms": {"field": "place"}}}`:                                                                        "geo_point",
		`{"a": {"terms": {"field": "tag", "size": 0}}}`:                                                               "parameter [size]: want an integer from 1",
		`{"a": {"terms": {"field": "tag", "size": 1.5}}}`:                                                             "parameter [size]",
		`{"a": {"terms": {"field": "tag", "order": {"b": "asc"}}}}`:                                                   "parameter [order]: there is no aggregation [b]",
		`{"a": {"terms": {"field": "tag", "order": {"_count": "up"}}}}`:                                               "parameter [order]",
		`{"a": {"terms": {"field": "tag", "order": {"b.p": "asc"}}, "aggs": {"b": {"stats": {"field": "size"}}}}}`:    "has no such number",
		`{"a": {"terms": {"field": "tag", "order": {"b": "asc"}}, "aggs": {"b": {"terms": {"field": "size"}}}}}`:      "has no such number",
		`{"a": {"terms": {"field": "tag", "include": "("}}}`:                                                          "parameter [include]",
		`{"a": {"terms": {"field": "size", "include": "1.*"}}}`:                                                       "must be lists",
		`{"a": {"terms": {"field": "tag", "include": {"partition": 0, "num_partitions": 2}}}}`:                        "partitions are not supported",
		`{"a": {"terms": {"field": "size", "missing": "x"}}}`:                                                         "parameter [missing]",
		`{"a": {"terms": {"field": "size", "format": "0.0"}}}`:                                                        "has no formats",
		`{"a": {"sum": {"field": "size"}, "aggs": {"b": {"sum": {"field": "size"}}}}}`:                                "cannot have aggregations within it",
		`{"a": {"terms": {"field": "tag"}, "aggs": {"b": {"global": {}}}}}`:                                           "cannot be within another",
		`{"a": {"multi_terms": {"terms": [{"field": "tag"}]}}}`:                                                       "at least two fields",
		`{"a": {"histogram": {"field": "size"}}}`:                                                                     "parameter [interval]",
		`{"a": {"histogram": {"field": "size", "interval": -1}}}`:                                                     "parameter [interval]",
		`{"a": {"histogram": {"field": "size", "interval": 1, "extended_bounds": {"min": 2, "max": 1}}}}`:             "min is greater than max",
		`{"a": {"histogram": {"field": "size", "interval": 1, "extended_bounds": {"low": 2}}}}`:                       "unknown key [low]",
		`{"a": {"date_histogram": {"field": "made"}}}`:                                                                "one of [calendar_interval] and [fixed_interval]",
		`{"a": {"date_histogram": {"field": "made", "interval": "1d"}}}`:                                              "[calendar_interval] or [fixed_interval]",
		`{"a": {"date_histogram": {"field": "made", "calendar_interval": "2d"}}}`:                                     "calendar interval",
		`{"a": {"date_histogram": {"field": "made", "fixed_interval": "1M"}}}`:                                        "parameter [fixed_interval]",
		`{"a": {"date_histogram": {"field": "size", "fixed_interval": "1d"}}}`:                                        "is not a date",
		`{"a": {"date_histogram": {"field": "made", "fixed_interval": "1d", "time_zone": "Mars"}}}`:                   "parameter [time_zone]",
		`{"a": {"range": {"field": "size"}}}`:                                                                         "parameter [ranges]",
		`{"a": {"range": {"field": "size", "ranges": [{"from": "x"}]}}}`:                                              `"x" is not a number`,
		`{"a": {"range": {"field": "made", "ranges": [{"from": "2022"}]}}}`:                                           "need the type [date_range]",
		`{"a": {"date_range": {"field": "made", "ranges": [{"from": "x"}]}}}`:                                         "parameter [ranges]",
		`{"a": {"filter": {"nothing": {}}}}`:                                                                          "aggregation [a] of type [filter]",
		`{"a": {"filters": {"filters": {}}}}`:                                                                         "there are none",
		`{"a": {"percentiles": {"field": "size", "percents": [101]}}}`:                                                "101 is not between",
		`{"a": {"percentile_ranks": {"field": "size"}}}`:                                                              "parameter [values]",
		`{"a": {"composite": {"sources": [{"x": {"terms": {"field": "tag"}}}, {"x": {"terms": {"field": "tag"}}}]}}}`: "two sources [x]",
		`{"a": {"composite": {"sources": [{"x": {"geotile_grid": {"field": "place"}}}]}}}`:                            "unknown type [geotile_grid]",
		`{"a": {"composite": {"sources": [{"x": {"terms": {"field": "tag"}}}], "after": {"y": 1}}}}`:                  "no key for source [x]",
		`{"a": {"significant_terms": {"field": "tag", "script_heuristic": {}}}}`:                                      "unknown parameter [script_heuristic]",
		`{"a": {"significant_terms": {"field": "tag", "gnd": {"include_negatives": true}}}}`:                          "unknown parameter [include_negatives]",
		`{"a": {"significant_terms": {"field": "tag", "gnd": {}, "jlh": {}}}}`:                                        "parameter [jlh]: there is [gnd] too",
		`{"a": {"top_hits": {}}}`:                                                                                     "not supported here",
	} {
		_, err := answer(t, ix, request, matches)
		if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\nerror %v, want %q", request, err, want)
		}
	}
	deep := strings.Repeat(`{"a": {"filter": {"match_all": {}}, "aggs": `, 40) + "{}" + strings.Repeat("}}", 40)
	if _, err := Parse([]byte(deep)); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("40 levels: error %v", err)
	}
}

func TestLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	docs := randomDocs(r, 5000)
	for i := range docs {
		docs[i].values["size"] = []string{[]string{"0", "1000000000000"}[i%2]}
		docs[i].values["price"] = []string{docs[i].values["size"][0] + "." + string(rune('0'+i%10))}
	}
	segments := [][]testDoc{docs}
	ix := testIndex(t, newTestMapping(t), segments)
	matches := bitmaps(segments, func(d *testDoc) bool { return d.live })
	for request, want := range map[string]error{
		`{"a": {"histogram": {"field": "size", "interval": 1}}}`:                                                                   ErrTooManyBuckets,
		`{"a": {"terms": {"field": "tag", "size": 100}, "aggs": {"b": {"terms": {"field": "color"}}}}}`:                            ErrTooManyBuckets,
		`{"a": {"date_histogram": {"field": "made", "fixed_interval": "1ms"}}}`:                                                    ErrTooManyBuckets,
		`{"a": {"multi_terms": {"terms": [{"field": "tag"}, {"field": "price"}]}}}`:                                                ErrTooLarge,
		`{"a": {"composite": {"size": 5, "sources": [{"x": {"terms": {"field": "tag"}}}, {"y": {"terms": {"field": "price"}}}]}}}`: ErrTooLarge,
	} {
		requests, err := Parse([]byte(request))
		if err != nil {
			t.Fatal(err)
		}
		limits := Limits{MaxBuckets: 20}
		if errors.Is(want, ErrTooLarge) {
			limits.MaxBytes = 1000
		}
		if _, err := Run(context.Background(), ix, requests, matches, limits); !errors.Is(err, want) || !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%s: error %v, want %v", request, err, want)
		}
	}
}

func TestContext(t *testing.T) {
	docs := randomDocs(rand.New(rand.NewPCG(1, 2)), 100)
	ix := testIndex(t, newTestMapping(t), [][]testDoc{docs})
	requests, err := Parse([]byte(`{"a": {"terms": {"field": "tag"}, "aggs": {"b": {"sum": {"field": "size"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, ix, requests, bitmaps([][]testDoc{docs}, func(d *testDoc) bool { return d.live }), Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNumbersOfInnerBuckets(t *testing.T) {
	e, r := &env{budget: newBudget(Limits{})}, &Request{Name: "a", Type: "range"}
	if n, err := e.inner(r, 3, 10, 4); n != 34 || err != nil {
		t.Errorf("bucket 4 of 10 in bucket 3: %d, %v", n, err)
	}
	if n, err := e.inner(r, noBucket, 10, 4); n != noBucket || err != nil {
		t.Errorf("in no bucket: %d, %v", n, err)
	}
	if _, err := e.inner(r, 1<<30, 4, 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("bucket 2^32: error %v", err)
	}
}
