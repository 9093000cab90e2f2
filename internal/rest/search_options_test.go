package rest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
)

// TestSourceFilter has the examples of OpenSearch's documentation, and lists of objects.
func TestSourceFilter(t *testing.T) {
	const source = `{"a": 1, "b": {"c": "x", "d": {"e": [1, 2], "f": null}}, "l": [{"m": 1, "n": 2}, {"m": 3}, 4], "ab": true}`
	for _, c := range []struct{ filter, want string }{
		{`true`, source},
		{`"a"`, `{"a":1}`},
		{`["a", "b.c"]`, `{"a":1,"b":{"c":"x"}}`},
		{`"a*"`, `{"a":1,"ab":true}`},
		{`"b.*.e"`, `{"b":{"d":{"e":[1,2]}}}`},
		{`["b"]`, `{"b":{"c":"x","d":{"e":[1,2],"f":null}}}`},
		{`"l.m"`, `{"l":[{"m":1},{"m":3}]}`},
		{`{"excludes": ["b", "l"]}`, `{"a":1,"ab":true}`},
		{`{"excludes": "*.n"}`, `{"a":1,"b":{"c":"x","d":{"e":[1,2],"f":null}},"l":[{"m":1},{"m":3},4],"ab":true}`},
		{`{"includes": ["b.*"], "excludes": ["b.d.e"]}`, `{"b":{"c":"x","d":{"f":null}}}`},
		{`"z"`, `{}`},
		{`{"excludes": ["*"]}`, `{}`},
	} {
		var f sourceFilter
		if err := f.parse(json.RawMessage(c.filter)); err != nil {
			t.Fatalf("%s: %v", c.filter, err)
		}
		if got := string(f.apply([]byte(source))); got != c.want {
			t.Errorf("%s: %s, want %s", c.filter, got, c.want)
		}
	}
}

func putBooks(t *testing.T) *node {
	t.Helper()
	n := newNode(t)
	n.must(200, "PUT /books", `{"mappings":{"properties":{"title":{"type":"text"},"author":{"type":"text"}}}}`)
	for i, source := range []string{
		`{"title": "Moby Dick", "author": "Herman Melville", "year": 1851, "tags": ["whale", "ship"]}`,
		`{"title": "The white whale of the sea", "author": "Anna Dick", "year": 1900, "tags": ["whale"]}`,
		`{"title": "A ship", "author": "Herman Wouk", "year": 1951, "tags": []}`,
	} {
		n.must(201, fmt.Sprintf("PUT /books/_doc/%d", i+1), source)
	}
	n.must(200, "POST /books/_refresh", "")
	return n
}

func TestSortByScoreAndOrder(t *testing.T) {
	n := putBooks(t)
	answer := n.must(200, "POST /books/_search", `{"sort": [{"_doc": "desc"}]}`)
	if got := ids(answer); got != "3 2 1" || at(answer, "hits.hits.0._score") != nil || at(answer, "hits.max_score") != nil || at(answer, "hits.hits.0.sort.0") != 2.0 {
		t.Errorf("hits %s: %v", got, answer)
	}
	after := n.must(200, "POST /books/_search", `{"sort": [{"_doc": "desc"}], "search_after": [2], "size": 1}`)
	if got := ids(after); got != "2" || at(after, "hits.total.value") != 3.0 {
		t.Errorf("after 2: hits %s: %v", got, after)
	}
	if got := ids(n.must(200, "GET /books/_search?q=whale&sort=_score:asc&track_scores=true", "")); got != "2 1" && got != "1 2" {
		t.Errorf("hits %s", got)
	}
	n.must(400, "POST /books/_search", `{"sort": "nothing"}`)
	n.must(400, "POST /books/_search", `{"search_after": [1]}`)
	n.must(400, "POST /books/_search", `{"sort": "_doc", "search_after": [1], "from": 1}`)
}

