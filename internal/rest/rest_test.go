package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
)

// node is a directory with its API.
type node struct {
	t   testing.TB
	dir string
	d   *Directory
	h   *Handler
}

func openNode(t testing.TB, dir string, o Options) *node {
	t.Helper()
	return openNodeOn(t, dir, o, griffin.RuntimeOptions{})
}

func openNodeOn(t testing.TB, dir string, o Options, r griffin.RuntimeOptions) *node {
	t.Helper()
	runtime, err := griffin.NewRuntime(r)
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenDirectory(t.Context(), dir, DirectoryOptions{Index: griffin.Options{Runtime: runtime}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	o.Directory, o.Logger, o.Timeout = d, slog.New(slog.DiscardHandler), 10*time.Minute // for slow machines
	n := &node{t: t, dir: dir, d: d, h: New(o)}
	t.Cleanup(func() {
		n.close()
		if err := runtime.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func newNode(t testing.TB) *node {
	t.Helper()
	return openNode(t, t.TempDir(), Options{})
}

// The limit of a directory is the one of each writer: a merge of about 1 MB takes its time.
func TestMergeLimit(t *testing.T) {
	n := newNode(t)
	n.d.options.MergeBytesPerSecond = 1 << 20
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 2 {
		text := make([]byte, 50<<10)
		for j := range text {
			text[j] = "abcdefghijklmnopqrstuvwxyz     "[rng.IntN(31)]
		}
		n.must(201, fmt.Sprintf("PUT /a/_doc/%d?refresh=true", i), fmt.Sprintf(`{"text":%q}`, text))
	}
	began := time.Now()
	n.must(200, "POST /a/_forcemerge?max_num_segments=1", "")
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("the merge took %v", took)
	}
}

func (n *node) close() {
	if err := n.d.Close(context.Background()); err != nil {
		n.t.Error(err)
	}
}

// do sends a request; target is a method and an address.
func (n *node) do(target, body string) *httptest.ResponseRecorder {
	method, address, _ := strings.Cut(target, " ")
	r := httptest.NewRequest(method, address, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	n.h.ServeHTTP(w, r)
	return w
}

// must sends a request that must have the status, and returns its answer.
func (n *node) must(status int, target, body string) map[string]any {
	n.t.Helper()
	w := n.do(target, body)
	if w.Code != status {
		n.t.Fatalf("%s %s: status %d, want %d: %s", target, body, w.Code, status, w.Body)
	}
	var out map[string]any
	if w.Body.Len() > 0 && w.Body.Bytes()[0] == '{' {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			n.t.Fatalf("%s: %v: %s", target, err, w.Body)
		}
	}
	return out
}

// at returns the part of an answer at a dotted path; numbers are indexes of lists.
func at(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i := int(key[0] - '0')
			if i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// ids of the hits of a search.
func ids(answer map[string]any) string {
	var out []string
	hits, _ := at(answer, "hits.hits").([]any)
	for _, h := range hits {
		id, _ := at(h, "_id").(string)
		out = append(out, id)
	}
	return strings.Join(out, " ")
}

func TestDocuments(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /books", `{"mappings":{"properties":{"title":{"type":"text","analyzer":"english"},"meta":{"properties":{"author":{"type":"text"}}}}}}`)
	source := "{ \"title\" : \"Moby\\u0020Dick\", \"year\": 1851,\n\t\"tags\":[\"whale\",[\"ship\"]], \"meta\":{\"author\":\"Herman Melville\"},\"x\":null , \"e\":1e3}"
	created := n.must(201, "PUT /books/_doc/1?refresh=true", source)
	for path, want := range map[string]any{"_index": "books", "_id": "1", "_version": 1.0, "result": "created", "_seq_no": 0.0, "_primary_term": 1.0, "_shards.successful": 1.0, "forced_refresh": true} {
		if got := at(created, path); got != want {
			t.Errorf("created: %s is %v, want %v", path, got, want)
		}
	}
	for _, target := range []string{"GET /books/_doc/1", "GET /books/_doc/1?realtime=false", `GET /books/_search?q=whale`, "GET /books/_search"} {
		w := n.do(target, "")
		if !bytes.Contains(w.Body.Bytes(), []byte(`"_source":`+source)) {
			t.Errorf("%s: the source is not identical: %s", target, w.Body)
		}
	}
	for query, want := range map[string]string{
		`{"match":{"title":"dick"}}`:                                        "1",
		`{"match":{"title":"whale"}}`:                                       "",
		`{"match":{"meta.author":{"query":"melville x","operator":"or"}}}`:  "1",
		`{"match":{"meta.author":{"query":"melville x","operator":"and"}}}`: "",
		`{"match":{"*":"ships"}}`:                                           "1",
		`{"match_phrase":{"meta.author":"herman melville"}}`:                "1",
		`{"match_phrase":{"meta.author":"melville herman"}}`:                "",
		`{"query_string":{"query":"+whale -zebra"}}`:                        "1",
		`{"query_string":{"query":"herman","default_field":"meta.author"}}`: "1",
		`{"query_string":{"query":"herman","default_field":"title"}}`:       "",
		`{"match_all":{}}`: "1",
	} {
		if got := ids(n.must(200, "POST /books/_search", `{"query":`+query+`}`)); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	n.must(200, "PUT /books/_doc/1", `{"title":"other"}`)
	if got := at(n.must(200, "GET /books/_doc/1", ""), "_version"); got != 2.0 {
		t.Errorf("version %v after two writes", got)
	}
	n.must(200, "DELETE /books/_doc/1", "")
	n.must(404, "DELETE /books/_doc/1", "")
	n.must(404, "GET /books/_doc/1", "")
	n.must(404, "HEAD /books/_doc/1", "")
}

func TestGeneratedIDAndAutoCreate(t *testing.T) {
	n := newNode(t)
	out := n.must(201, "POST /logs/_doc", `{"message":"hello"}`)
	id, _ := out["_id"].(string)
	if len(id) != 20 {
		t.Errorf("id %q", id)
	}
	n.must(200, "HEAD /logs/_doc/"+id, "")
	n.must(200, "HEAD /logs", "")
	n.must(404, "HEAD /nothing", "")
	n.must(404, "DELETE /nothing/_doc/1", "")
	n.must(404, "GET /nothing/_search", "")
}

func TestBulkOperations(t *testing.T) {
	n := newNode(t)
	body := `{"index":{"_index":"a","_id":"1"}}
{"t":"one"}
{"create":{"_index":"a","_id":"1"}}
{"t":"two"}
{"update":{"_index":"a","_id":"1"}}
{"doc":{"u":"three"}}
{"update":{"_index":"a","_id":"1"}}
{"doc":{"u":"three"}}
{"delete":{"_index":"a","_id":"1"}}
{"delete":{"_index":"a","_id":"1"}}
{"index":{"_index":"b","_id":7}}
{"t":"seven"}
{"index":{"_index":"Bad","_id":"1"}}
{"t":"x"}
{"index":{"_index":"a","_id":"2"}}
[1]
{"update":{"_index":"a","_id":"9"}}
{"doc":{}}
{"index":{"_index":"a"}}
{"t":"last"}`
	out := n.must(200, "POST /_bulk?refresh=true", body)
	want := []struct {
		op     string
		status float64
		result any
	}{
		{"index", 201, "created"},
		{"create", 409, nil},
		{"update", 200, "updated"},
		{"update", 200, "noop"},
		{"delete", 200, "deleted"},
		{"delete", 404, "not_found"},
		{"index", 201, "created"},
		{"index", 400, nil},
		{"index", 400, nil},
		{"update", 404, nil},
		{"index", 201, "created"},
	}
	items, _ := out["items"].([]any)
	if len(items) != len(want) || out["errors"] != true {
		t.Fatalf("%d items, errors %v: %v", len(items), out["errors"], out)
	}
	for i, w := range want {
		item := at(items[i], w.op)
		if at(item, "status") != w.status || at(item, "result") != w.result {
			t.Errorf("item %d: %v, want %+v", i, items[i], w)
		}
		if shards := at(item, "_shards.total"); w.result != nil && shards != map[bool]float64{true: 0, false: 1}[w.result == "noop"] {
			t.Errorf("item %d: %v shards", i, shards)
		}
		if w.result == nil && at(item, "error.type") == nil {
			t.Errorf("item %d has no error: %v", i, item)
		}
	}
	if got := at(n.must(200, "GET /a/_count", ""), "count"); got != 1.0 {
		t.Errorf("count %v, want 1", got)
	}
	if got := ids(n.must(200, "GET /b/_search?q=seven", "")); got != "7" {
		t.Errorf("b has %q", got)
	}
	for _, route := range []string{"GET /b/_search", "GET /b/_count", "POST /b/_delete_by_query"} {
		n.must(400, route+"?q=seven%FF", "")
	}
}

var _ http.Handler = (*Handler)(nil)
