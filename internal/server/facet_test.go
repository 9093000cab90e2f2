package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// TestFieldParameters: filters, sorts and facets of an index with a mapping.
func TestFieldParameters(t *testing.T) {
	m, err := griffin.ParseMapping([]byte(`{"properties": {"kind": {"type": "keyword"}, "price": {"type": "long"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(t.TempDir()+"/ix", griffin.Settings{Analyzer: "simple", Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, kind := range []string{"shoe", "hat", "shoe", "coat"} {
		fields := []griffin.Field{{Name: "kind", Value: kind}, {Name: "price", Value: fmt.Sprint(10 * (i % 3))}}
		if err := ix.Add(t.Context(), griffin.Document{ID: fmt.Sprint(i), Text: "red " + kind, Fields: fields}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := New(Options{Index: ix, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, ids, facets string }{
		{"sort=price:desc,_doc", "2 1 0 3", "null"},
		{"filter=kind:shoe&filter=price:[*+TO+10]", "0", "null"},
		{"filter=kind:shoe&filter=&filter=+&filter=price:[*+TO+10]", "0", "null"},
		{"sort=price&k=1&facet=kind=1&facet=price", "0", `{"kind":[{"value":"shoe","count":2}],"price":[{"value":0,"count":2},{"value":10,"count":1},{"value":20,"count":1}]}`},
	} {
		w := get(t, h, "/search?q=red&"+c.query)
		var got searchResponse
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Errorf("%s: status %d, %v: %s", c.query, w.Code, err, w.Body)
			continue
		}
		var ids []string
		for _, hit := range got.Hits {
			ids = append(ids, hit.ID)
			if hit.Score <= 0 || (hit.Sort != nil) != strings.Contains(c.query, "sort") {
				t.Errorf("%s: hit %+v", c.query, hit)
			}
		}
		facets, err := json.Marshal(got.Facets)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(ids, " ") != c.ids || string(facets) != c.facets {
			t.Errorf("%s: hits %v, facets %s; want %s, %s", c.query, ids, facets, c.ids, c.facets)
		}
	}
	for query, want := range map[string]string{
		"facet=kind=0": "want FIELD=N", "facet=nothing": "not in the mapping", "sort=nothing": "No mapping found", "filter=(red": "byte 0", "filter=()": "the filter is empty", "filter=nothing:x": `no field`,
		"sort=price&sort=kind": "given 2 times", strings.Repeat("filter=a&", 21): "more than 20 times",
	} {
		if w := get(t, h, "/search?q=red&"+query); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s, want %q", query, w.Code, w.Body, want)
		}
	}
	if w := get(t, h, "/?q=red&filter=kind:hat"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "filter=kind%3Ahat") {
		t.Errorf("the page drops the filter: status %d", w.Code)
	}
}