// max_score is of all hits, also of those before from.
func TestMaxScoreOfLaterPages(t *testing.T) {
	n := putBooks(t)
	for _, search := range []string{`"query": {"match": {"title": "whale ship"}}`, `"query": {"match_all": {}}`, `"query": {"match": {"title": "whale ship"}}, "sort": "_score", "track_scores": true`} {
		first := at(n.must(200, "POST /books/_search", fmt.Sprintf(`{%s}`, search)), "hits.hits.0._score")
		for _, page := range []string{`"size": 1`, `"from": 1, "size": 1`, `"from": 9, "size": 1`} {
			if got := at(n.must(200, "POST /books/_search", fmt.Sprintf(`{%s, %s}`, search, page)), "hits.max_score"); got != first || first == nil {
				t.Errorf("%s, %s: %v, want %v", search, page, got, first)
			}
		}
		if got := at(n.must(200, "POST /books/_search", fmt.Sprintf(`{%s, "size": 0}`, search)), "hits.max_score"); got != nil {
			t.Errorf("%s, no hits: %v", search, got)
		}
	}
	for _, search := range []string{`"query": {"match": {"title": "nothing"}}`, `"sort": "_doc"`} {
		if got := at(n.must(200, "POST /books/_search", fmt.Sprintf(`{%s, "from": 1}`, search)), "hits.max_score"); got != nil {
			t.Errorf("%s: %v", search, got)
		}
	}
}

func TestSearchOptions(t *testing.T) {
	n := putBooks(t)
	whale := `"query": {"match": {"*": "whale"}}`
	scored := n.must(200, "POST /books/_search", `{`+whale+`}`)
	best := at(scored, "hits.hits.0._score").(float64)
	for _, c := range []struct{ body, path, want string }{
		{`{` + whale + `, "post_filter": {"match": {"author": "melville"}}, "aggs": {"all": {"filter": {"match": {"author": "dick"}}}}}`, "hits.total.value", "1"},
		{`{` + whale + `, "post_filter": {"match": {"author": "melville"}}, "aggs": {"all": {"filter": {"match": {"author": "dick"}}}}}`, "aggregations.all.doc_count", "1"},
		{`{` + whale + `, "aggs": {"g": {"global": {}, "aggs": {"t": {"top_hits": {"size": 1, "_source": ["year"], "sort": [{"_doc": "desc"}]}}}}}, "size": 0}`, "aggregations.g.t.hits.hits.0._source", "map[year:1951]"},
		{`{` + whale + `, "aggs": {"f": {"filters": {"filters": {"a": {"match_all": {}}, "b": {"match": {"*": "ship"}}}}}}}`, "aggregations.f.buckets.b.doc_count", "1"},
		{fmt.Sprintf(`{%s, "min_score": %g}`, whale, best), "hits.total.value", "1"},
		{`{"query": {"match_all": {}}, "_source": ["title"], "size": 1}`, "hits.hits.0._source", "map[title:Moby Dick]"},
		{`{"query": {"match_all": {}}, "_source": false, "fields": ["tags", "ye*"], "size": 1}`, "hits.hits.0.fields", "map[tags:[whale ship] year:[1851]]"},
		{`{"query": {"match_all": {}}, "_source": false, "docvalue_fields": [{"field": "year"}], "size": 1}`, "hits.hits.0.fields", "map[year:[1851]]"},
		{`{` + whale + `, "stored_fields": "_none_"}`, "hits.hits.0._source", "<nil>"},
		{`{"query": {"match": {"title": "whale"}}, "highlight": {"fields": {"title": {}}}}`, "hits.hits.0.highlight", "map[title:[The white <em>whale</em> of the sea]]"},
		{`{"query": {"match": {"title": "dick"}}, "highlight": {"pre_tags": ["["], "post_tags": ["]"], "fields": {"*": {"number_of_fragments": 0}}}}`, "hits.hits.0.highlight", "map[title:[Moby [Dick]]]"},
		{`{"query": {"match": {"title": "dick"}}, "highlight": {"require_field_match": false, "fields": [{"author": {}}, {"tags": {}}]}}`, "hits.hits.0.highlight", "<nil>"},
		{`{` + whale + `, "highlight": {"fields": {"*": {}}}}`, "hits.hits.0.highlight", "map[tags:[<em>whale</em>] title:[The white <em>whale</em> of the sea]]"},
		{`{` + whale + `, "highlight": {"fields": {"text": {}}}}`, "hits.hits.0.highlight", "<nil>"},
		{`{` + whale + `, "explain": true, "size": 1}`, "hits.hits.0._explanation.description", "sum of:"},
	} {
		answer := n.must(200, "POST /books/_search", c.body)
		if got := fmt.Sprint(at(answer, c.path)); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.body, c.path, got, c.want)
		}
	}
	answer := n.must(200, "POST /books/_search", `{`+whale+`, "explain": true}`)
	if sum := at(answer, "hits.hits.0._explanation.value"); sum != best {
		t.Errorf("explanation of %v, want %v", sum, best)
	}
	typed := n.do("POST /books/_search?typed_keys=true", `{"size": 0, "aggs": {"g": {"global": {}}}}`)
	if !strings.Contains(typed.Body.String(), `"aggregations":{"global#g":{"doc_count":3}}`) {
		t.Errorf("typed keys: %s", typed.Body)
	}
}

