package rest

import (
	"encoding/json"
	"fmt"
	"testing"
)

// exists of an object means any of its fields, as in OpenSearch.
func TestExistsInObjects(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"mappings":{"properties":{"o":{"properties":{"a":{"type":"keyword"},"b":{"properties":{"c":{"type":"long"}}},"t":{"type":"text"},"no":{"type":"long","index":false,"doc_values":false}}},"ob":{"type":"long"},"name":{"type":"text","fields":{"raw":{"type":"keyword"}}}}}}`)
	for i, source := range []string{`{"o":{"a":"x"}}`, `{"o":{"b":{"c":1}}}`, `{"o":{"t":"words"},"ob":1}`, `{"ob":2}`, `{"name":"n"}`, `{"o":{"no":1}}`} {
		n.must(201, fmt.Sprintf("PUT /ix/_doc/%d?refresh=true", i), source)
	}
	for query, want := range map[string]string{
		`{"exists":{"field":"o"}}`:           "[0 1 2] 1",
		`{"exists":{"field":"o","boost":3}}`: "[0 1 2] 3",
		`{"exists":{"field":"o.b"}}`:         "[1] 1",
		`{"exists":{"field":"o*"}}`:          "[0 1 2 3] 1",
		`{"exists":{"field":"ob"}}`:          "[2 3] 1",
		`{"exists":{"field":"name*"}}`:       "[4] 1",
		`{"bool":{"must_not":[{"exists":{"field":"o"}}],"must":{"match_all":{}}}}`: "[3 4 5] 1",
		`{"query_string":{"query":"_exists_:o"}}`:                                  "[0 1 2] 1",
		`{"query_string":{"query":"_exists_:o.b^2 OR name:zzz"}}`:                  "[1] 2",
		`{"query_string":{"query":"+ob:>0 -_exists_:o"}}`:                          "[3] 1",
	} {
		ids, score := []any{}, any(nil)
		for _, h := range n.must(200, "POST /ix/_search", `{"query":`+query+`}`)["hits"].(map[string]any)["hits"].([]any) {
			hit := h.(map[string]any)
			ids, score = append(ids, hit["_id"]), hit["_score"]
		}
		if got := fmt.Sprint(ids, " ", score); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, field := range []string{"none", "z*", "name.raw.x", "o.no"} {
		text, _ := json.Marshal(field)
		n.must(400, "POST /ix/_search", `{"query":{"exists":{"field":`+string(text)+`}}}`)
	}
}
