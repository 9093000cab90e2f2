package rest

import (
	"strings"
	"testing"
)

func TestNeuralSparse(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"properties":{"title":{"type":"text"},"kind":{"type":"keyword"},
		"passage":{"type":"sparse_vector"},"heading":{"type":"rank_features","weight_scale":10}}}}`)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"title":"one fox","kind":"x","passage":{"fox":2,"##es":0.5},"heading":{"fox":1}}`)
	n.must(200, "POST /_bulk?refresh=true", `{"index":{"_index":"a","_id":"2"}}
{"title":"two","kind":"y","passage":{"fox":1,"dog":3}}
{"index":{"_index":"a","_id":"3"}}
{"title":"three fox","kind":"y","passage":null,"heading":{"dog":2.04}}
{"index":{"_index":"a","_id":"4"}}
{"title":"bad","passage":[{"fox":1}]}
{"index":{"_index":"a","_id":"5"}}
{"title":"worse","passage":{"fox":-1}}
`)
	n.must(201, "PUT /a/_doc/6?refresh=true", `{"passage":{"fox":600}}`)
	n.must(200, "DELETE /a/_doc/6?refresh=true", "")
	search := func(request string) string {
		return ids(n.must(200, "POST /a/_search", `{"query":`+request+`}`))
	}
	sparse := func(field, tokens string) string {
		return `{"neural_sparse":{"` + field + `":{"query_tokens":` + tokens + `}}}`
	}
	for request, want := range map[string]string{
		sparse("passage", `{"fox":1}`):                                                                              "1 2",
		sparse("passage", `{"fox":1,"dog":0.5}`):                                                                    "2 1",
		sparse("passage", `{"cat":1}`):                                                                              "",
		sparse("heading", `{"dog":1,"fox":1}`):                                                                      "3 1",
		`{"exists":{"field":"passage"}}`:                                                                            "1 2",
		`{"exists":{"field":"heading"}}`:                                                                            "1 3",
		`{"query_string":{"query":"passage:{\"dog\": 2} kind:x"}}`:                                                  "2 1",
		`{"query_string":{"query":"+passage:{\"fox\": 2}^3 +kind:y"}}`:                                              "2",
		`{"multi_match":{"query":"fox","fields":["t*","*i*"]}}`:                                                     "1 3",
		`{"bool":{"must":` + sparse("passage", `{"fox":1}`) + `,"filter":{"term":{"kind":"y"}}}}`:                   "2",
		`{"bool":{"should":[` + sparse("passage", `{"dog":1}`) + `,` + sparse("heading", `{"dog":2}`) + `]}}`:       "3 2",
		`{"bool":{"must":{"match":{"title":"fox"}},"must_not":` + sparse("passage", `{"fox":1}`) + `}}`:             "3",
		`{"neural_sparse":{"passage":{"query_tokens":{"fox":1},"max_token_score":3.5,"boost":2}}}`:                  "1 2",
		`{"dis_max":{"queries":[` + sparse("passage", `{"fox":1}`) + `,` + sparse("heading", `{"dog":0.1}`) + `]}}`: "1 2 3",
	} {
		if got := search(request); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	answer := n.must(200, "POST /a/_search", `{"explain":true,"query":`+sparse("heading", `{"dog":2}`)+`}`)
	if got := at(answer, "hits.hits.0._score"); got != 4.0 { // 2.04 is stored as 20 tenths
		t.Errorf("score %v, want 4", got)
	}
	if details, _ := at(answer, "hits.hits.0._explanation.details.0.description").(string); details != "weight(heading:dog), boost 2 * weight 2" {
		t.Errorf("explanation %q", details)
	}
	answer = n.must(200, "GET /a/_mapping", "")
	if got := at(answer, "a.mappings.properties.heading.type"); got != "rank_features" {
		t.Errorf("type %v", got)
	}
	answer = n.must(200, "GET /a/_doc/1", "")
	if got := at(answer, "_source.passage.##es"); got != 0.5 {
		t.Errorf("_source %v", answer)
	}
	for request, want := range map[string]string{
		`{"neural_sparse":{"passage":{"query_text":"a fox","model_id":"m"}}}`:                    "give [query_tokens]",
		`{"neural_sparse":{"passage":{}}}`:                                                       "needs [query_tokens]",
		`{"neural_sparse":{"passage":{"query_tokens":{"fox":"x"}}}}`:                             "fox",
		`{"neural_sparse":{"passage":{"query_tokens":{"fox":1},"method_parameters":{"cut":1}}}}`: "[method_parameters]",
		sparse("title", `{"fox":1}`):                                                             "[title] is not",
		sparse("nothing", `{"fox":1}`):                                                           "[nothing] is not",
		`{"match":{"passage":"fox"}}`:                                                            "neural_sparse",
		`{"term":{"passage":"fox"}}`:                                                             "neural_sparse",
		`{"prefix":{"passage":"fo"}}`:                                                            "neural_sparse",
		`{"range":{"passage":{"gt":"a"}}}`:                                                       "neural_sparse",
		`{"query_string":{"query":"passage:fox"}}`:                                               "neural_sparse",
		`{"query_string":{"query":"passage:{\"fox\": -1}"}}`:                                     "fox",
		`{"combined_fields":{"query":"x","fields":["title","passage"]}}`:                         "only texts are combined",
		`{"more_like_this":{"like":"fox","fields":["passage"]}}`:                                 "neural_sparse",
	} {
		if w := n.do("POST /a/_search", `{"query":`+request+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant 400 and %s", request, w.Code, w.Body, want)
		}
	}
	for body, want := range map[string]string{
		`{"sort":"passage"}`: "passage", `{"aggs":{"a":{"terms":{"field":"passage"}}}}`: "passage",
		`{"suggest":{"s":{"text":"fox","term":{"field":"passage"}}}}`: "has no terms",
	} {
		if w := n.do("POST /a/_search", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s", body, w.Code, w.Body)
		}
	}
	for _, doc := range []string{`{"passage":"fox"}`, `{"passage":{"fox":"1"}}`, `{"passage":{"fox":1e9}}`, `{"passage":{"":1}}`, `{"passage":5}`} {
		if w := n.do("PUT /a/_doc/9", doc); w.Code != 400 || !strings.Contains(w.Body.String(), "[passage] of type [sparse_vector]") {
			t.Errorf("%s: status %d: %s", doc, w.Code, w.Body)
		}
	}
}