func TestSearchOptionErrors(t *testing.T) {
	n := putBooks(t)
	for body, want := range map[string]string{
		`{"aggs": {"a": {"terms": {"field": "title"}}}}`:            "aggregation [a] of type [terms]: field [title] is a text",
		`{"aggs": {"a": {"filter": {"nothing": {}}}}}`:              "unknown query [nothing]",
		`{"aggs": {"a": {"top_hits": {"size": 101}}}}`:              "at most 100",
		`{"aggs": {"a": {"top_hits": {"highlight": {}}}}}`:          "highlight",
		`{"collapse": {"field": "x"}}`:                              "collapse by [x]",
		`{"collapse": {"field": "x", "inner_hits": {}}}`:            "inner_hits",
		`{"highlight": {"fields": {"a": {"boundary_chars": "."}}}}`: "boundary_chars",
		`{"highlight": {}}`:                                         "[fields]",
		`{"min_score": -1}`:                                         "min_score",
		`{"stored_fields": ["title"]}`:                              "stored_fields",
		`{"fields": [{"field": "made", "format": {"a": 1}}]}`:       "[format] {\"a\": 1}: want a text",
		`{"aggs": {"t": {"top_hits": {"size": "x"}}}}`:              "[size]: want a whole number",
		`{"aggs": {"t": {"top_hits": {"track_scores": 1}}}}`:        "[track_scores]: want true or false",
		`{"fields": [{"field": "year", "format": "x"}]}`:            "only supported for one field of type date",
		`{"fields": [{"field": "year", "include_unmapped": true}]}`: "[include_unmapped]",
		`{"profile": true}`:                                         "[profile] is true",
		`{"_source": {"only": []}}`:                                 "[only]",
		`{"sort": [{"title": "asc"}]}`:                              "a text has no column",
		`{"suggest": []}`:                                           "suggest",
	} {
		answer := n.must(400, "POST /books/_search", body)
		if reason, _ := at(answer, "error.reason").(string); !strings.Contains(reason, want) {
			t.Errorf("%s: reason %q, want %q", body, reason, want)
		}
	}
}

