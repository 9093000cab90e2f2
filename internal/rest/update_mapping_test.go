package rest

import (
	"strings"
	"testing"
)

// PUT _mapping changes what OpenSearch lets it change, for documents from then on and for queries.
func TestUpdateMapping(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"properties":{"title":{"type":"text","analyzer":"english"},"body":{"type":"text","analyzer":"english"},
		"kind":{"type":"keyword","ignore_above":3},"all":{"type":"text"},"day":{"type":"date"}}}}`)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"title":"running shoes","body":"a cat","kind":"long kind","day":"2024-01-01"}`)
	search := func(request string) string {
		return ids(n.must(200, "POST /a/_search", `{"query":`+request+`}`))
	}
	n.must(200, "PUT /a/_mapping", `{"properties":{"title":{"type":"text","analyzer":"english","boost":4,"search_analyzer":"simple","fields":{"raw":{"type":"keyword"}}},
		"kind":{"type":"keyword","ignore_above":20},"body":{"type":"text","copy_to":"all"},"all":{"type":"text"},"price":{"type":"long"}}}`)
	n.must(201, "PUT /a/_doc/2?refresh=true", `{"title":"cats","body":"running","kind":"long kind","price":5}`)
	for request, want := range map[string]string{
		`{"match":{"title":"running"}}`:                             "", // simple does not stem
		`{"match":{"title":"run"}}`:                                 "1",
		`{"term":{"kind":"long kind"}}`:                             "2",
		`{"term":{"title.raw":"cats"}}`:                             "2",
		`{"match":{"all":"running"}}`:                               "2",
		`{"match":{"all":"cat"}}`:                                   "",
		`{"range":{"price":{"gte":5}}}`:                             "2",
		`{"multi_match":{"query":"cat","fields":["title","body"]}}`: "2 1",
	} {
		if got := search(request); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	if score := at(n.must(200, "POST /a/_search", `{"query":{"constant_score":{"filter":{"exists":{"field":"day"}}}}}`), "hits.total.value"); score != 1.0 {
		t.Errorf("%v documents with a day", score)
	}
	n.must(200, "POST /a/_flush", "")
	n.must(200, "DELETE /a/_doc/1?refresh=true", "")
	if got := search(`{"term":{"kind":"long kind"}}`); got != "2" {
		t.Errorf("after a deletion: %q", got)
	}
	answer := n.must(200, "GET /a/_mapping", "")
	for path, want := range map[string]any{
		"title.boost": 4.0, "title.search_analyzer": "simple", "title.analyzer": "english", "kind.ignore_above": 20.0, "body.copy_to.0": "all", "title.fields.raw.type": "keyword",
	} {
		if got := at(answer, "a.mappings.properties."+path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"properties":{"title":{"type":"text","analyzer":"simple"}}}`:      "Cannot update parameter [analyzer] from [english] to [simple]",
		`{"properties":{"title":{"type":"keyword"}}}`:                       "mapper [title] cannot be changed from type [text] to [keyword]",
		`{"properties":{"day":{"type":"date","format":"yyyy"}}}`:            "Mapper for [day] conflicts with existing mapper:\\n\\tCannot update parameter [format] from [strict_date_optional_time||epoch_millis] to [yyyy]",
		`{"properties":{"kind":{"type":"keyword","null_value":"none"}}}`:    "Cannot update parameter [null_value] from [null] to [none]",
		`{"properties":{"price":{"type":"long","index":false}}}`:            "Cannot update parameter [index] from [true] to [false]",
		`{"properties":{"price":{"type":"long","doc_values":false}}}`:       "Cannot update parameter [doc_values] from [true] to [false]",
		`{"properties":{"title":{"type":"text","search_analyzer":"none"}}}`: "analyzer [none]",
		`{"properties":{"body":{"type":"text","copy_to":"nothing"}}}`:       "there is no field [nothing]",
	} {
		if w := n.do("PUT /a/_mapping", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant %s", body, w.Code, w.Body, want)
		}
	}
	// Parameters that the update leaves out have their defaults again.
	n.must(200, "PUT /a/_mapping", `{"properties":{"title":{"type":"text","analyzer":"english"}}}`)
	if got := at(n.must(200, "GET /a/_mapping", ""), "a.mappings.properties.title.boost"); got != nil {
		t.Errorf("boost %v", got)
	}
	if got := search(`{"match":{"title":"running"}}`); got != "" { // document 1 is deleted
		t.Errorf("%q", got)
	}
	if got := search(`{"term":{"title.raw":"cats"}}`); got != "2" {
		t.Errorf("the multi-field: %q", got)
	}
}

// A new field copies to one that the index has, and that one copies to a new field.
func TestUpdateCopiesToEarlierFields(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"properties":{"all":{"type":"text"},"kind":{"type":"keyword"}}}}`)
	n.must(200, "PUT /a/_mapping", `{"properties":{"note":{"type":"text","copy_to":"all"},"kind":{"type":"keyword","copy_to":["note","all"]}}}`)
	if w := n.do("PUT /a/_mapping", `{"properties":{"more":{"type":"text","copy_to":"nothing"}}}`); w.Code != 400 || !strings.Contains(w.Body.String(), "there is no field [nothing]") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"note":"whale","kind":"book"}`)
	for _, query := range []string{`{"match":{"all":"whale"}}`, `{"match":{"all":"book"}}`, `{"match":{"note":"book"}}`} {
		if got := at(n.must(200, "POST /a/_search", `{"query":`+query+`}`), "hits.total.value"); got != 1.0 {
			t.Errorf("%s finds %v", query, got)
		}
	}
}
