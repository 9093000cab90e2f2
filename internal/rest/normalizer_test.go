package rest

import (
	"fmt"
	"strings"
	"testing"
)

// A keyword with a normalizer has its values, and the values of queries, in their normal form; _source keeps them.
func TestNormalizer(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"analysis":{"char_filter":{"amp":{"type":"mapping","mappings":["& => and"]}},
		"normalizer":{"plain":{"type":"custom","char_filter":["amp"],"filter":["lowercase","asciifolding"]}}}},
		"mappings":{"properties":{"name":{"type":"text","fields":{"raw":{"type":"keyword","normalizer":"plain","ignore_above":8}}},
		"code":{"type":"keyword","normalizer":"lowercase"},"exact":{"type":"keyword"}}}}`)
	for i, source := range []string{
		`{"name":"Café","code":["AB-1","ab-2"],"exact":"AB"}`,
		`{"name":"CAFE","code":"Ab-1","exact":"ab"}`,
		`{"name":"R & D","code":"*B?"}`,
		`{"name":"Café au lait","code":"Z"}`, // longer than ignore_above
	} {
		n.must(201, fmt.Sprintf("PUT /a/_doc/%d?refresh=true", i+1), source)
	}
	n.must(200, "DELETE /a/_doc/4?refresh=true", "")
	n.must(201, "PUT /a/_doc/5?refresh=true", `{"name":"Tea","code":"ZZ"}`)
	for request, want := range map[string]string{
		`{"term":{"name.raw":"CAFÉ"}}`:                                   "1 2",
		`{"match":{"name.raw":"cafe"}}`:                                  "1 2",
		`{"terms":{"name.raw":["café","r and d"]}}`:                      "1 2 3",
		`{"term":{"code":"aB-1"}}`:                                       "1 2",
		`{"term":{"exact":"Ab"}}`:                                        "",
		`{"prefix":{"code":"AB"}}`:                                       "1 2",
		`{"prefix":{"name.raw":{"value":"R &"}}}`:                        "3",
		`{"wildcard":{"code":"A?-*"}}`:                                   "1 2",
		`{"wildcard":{"code":"\\*B\\?"}}`:                                "3",
		`{"regexp":{"code":"AB-[12]"}}`:                                  "1 2",
		`{"fuzzy":{"code":{"value":"AB-3"}}}`:                            "1 2",
		`{"range":{"code":{"gte":"AB-2","lt":"B"}}}`:                     "1",
		`{"query_string":{"query":"code:AB-2 OR name.raw:TEA"}}`:         "1 5",
		`{"match_bool_prefix":{"code":"AB-"}}`:                           "1 2",
		`{"multi_match":{"query":"CAFÉ","fields":["name.raw","exact"]}}`: "1 2",
		`{"more_like_this":{"fields":["code"],"like":{"_id":"2"},"min_term_freq":1,"min_doc_freq":1}}`: "1",
	} {
		if got := ids(n.must(200, "POST /a/_search", `{"sort":"_doc","query":`+request+`}`)); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"size":0,"aggs":{"k":{"terms":{"field":"code"}}}}`:                                                   "map[k:map[buckets:[map[doc_count:2 key:ab-1] map[doc_count:1 key:*b?] map[doc_count:1 key:ab-2] map[doc_count:1 key:zz]] doc_count_error_upper_bound:0 sum_other_doc_count:0]]",
		`{"size":0,"query":{"exists":{"field":"name.raw"}},"aggs":{"n":{"cardinality":{"field":"name.raw"}}}}`: "map[n:map[value:3]]",
	} {
		if got := fmt.Sprint(at(n.must(200, "POST /a/_search", body), "aggregations")); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	sorted := n.must(200, "POST /a/_search", `{"sort":[{"name.raw":"desc"}],"highlight":{"fields":{"name.raw":{}}},"query":{"match":{"name.raw":"cafe"}}}`)
	if got := ids(sorted); got != "1 2" || fmt.Sprint(at(sorted, "hits.hits.0.sort")) != "[cafe]" || at(sorted, "hits.hits.0._source.name") != "Café" {
		t.Errorf("%v", sorted)
	}
	if got := at(n.must(200, "POST /a/_analyze", `{"normalizer":"plain","text":"R & É"}`), "tokens.0.token"); got != "r and e" {
		t.Errorf("%v", got)
	}
	if got := at(n.must(200, "POST /a/_analyze", `{"field":"code","text":"AB"}`), "tokens.0.token"); got != "ab" {
		t.Errorf("%v", got)
	}
	if got := at(n.must(200, "GET /a/_mapping", ""), "a.mappings.properties.name.fields.raw.normalizer"); got != "plain" {
		t.Errorf("%v", got)
	}
	suggest := n.must(200, "POST /a/_search", `{"size":0,"suggest":{"a":{"prefix":"CAF","completion":{"field":"name.raw"}},"b":{"text":"AB-3","term":{"field":"code"}}}}`)
	if got := fmt.Sprint(at(suggest, "suggest.a.0.options.0.text"), at(suggest, "suggest.b.0.options.0.text")); got != "cafeab-1" {
		t.Errorf("%v", suggest)
	}
	for body, want := range map[string]string{
		`{"properties":{"code":{"type":"keyword"}}}`:                        "Cannot update parameter [normalizer] from [lowercase] to [null]",
		`{"properties":{"more":{"type":"keyword","normalizer":"nothing"}}}`: "normalizer [nothing] not found for field [more]",
		`{"properties":{"more":{"type":"text","normalizer":"plain"}}}`:      "unknown parameter [normalizer]",
	} {
		if w := n.do("PUT /a/_mapping", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s", body, w.Code, w.Body)
		}
	}
	if w := n.do("PUT /b", `{"settings":{"analysis":{"normalizer":{"n":{"filter":["stop"]}}}}}`); w.Code != 400 || !strings.Contains(w.Body.String(), "may not use filter [stop]") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
