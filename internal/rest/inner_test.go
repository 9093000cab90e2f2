package rest

import (
	"fmt"
	"strings"
	"testing"
)

func TestInnerHits(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /posts", `{"mappings":{"properties":{"user":{"type":"keyword"},"likes":{"type":"integer"},"text":{"type":"text"}}}}`)
	for i, doc := range []string{
		`{"user":"ann","likes":3,"text":"news"}`, `{"user":"bob","likes":7,"text":"news news news"}`, `{"user":"ann","likes":9,"text":"old news"}`,
		`{"likes":1,"text":"news"}`, `{"user":"ann","likes":4,"text":"nothing"}`,
	} {
		n.must(201, fmt.Sprintf("PUT /posts/_doc/%d?refresh=true", i+1), doc)
	}
	got := n.must(200, "POST /posts/_search", `{"query":{"match":{"text":"news"}},"sort":[{"likes":"desc"}],"collapse":{"field":"user",
		"inner_hits":[{"name":"liked","size":1,"sort":[{"likes":"asc"}],"_source":["likes"]},{"name":"all"}]}}`)
	if ids(got) != "3 2 4" {
		t.Errorf("hits %s", ids(got))
	}
	for path, want := range map[string]any{
		"hits.hits.0.inner_hits.liked.hits.total.value":          2.0,
		"hits.hits.0.inner_hits.liked.hits.total.relation":       "eq",
		"hits.hits.0.inner_hits.liked.hits.max_score":            nil,
		"hits.hits.0.inner_hits.liked.hits.hits.0._id":           "1",
		"hits.hits.0.inner_hits.liked.hits.hits.0._source.likes": 3.0,
		"hits.hits.0.inner_hits.liked.hits.hits.0._source.user":  nil,
		"hits.hits.0.inner_hits.liked.hits.hits.0.sort.0":        3.0,
		"hits.hits.0.inner_hits.liked.hits.hits.1":               nil,
		"hits.hits.0.inner_hits.all.hits.hits.1._source.user":    "ann",
		"hits.hits.1.inner_hits.all.hits.hits.0._id":             "2",
		"hits.hits.2.inner_hits.all.hits.hits.0._id":             "4",
	} {
		if value := at(got, path); value != want {
			t.Errorf("%s is %v, want %v", path, value, want)
		}
	}
	got = n.must(200, "POST /posts/_search", `{"collapse":{"field":"user","inner_hits":{"name":"one","from":1}},"post_filter":{"range":{"likes":{"lt":9}}}}`)
	if total := at(got, "hits.hits.0.inner_hits.one.hits.total.value"); total != 2.0 || at(got, "hits.hits.0.inner_hits.one.hits.hits.0._id") != "5" {
		t.Errorf("inner hits %v", at(got, "hits.hits.0.inner_hits"))
	}
	const options = `"size":1,"highlight":{"pre_tags":["<"],"post_tags":[">"],"fields":{"text":{}}},"fields":["likes"],"_source":false,"explain":true`
	got = n.must(200, "POST /posts/_search", `{"size":3,"_source":false,"query":{"match":{"text":"news"}},"collapse":{"field":"user","inner_hits":{"name":"one","sort":[{"likes":"desc"}],`+options+`}},
		"aggs":{"users":{"terms":{"field":"user"},"aggs":{"best":{"top_hits":{`+options+`,"sort":[{"likes":"desc"}]}}}}}}`)
	for _, path := range []string{"hits.hits.1.inner_hits.one.hits.hits.0", "aggregations.users.buckets.0.best.hits.hits.0"} {
		hit := at(got, path)
		if fmt.Sprint(at(hit, "highlight")) != "map[text:[old <news>]]" || fmt.Sprint(at(hit, "fields")) != "map[likes:[9]]" || at(hit, "_source") != nil || at(hit, "_explanation.description") == nil {
			t.Errorf("%s: %v", path, hit)
		}
	}
	for request, want := range map[string]string{
		`"collapse":{"field":"user","inner_hits":{"size":1}}`:                      "[name]",
		`"collapse":{"field":"user","inner_hits":[{"name":"a"},{"name":"a"}]}`:     "[name]",
		`"collapse":{"field":"user","inner_hits":{"name":"a","collapse":{}}}`:      "[collapse]",
		`"collapse":{"field":"user","inner_hits":{"name":"a","highlight":{}}}`:     "[highlight] needs [fields]",
		`"collapse":{"field":"user","inner_hits":{"name":"a","rescore":{}}}`:       "[rescore]",
		`"aggs":{"t":{"top_hits":{"script_fields":{}}}}`:                           "[script_fields] is not supported",
		`"aggs":{"t":{"top_hits":{"fields":"likes"}}}`:                             "[fields] is",
		`"collapse":{"field":"user","inner_hits":{"name":"a","size":200}}`:         "at most 100",
		`"collapse":{"field":"user","inner_hits":"all"}`:                           "an object or a list",
		`"inner_hits":{"name":"a"}`:                                                "[inner_hits]",
		`"query":{"nested":{"path":"a","query":{"match_all":{}},"inner_hits":{}}}`: "unknown query [nested]",
	} {
		w := n.do("POST /posts/_search", `{`+request+`}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant 400 and %s", request, w.Code, w.Body, want)
		}
	}
}
