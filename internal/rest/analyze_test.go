package rest

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAnalyze(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"settings":{"analyzer":"english"},"mappings":{"properties":{"t":{"type":"text"}}}}`)
	for _, tc := range []struct{ target, body, want string }{
		// From OpenSearch's documentation.
		{"GET /_analyze", `{"analyzer":"standard","text":"OpenSearch text analysis"}`, `[{"end_offset":10,"position":0,"start_offset":0,"token":"opensearch","type":"<ALPHANUM>"},{"end_offset":15,"position":1,"start_offset":11,"token":"text","type":"<ALPHANUM>"},{"end_offset":24,"position":2,"start_offset":16,"token":"analysis","type":"<ALPHANUM>"}]`},
		{"POST /_analyze", `{"text":["first array element","2"]}`, `[{"end_offset":5,"position":0,"start_offset":0,"token":"first","type":"<ALPHANUM>"},{"end_offset":11,"position":1,"start_offset":6,"token":"array","type":"<ALPHANUM>"},{"end_offset":19,"position":2,"start_offset":12,"token":"element","type":"<ALPHANUM>"},{"end_offset":21,"position":102,"start_offset":20,"token":"2","type":"<NUM>"}]`},
		{"POST /ix/_analyze", `{"text":"the Dogs"}`, `[{"end_offset":8,"position":1,"start_offset":4,"token":"dog","type":"<ALPHANUM>"}]`},
		{"POST /ix/_analyze", `{"field":"t","text":"Dogs"}`, `[{"end_offset":4,"position":0,"start_offset":0,"token":"dog","type":"<ALPHANUM>"}]`},
		{"POST /_analyze", `{"analyzer":"code","text":"𝒳 aB"}`, `[{"end_offset":2,"position":0,"start_offset":0,"token":"𝒳","type":"<ALPHANUM>"},{"end_offset":5,"position":1,"positionLength":2,"start_offset":3,"token":"ab","type":"<ALPHANUM>"},{"end_offset":4,"position":1,"start_offset":3,"token":"a","type":"<ALPHANUM>"},{"end_offset":5,"position":2,"start_offset":4,"token":"b","type":"<ALPHANUM>"}]`},
		{"POST /_analyze", `{"tokenizer":"keyword","filter":["uppercase",{"type":"truncate","length":2}],"char_filter":"html_strip","text":"<b>abc</b>"}`, `[{"end_offset":6,"position":0,"start_offset":3,"token":"AB","type":"<ALPHANUM>"}]`},
		{"POST /_analyze", `{"filter":["lowercase"],"text":"A b"}`, `[{"end_offset":3,"position":0,"start_offset":0,"token":"a b","type":"<ALPHANUM>"}]`},
	} {
		answer := n.must(200, tc.target, tc.body)
		got, err := json.Marshal(answer["tokens"])
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(got)); got != tc.want {
			t.Errorf("%s %s:\n got %s\nwant %s", tc.target, tc.body, got, tc.want)
		}
	}
}

func TestAnalyzeErrors(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", "")
	for _, tc := range []struct {
		target, body string
		status       int
		want         string
	}{
		{"POST /_analyze", `{}`, 400, "text is missing"},
		{"POST /_analyze", `[`, 400, "the body"},
		{"POST /_analyze", `{"text":"a","explain":true}`, 400, "the key [explain], which is not supported"},
		{"POST /_analyze", `{"text":1}`, 400, "[text] of [_analyze] is 1"},
		{"POST /_analyze", `{"text":"a","field":"t"}`, 400, "[field] needs an index"},
		{"POST /ix/_analyze", `{"text":"a","field":"t"}`, 400, `no field \"t\"`},
		{"POST /no/_analyze", `{"text":"a"}`, 404, "no such index [no]"},
		{"POST /_analyze", `{"text":"a","analyzer":"klingon"}`, 400, `no analyzer is named \"klingon\"`},
		{"POST /_analyze", `{"text":"a","analyzer":"simple","tokenizer":"keyword"}`, 400, "both [analyzer] and [tokenizer]"},
		{"POST /_analyze", `{"text":"a","analyzer":"simple","filter":["lowercase"]}`, 400, "which have their own"},
		{"POST /_analyze", `{"text":"a","tokenizer":"klingon"}`, 400, "tokenizer [klingon]: there is no tokenizer of type [klingon]"},
		{"POST /_analyze", `{"text":"` + strings.Repeat("a ", 10_001) + `"}`, 400, "exceeded the allowed maximum of [10000]"},
	} {
		w := n.do(tc.target, tc.body)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s %.60s: %d %s, want %d with %s", tc.target, tc.body, w.Code, w.Body, tc.status, tc.want)
		}
	}
}

