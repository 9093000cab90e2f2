package rest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// After a request has met a damaged file, the health of the index, and of all, is red.
func TestHealthOfDamage(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /a/_doc/1", `{"t":"x"}`)
	n.must(201, "PUT /b/_doc/1", `{"t":"x"}`)
	x, err := n.d.find("b")
	if err != nil {
		t.Fatal(err)
	}
	if names := n.d.Damaged(); len(names) > 0 {
		t.Fatalf("damaged: %q", names)
	}
	if e := n.h.explain(t.Context(), x, fmt.Errorf("postings: %w", griffin.ErrCorrupt)); e.Status != 500 {
		t.Errorf("status %d", e.Status)
	}
	if names := n.d.Damaged(); !slices.Equal(names, []string{"b"}) {
		t.Errorf("damaged: %q", names)
	}
	for target, want := range map[string]string{"/a": "green", "/b": "red", "": "red"} {
		if got := at(n.must(200, "GET /_cluster/health"+target, ""), "status"); got != want {
			t.Errorf("health%s is %v, want %s", target, got, want)
		}
	}
	for target, want := range map[string]float64{"/a": 100, "/b": 0, "": 50} {
		if got := at(n.must(200, "GET /_cluster/health"+target, ""), "active_shards_percent_as_number"); got != want {
			t.Errorf("health%s: %v %% of the shards are active, want %v", target, got, want)
		}
	}
	if cat := n.do("GET /_cat/indices/b", "").Body.String(); !strings.HasPrefix(cat, "red ") {
		t.Errorf("cat: %s", cat)
	}
	n.d.NoteDamage("absent")
	n.d.NoteDamage("a")
	if names := n.d.Damaged(); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("damaged: %q", names)
	}
}

// A merge by request commits, as OpenSearch's does, unless flush=false.
func TestForceMergeFlushes(t *testing.T) {
	n := newNode(t)
	committed := func(index string) int {
		t.Helper()
		ix, err := griffin.Open(filepath.Join(n.d.dir, index), griffin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ix.Close()
		stats, err := ix.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return stats.NumDocs
	}
	n.must(201, "PUT /a/_doc/1", `{"t":"x"}`)
	n.must(200, "POST /a/_forcemerge?flush=false", "")
	if got := committed("a"); got != 0 {
		t.Errorf("%d documents are committed with flush=false", got)
	}
	n.must(200, "POST /a/_forcemerge", "")
	if got := committed("a"); got != 1 {
		t.Errorf("%d documents are committed", got)
	}
	n.must(400, "POST /a/_forcemerge?flush=maybe", "")
}

// The folder of an index that another program makes beside a running server is named in the error.
func TestIndexOfAnotherProgram(t *testing.T) {
	n := newNode(t)
	ix, err := griffin.Create(filepath.Join(n.d.dir, "made"), griffin.Settings{}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ix.Add(t.Context(), griffin.Document{ID: "1", Text: "x"}), ix.Commit(t.Context()), ix.Close()); err != nil {
		t.Fatal(err)
	}
	for target, body := range map[string]string{"PUT /made": "", "PUT /made/_doc/1": `{"t":"x"}`} {
		out := n.must(400, target, body)
		if kind, reason := at(out, "error.type"), fmt.Sprint(at(out, "error.reason")); kind != typeExists || !strings.Contains(reason, "another program") {
			t.Errorf("%s: %v, %s", target, kind, reason)
		}
	}
}

// A document cannot have what OpenSearch knows about it as a field: an export of it would have the name twice.
func TestMetadataFields(t *testing.T) {
	n := newNode(t)
	for body, want := range map[string]string{
		`{"_id":"other","t":"x"}`: "Field [_id] is a metadata field and cannot be added inside a document",
		`{"t":"x","_version":3}`:  "Field [_version] is a metadata field",
		`{"":1}`:                  "a field name cannot be an empty string",
		`{"o":{"":1}}`:            "a field name cannot be an empty string",
		`{"o":[{"":1}]}`:          "a field name cannot be an empty string",
	} {
		if reason := fmt.Sprint(at(n.must(400, "PUT /a/_doc/1", body), "error.reason")); !strings.Contains(reason, want) {
			t.Errorf("%s: %s", body, reason)
		}
	}
	n.must(201, "PUT /a/_doc/1", `{"o":{"_id":"x"},"_other":1}`)
	bulk := n.must(200, "POST /a/_bulk", "{\"index\":{\"_id\":\"2\"}}\n{\"_id\":\"2\"}\n{\"index\":{\"_id\":\"3\"}}\n{\"t\":\"y\"}\n")
	if first, second := at(bulk, "items.0.index.status"), at(bulk, "items.1.index.status"); first != 400.0 || second != 201.0 {
		t.Errorf("bulk: %v and %v", first, second)
	}
}

// An unknown field before a blank chooses no documents to delete.
func TestDeleteByUnknownField(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"title":"old tent"}`)
	for _, target := range []string{"POST /a/_delete_by_query?q=titel:%20tent", "GET /a/_search?q=titel:%20tent"} {
		if reason := fmt.Sprint(at(n.must(400, target, ""), "error.reason")); !strings.Contains(reason, `no field "titel"`) {
			t.Errorf("%s: %s", target, reason)
		}
	}
	n.must(400, "POST /a/_search", `{"query":{"query_string":{"query":"titel: tent"}}}`)
	n.must(200, "POST /a/_search", `{"query":{"query_string":{"query":"titel: tent","lenient":true}}}`)
	if n := at(n.must(200, "GET /a/_count", ""), "count"); n != 1.0 {
		t.Errorf("%v documents are left", n)
	}
}

// The error of an object in a field of another type says so.
func TestObjectInField(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /a/_doc/1", `{"n":5}`)
	if reason := fmt.Sprint(at(n.must(400, "PUT /a/_doc/2", `{"n":{}}`), "error.reason")); !strings.HasSuffix(reason, "Preview of field's value: '{}': it is an object") {
		t.Error(reason)
	}
}