// TestFacets: what dashboards and shops ask for.
func TestFacets(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /shop", `{"mappings":{"properties":{"title":{"type":"text","fields":{"keyword":{"type":"keyword"}}},"kind":{"type":"keyword"},"price":{"type":"double"},"made":{"type":"date"},"sold":{"type":"boolean"},"place":{"type":"geo_point"}}}}`)
	for i, source := range []string{
		`{"title": "red shoe", "kind": ["shoe", "red"], "price": 20.5, "made": "2024-01-15", "sold": true, "place": {"lat": 52.5, "lon": 13.4}}`,
		`{"title": "blue shoe", "kind": "shoe", "price": 10, "made": "2024-02-01", "sold": false, "place": "48.8,2.3"}`,
		`{"title": "red hat", "kind": ["hat", "red"], "price": 7, "made": "2023-12-31T23:30:00Z", "place": [0, 51.5]}`,
		`{"title": "nothing"}`,
	} {
		n.must(201, fmt.Sprintf("PUT /shop/_doc/%d", i+1), source)
	}
	n.must(200, "POST /shop/_refresh", "")
	for _, c := range []struct{ body, path, want string }{
		{`{"size": 0, "aggs": {"k": {"terms": {"field": "kind"}}}}`, "aggregations.k.buckets", "[map[doc_count:2 key:red] map[doc_count:2 key:shoe] map[doc_count:1 key:hat]]"},
		{`{"size": 0, "aggs": {"k": {"terms": {"field": "sold"}}}}`, "aggregations.k.buckets", "[map[doc_count:1 key:0 key_as_string:false] map[doc_count:1 key:1 key_as_string:true]]"},
		{`{"size": 0, "aggs": {"k": {"terms": {"field": "title.keyword", "size": 1}}}}`, "aggregations.k.sum_other_doc_count", "3"},
		{`{"size": 0, "aggs": {"m": {"date_histogram": {"field": "made", "calendar_interval": "month", "format": "yyyy-MM", "time_zone": "Europe/Berlin"}}}}`, "aggregations.m.buckets.0", "map[doc_count:2 key:1.7040636e+12 key_as_string:2024-01]"},
		{`{"size": 0, "query": {"term": {"kind": "red"}}, "aggs": {"p": {"stats": {"field": "price"}}}}`, "aggregations.p", "map[avg:13.75 count:2 max:20.5 min:7 sum:27.5]"},
		{`{"size": 0, "aggs": {"f": {"filter": {"term": {"kind": "shoe"}}, "aggs": {"c": {"cardinality": {"field": "kind"}}}}}}`, "aggregations.f.c.value", "2"},
		{`{"sort": [{"price": {"order": "desc", "missing": "_first"}}]}`, "hits.hits.0.sort", "[<nil>]"},
		{`{"sort": [{"made": {"order": "asc", "format": "yyyy-MM-dd"}}]}`, "hits.hits.0.sort", "[2023-12-31]"},
		{`{"sort": [{"_geo_distance": {"place": "52.5,13.4", "unit": "km"}}]}`, "hits.hits.2._id", "3"},
		{`{"sort": "_doc", "_source": false, "fields": ["made", {"field": "made", "format": "yyyy"}]}`, "hits.hits.0.fields", "map[made:[2024-01-15T00:00:00.000Z]]"},
		{`{"sort": "_doc", "docvalue_fields": [{"field": "made", "format": "dd.MM.yyyy"}, "price"]}`, "hits.hits.2.fields", "map[made:[31.12.2023] price:[7]]"},
		{`{"sort": "_doc", "version": true, "seq_no_primary_term": true}`, "hits.hits.3._version", "1"},
		{`{"sort": "_doc", "version": true, "seq_no_primary_term": true}`, "hits.hits.3._seq_no", "3"},
		{`{"query": {"match_all": {}}, "seq_no_primary_term": true, "profile": false}`, "hits.hits.2._primary_term", "1"},
		{`{"query": {"geo_distance": {"distance": "1km", "elsewhere": "1,2", "ignore_unmapped": true}}}`, "hits.total.value", "0"},
		{`{"query": {"function_score": {"random_score": {"seed": 1, "field": "_seq_no"}, "query": {"match_all": {}}}}}`, "hits.total.value", "4"},
		{`{"collapse": {"field": "title.keyword"}, "sort": "price"}`, "hits.hits.0.fields", "map[title.keyword:[red hat]]"},
		{`{"query": {"match": {"title": "red"}}, "post_filter": {"term": {"kind": "hat"}}, "aggs": {"k": {"terms": {"field": "kind", "include": "s.*"}}}}`, "aggregations.k.buckets.0.doc_count", "1"},
	} {
		answer := n.must(200, "POST /shop/_search", c.body)
		if got := fmt.Sprint(at(answer, c.path)); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.body, c.path, got, c.want)
		}
	}
	if got := ids(n.must(200, "POST /shop/_search", `{"sort": ["price"], "search_after": [10]}`)); got != "1 4" {
		t.Errorf("after 10: %s", got)
	}
	if got := at(n.must(200, "GET /shop/_search?version=true&q=hat", ""), "hits.hits.0._version"); got != 1.0 {
		t.Errorf("version %v", got)
	}
	if got := ids(n.must(200, "GET /shop/_search?sort=price:desc,made", "")); got != "1 2 3 4" {
		t.Errorf("sort of a URL: %s", got)
	}
	many := n.must(400, "POST /shop/_search", `{"aggs": {"h": {"histogram": {"field": "price", "interval": 1e-6}}}}`)
	if at(many, "error.type") != "too_many_buckets_exception" {
		t.Errorf("%v", many)
	}
	typed := n.do("POST /shop/_search?typed_keys=true", `{"size": 0, "aggs": {"a": {"terms": {"field": "kind", "size": 1}}, "b": {"terms": {"field": "price", "size": 1}}, "c": {"percentiles": {"field": "price"}}}}`)
	for _, name := range []string{`"sterms#a"`, `"dterms#b"`, `"tdigest_percentiles#c"`} {
		if !strings.Contains(typed.Body.String(), name) {
			t.Errorf("no %s in %s", name, typed.Body)
		}
	}
}

