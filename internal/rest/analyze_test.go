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
