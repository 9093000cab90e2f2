package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// request makes an object of aggregations at random.
func request(r *rand.Rand, depth int) object {
	out := object{}
	for i := range 1 + r.IntN(2) {
		out[fmt.Sprintf("a%d", i)] = oneRequest(r, depth)
	}
	return out
}

func pick(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }

var (
	numberFields = []string{"size", "price", "weight", "sold", "made", "empty"}
	termFields   = []string{"tag", "color", "address"}
)

func oneRequest(r *rand.Rand, depth int) object {
	kinds := []string{
		"min", "max", "sum", "avg", "stats", "extended_stats", "value_count", "cardinality", "percentiles",
		"terms", "terms", "multi_terms", "histogram", "date_histogram", "range", "filter", "filters", "missing",
	}
	kind := kinds[r.IntN(len(kinds))]
	if depth == 0 {
		kind = kinds[r.IntN(9)]
	}
	field := pick(r, append(slices.Clone(numberFields), termFields...)...)
	p := object{"field": pick(r, numberFields...)}
	maybe := func(key string, v any) {
		if r.IntN(3) == 0 {
			p[key] = v
		}
	}
	out := object{kind: p}
	if kind != "filter" && kind != "filters" && !slices.Contains(kinds[:9], kind) && r.IntN(2) == 0 || kind == "filter" || kind == "filters" {
		out["aggs"] = request(r, depth-1)
	}
	if slices.Contains(kinds[:9], kind) {
		delete(out, "aggs")
	}
	switch kind {
	case "value_count", "cardinality", "missing":
		p["field"] = field
	case "percentiles":
		p["percents"] = []any{0.0, 12.5, 50.0, 99.0, 100.0}
	case "terms":
		p["field"] = field
		p["size"] = float64(1 + r.IntN(30))
		maybe("min_doc_count", float64(r.IntN(4)))
		if field == "tag" {
			maybe("exclude", "t1.*")
			maybe("include", []any{"t1", "t2", "t3", "t4", "t99"})
			maybe("missing", pick(r, "t2", "none"))
		}
		maybe("order", orderOf(r, out))
	case "multi_terms":
		delete(p, "field")
		p["terms"] = []any{object{"field": pick(r, termFields...)}, object{"field": pick(r, "size", "sold", "weight", "tag")}}
		p["size"] = float64(1 + r.IntN(30))
		maybe("order", orderOf(r, out))
	case "histogram":
		p["field"] = pick(r, "weight", "sold", "empty")
		p["interval"] = []float64{0.25, 1, 7.5}[r.IntN(3)]
		p["min_doc_count"] = float64(r.IntN(3))
		maybe("offset", 0.5)
		maybe("order", orderOf(r, out))
		if p["field"] != "sold" {
			maybe("missing", 3.0)
		}
	case "date_histogram":
		p["field"] = "made"
		p["min_doc_count"] = float64(r.IntN(3))
		p[pick(r, "calendar_interval")] = pick(r, "year", "month")
		maybe("time_zone", pick(r, "Europe/Berlin", "+05:30", "America/New_York"))
		if r.IntN(3) == 0 {
			delete(p, "calendar_interval")
			delete(p, "time_zone")
			p["fixed_interval"] = pick(r, "720h", "1000h")
		}
		maybe("order", orderOf(r, out))
	case "range":
		p["field"] = pick(r, "size", "price", "weight")
		p["ranges"] = []any{object{"from": 1.0, "to": 20.5}, object{"to": 3.0}, object{"from": -5.0}, object{}}
		maybe("missing", 2.0)
	case "filter":
		out[kind] = object{"term": object{"tag": pick(r, "t0", "t1", "t2")}}
	case "filters":
		out[kind] = object{"filters": object{"x": object{"term": object{"tag": "t1"}}, "y": object{"term": object{"color": "red"}}}}
		if r.IntN(2) == 0 {
			out[kind].(object)["other_bucket_key"] = "rest"
		}
	}
	return out
}

