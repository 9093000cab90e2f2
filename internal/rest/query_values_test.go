package rest

import (
	"strings"
	"testing"
)

// A phrase in a field of whole values is a value, also with an unfinished last word, as in OpenSearch.
func TestPhrasesOfValues(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"properties":{"title":{"type":"text"},"kind":{"type":"keyword"},"size":{"type":"integer"},"price":{"type":"double"},"day":{"type":"date"}}}}`)
	n.must(201, "PUT /a/_doc/1", `{"title":"red shoe","kind":"red shoe","size":5,"price":1.5,"day":"2024-05-01"}`)
	n.must(201, "PUT /a/_doc/2?refresh=true", `{"title":"red shoes","kind":"red","size":55,"price":20,"day":"2024-06-01"}`)
	for request, want := range map[string]string{
		`{"match_phrase":{"kind":"red shoe"}}`:                                                                  "1",
		`{"match_phrase":{"kind":"shoe"}}`:                                                                      "",
		`{"match_phrase":{"kind":{"query":"red","slop":3}}}`:                                                    "2",
		`{"match_phrase_prefix":{"kind":"red"}}`:                                                                "2",
		`{"match_phrase_prefix":{"kind":"re"}}`:                                                                 "",
		`{"match_phrase_prefix":{"size":"5"}}`:                                                                  "1",
		`{"match_phrase_prefix":{"title":"red sh"}}`:                                                            "1 2",
		`{"match_bool_prefix":{"kind":"re"}}`:                                                                   "1 2",
		`{"match_phrase":{"day":"2024-05-01"}}`:                                                                 "1",
		`{"match_phrase":{"price":"1.5"}}`:                                                                      "1",
		`{"multi_match":{"query":"red","fields":["kind"],"type":"phrase_prefix"}}`:                              "2",
		`{"multi_match":{"query":"red sh","fields":["kind","title"],"type":"phrase_prefix"}}`:                   "1 2",
		`{"range":{"price":{"from":1.5,"to":20}}}`:                                                              "1 2",
		`{"range":{"price":{"from":1.5,"include_lower":false,"to":null}}}`:                                      "2",
		`{"range":{"day":{"from":"2024-05","to":"2024-06-01","include_upper":false,"format":"yyyy-MM||date"}}}`: "1",
	} {
		if got := sortedIDs(ids(n.must(200, "POST /a/_search", `{"query":`+request+`}`))); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"query":{"match":{"size":{"query":"5","fuzziness":1}}}}`:       "has no terms",
		`{"query":{"match_bool_prefix":{"size":"5"}}}`:                   "has no terms",
		`{"query":{"range":{"price":{"from":1,"gte":2}}}}`:               "both [from] and [gte] or [gt]",
		`{"query":{"range":{"price":{"include_lower":true}}}}`:           "[include_lower] without [from]",
		`{"query":{"terms":{"kind":{"index":"b","id":"1","path":"p"}}}}`: "looks up the terms of a document",
		`{"sort":{"_script":{"type":"number","script":"1"}}}`:            "scripts are not supported",
		`{"sort":[{"price":"desc"},{"_id":"asc"}]}`:                      "_doc, the order in which documents were written",
	} {
		if w := n.do("POST /a/_search", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant %s", body, w.Code, w.Body, want)
		}
	}
}