// Analysis settings, an analyzer for each field, and both after a restart.
func TestAnalysisSettings(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{
		"settings": {"index": {"analysis": {
			"analyzer": {
				"default": {"tokenizer": "standard", "filter": ["lowercase", "places"]},
				"prefixes": {"tokenizer": "keyword", "filter": ["lowercase", {"type": "edge_ngram", "max_gram": 5}]}
			},
			"filter": {"places": {"type": "synonym_graph", "synonyms": ["ny, new york"]}}}}},
		"mappings": {"properties": {
			"place": {"type": "text"},
			"code": {"type": "text", "analyzer": "code"},
			"sku": {"type": "text", "analyzer": "prefixes", "search_analyzer": "keyword", "fields": {"raw": {"type": "keyword"}}}}}}`)
	n.must(201, "PUT /ix/_doc/1?refresh=true", `{"place": "the New York Times", "code": "parseURL", "sku": "AB-1234"}`)
	check := func() {
		t.Helper()
		for query, want := range map[string]float64{
			`{"match": {"place": "ny"}}`:                                      1,
			`{"match_phrase": {"place": "ny times"}}`:                         1,
			`{"match": {"place": {"query": "in ny", "operator": "and"}}}`:     0,
			`{"match": {"code": "url"}}`:                                      1,
			`{"match": {"sku": "ab-1"}}`:                                      1,
			`{"match": {"sku": "b-1"}}`:                                       0,
			`{"term": {"sku.raw": "AB-1234"}}`:                                1,
			`{"query_string": {"query": "code:parse AND sku:ab"}}`:            1,
			`{"match": {"new": {"query": "A b"}}}`:                            0,
			`{"multi_match": {"query": "parse", "fields": ["place","code"]}}`: 1,
		} {
			if got := n.hits("ix", query); got != want {
				t.Errorf("%s: %v hits, want %v", query, got, want)
			}
		}
		tokens, _ := json.Marshal(at(n.must(200, "POST /ix/_analyze", `{"field": "code", "text": "aB"}`), "tokens.0.token"))
		if string(tokens) != `"ab"` {
			t.Errorf("tokens of a field: %s", tokens)
		}
		analysis, _ := json.Marshal(at(n.must(200, "GET /ix", ""), "ix.settings.index.analysis.filter"))
		if string(analysis) != `{"places":{"synonyms":["ny, new york"],"type":"synonym_graph"}}` {
			t.Errorf("settings: %s", analysis)
		}
		sku, _ := json.Marshal(at(n.must(200, "GET /ix/_mapping", ""), "ix.mappings.properties.sku"))
		if string(sku) != `{"analyzer":"prefixes","fields":{"raw":{"type":"keyword"}},"search_analyzer":"keyword","type":"text"}` {
			t.Errorf("mapping: %s", sku)
		}
	}
	n.must(200, "PUT /ix/_mapping", `{"properties": {"new": {"type": "text", "analyzer": "keyword"}, "code": {"type": "text"}}}`)
	check()
	n = n.restart()
	check()
	n.must(200, "PUT /ix/_mapping", `{"properties": {"later": {"type": "text", "analyzer": "prefixes"}, "code": {"type": "text", "analyzer": "code"}}}`)
	n.must(201, "PUT /ix/_doc/2?refresh=true", `{"new": "A b", "later": "xyz"}`)
	for query, want := range map[string]float64{`{"match": {"new": "A b"}}`: 1, `{"match": {"new": "A"}}`: 0, `{"match": {"later": "xy"}}`: 1} {
		if got := n.hits("ix", query); got != want {
			t.Errorf("%s: %v hits, want %v", query, got, want)
		}
	}
	e := n.must(400, "PUT /ix/_mapping", `{"properties": {"code": {"type": "text", "analyzer": "simple"}}}`)
	if reason, _ := at(e, "error.reason").(string); !strings.Contains(reason, "Cannot update parameter [analyzer] from [code] to [simple]") {
		t.Errorf("another analyzer: %v", e)
	}
}