func orderOf(r *rand.Rand, request object) object {
	by := pick(r, "_count", "_key")
	if within, ok := request["aggs"].(object); ok && r.IntN(2) == 0 {
		for name, a := range within {
			for kind := range a.(object) {
				switch kind {
				case "min", "max", "sum", "avg", "value_count", "cardinality":
					by = name
				case "stats":
					by = name + ".avg"
				}
			}
		}
	}
	return object{by: pick(r, "asc", "desc")}
}

// TestRandomRequests compares with plain loops over the documents, in several segments and in one.
func TestRandomRequests(t *testing.T) {
	rounds := 20
	if os.Getenv("GRIFFIN_TEST_ALL") != "" {
		rounds = 4000
	}
	m := newTestMapping(t)
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 19))
		docs := randomDocs(r, r.IntN(400))
		segments := cut(r, docs, 1+r.IntN(4))
		several, one := testIndex(t, m, segments), testIndex(t, m, [][]testDoc{docs})
		o := &oracle{m: m}
		for i := range docs {
			if docs[i].live {
				o.docs = append(o.docs, &docs[i])
			}
		}
		for range 25 {
			wanted := r.IntN(4)
			match := func(d *testDoc) bool { return d.live && (wanted == 0 || d.number%4 < wanted) }
			asked := request(r, 3)
			if r.IntN(10) == 0 {
				asked["all"] = object{"global": object{}, "aggs": request(r, 2)}
			}
			raw, err := json.Marshal(asked)
			if err != nil {
				t.Fatal(err)
			}
			got, err := answer(t, several, string(raw), bitmaps(segments, match))
			if err != nil {
				if strings.Contains(err.Error(), "too many buckets") {
					continue
				}
				t.Fatalf("seed %d: %s: %v", seed, raw, err)
			}
			whole, err := answer(t, one, string(raw), bitmaps([][]testDoc{docs}, match))
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, raw, err)
			}
			if got != whole {
				t.Fatalf("seed %d: %s:\n%d segments %s\none segment %s", seed, raw, len(segments), got, whole)
			}
			var decoded object
			if err := json.Unmarshal([]byte(got), &decoded); err != nil {
				t.Fatalf("seed %d: %s: answer %s: %v", seed, raw, got, err)
			}
			want := o.answer(asked, kept(o.docs, match))
			if !reflect.DeepEqual(decoded, want) {
				text, _ := json.Marshal(want)
				ordered, _ := json.Marshal(decoded)
				t.Fatalf("seed %d: %s:\ngot  %s\nwant %s", seed, raw, ordered, text)
			}
		}
	}
}

// FuzzParse checks that no request panics, and that errors have the text of a request that is wrong.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":{"terms":{"field":"tag","size":3},"aggs":{"b":{"sum":{"field":"size"}}}}}`,
		`{"a":{"composite":{"sources":[{"x":{"terms":{"field":"tag"}}}],"after":{"x":"t1"}}}}`,
		`{"a":{"date_histogram":{"field":"made","calendar_interval":"month","time_zone":"Europe/Berlin"}}}`,
		`{"a":{"filters":{"filters":{"x":{"match_all":{}}}}}}`, `{"a":{"percentiles":{"field":"size"}}}`,
		`{"a":{"significant_terms":{"field":"tag"}}}`, `{"a":{"auto_date_histogram":{"field":"made","buckets":3}}}`,
		`{"a":{"range":{"field":"size","ranges":[{"from":1,"to":2}]}}}`, `{"a":{"date_range":{"field":"made","ranges":[{"from":"now-1y/y"}]}}}`,
	} {
		f.Add(seed)
	}
	m := newTestMapping(f)
	docs := randomDocs(rand.New(rand.NewPCG(1, 2)), 50)
	segments := [][]testDoc{docs[:20], docs[20:]}
	ix := testIndex(f, m, segments)
	matches := bitmaps(segments, func(d *testDoc) bool { return d.live })
	f.Fuzz(func(t *testing.T, text string) {
		requests, err := Parse([]byte(text))
		if err != nil {
			return
		}
		results, err := Run(context.Background(), ix, requests, matches, Limits{MaxBuckets: 1000})
		if err != nil {
			return
		}
		if out := AppendJSON(nil, results, false, nil); !json.Valid(out) {
			t.Errorf("%s: answer %s is not JSON", text, out)
		}
	})
}