// An answer begins with the numbers as fmt writes them.
func TestBeginningOfAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 3))
	for range 2000 {
		s := searchRequest{totals: rng.IntN(3000) - 1, flat: rng.IntN(2) == 0, from: rng.IntN(2), size: rng.IntN(3)}
		took := time.Duration(rng.Int64N(int64(time.Hour)))
		total := griffin.Total{Value: rng.Int64N(5000), Relation: griffin.TotalExact}
		hits := make([]griffin.Hit, rng.IntN(4))
		best := float64(rng.IntN(2)) // of hits before
		for i := range hits {
			hits[i].Score = float64(rng.Uint32()>>rng.IntN(32)) / (1 << 16)
			best = max(best, hits[i].Score)
		}
		shown := total
		if s.totals >= 0 && total.Value > int64(s.totals) {
			shown = griffin.Total{Value: int64(s.totals), Relation: griffin.TotalAtLeast}
		}
		want := fmt.Sprintf(`x{"took":%d,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{`, took.Milliseconds())
		switch {
		case s.totals == -1:
		case s.flat:
			want += fmt.Sprintf(`"total":%d,`, shown.Value)
		default:
			want += fmt.Sprintf(`"total":{"value":%d,"relation":%q},`, shown.Value, shown.Relation)
		}
		score := "null"
		if s.size > 0 && (len(hits) > 0 || best > 0) {
			text, err := json.Marshal(best)
			if err != nil {
				t.Fatal(err)
			}
			score = string(text)
		}
		want += fmt.Sprintf(`"max_score":%s,"hits":[`, score)
		if got := string(s.begin([]byte("x"), took, total, hits, best)); got != want {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
	}
}

// Fields that take the values of others have highlights of words that are sought in them.
func TestHighlightTakenValues(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /h", `{"mappings": {"properties": {"all": {"type": "text", "analyzer": "simple"}, "t": {"type": "text", "analyzer": "simple", "copy_to": "all",
		"fields": {"en": {"type": "text", "analyzer": "english"}, "raw": {"type": "keyword"}}}}}}`)
	n.must(201, "PUT /h/_doc/1?refresh=true", `{"t": "quick foxes"}`)
	for _, c := range []struct{ query, fields, want string }{
		{`{"match": {"t.en": "fox"}}`, `{"t.en": {}}`, "map[t.en:[quick <em>foxes</em>]]"},
		{`{"match": {"t.en": "fox"}}`, `{"*": {}}`, "map[t.en:[quick <em>foxes</em>]]"},
		{`{"match": {"t.en": "fox"}}`, `{"t": {}}`, "<nil>"},
		{`{"match": {"all": "quick"}}`, `{"all": {}, "t": {}}`, "map[all:[<em>quick</em> foxes]]"},
		{`{"term": {"t.raw": "quick foxes"}}`, `{"t*": {}}`, "map[t.raw:[<em>quick foxes</em>]]"},
		{`{"match": {"t": "foxes"}}`, `{"*": {}}`, "map[t:[quick <em>foxes</em>]]"},
		{`{"match": {"t": "foxes"}}`, `{"all": {"require_field_match": false}}`, "map[all:[quick <em>foxes</em>]]"},
		{`{"query_string": {"query": "quick"}}`, `{"*": {}}`, "map[t:[<em>quick</em> foxes]]"},
		{`{"match": {"t.en": "fox"}}`, `{"t": {"no_match_size": 7}, "t.en": {"no_match_size": 7}, "none": {"no_match_size": 7}}`, "map[t:[quick] t.en:[quick <em>foxes</em>]]"},
		{`{"match_all": {}}`, `{"t*": {"no_match_size": 100}, "all": {"no_match_size": 0}}`, "map[t:[quick foxes] t.en:[quick foxes] t.raw:[quick foxes]]"},
	} {
		got := at(n.must(200, "POST /h/_search", `{"query": `+c.query+`, "highlight": {"fields": `+c.fields+`}}`), "hits.hits.0.highlight")
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s, fields %s: %v, want %s", c.query, c.fields, got, c.want)
		}
	}
}

// The whole text of a field is longer than the part in which passages are sought.
func TestHighlightWholeText(t *testing.T) {
	n := newNode(t)
	text := strings.TrimSpace(strings.Repeat("some words of no interest ", 30<<10)) + " whale"
	n.must(201, "PUT /h/_doc/1?refresh=true", `{"t": "`+text+`"}`)
	got := fmt.Sprint(at(n.must(200, "POST /h/_search", `{"query": {"match": {"t": "interest"}}, "highlight": {"fields": {"t": {"number_of_fragments": 0}}}}`), "hits.hits.0.highlight.t.0"))
	if want := strings.ReplaceAll(text, "interest", "<em>interest</em>"); got != want {
		t.Errorf("%d bytes that end with %.40q, want %d bytes", len(got), got[max(0, len(got)-40):], len(want))
	}
}
