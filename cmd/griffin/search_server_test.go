package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fake server sees OpenSearch's requests, and its answers become results and exit codes.
func TestServerFlag(t *testing.T) {
	docs := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(docs, []byte(`{"id":"1","title":"One","text":"a <b>","by":["x","y"],"n":1.50,"on":true,"at":{"x":[1,"a"]}}`+"\n"+`{"id":"2","text":"bad"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type exchange struct{ request, body, answer string }
	cells := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(cells, []byte("id,text,price,zip,sold,mixed\n1,one,-2.5,01234,true,1\n2,two,3,10117,false,true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mapping := exchange{"GET /notes/_mapping", "", `{"notes":{"mappings":{"properties":{"by":{"type":"keyword"}}}}}`}
	refresh := exchange{"POST /notes/_refresh", "", `{"_shards":{}}`}
	for _, c := range []struct {
		name, args string
		exchanges  []exchange
		status     int // of the first answer; 0: 200
		code       int
		out        string
	}{
		{"add", "add notes " + docs, []exchange{
			mapping,
			{"POST /notes/_bulk", `{"index":{"_id":"1"}}` + "\n" + `{"at.x":[1,"a"],"by":["x","y"],"n":1.50,"on":true,"text":"a \u003cb\u003e","title":"One"}` + "\n" + `{"index":{"_id":"2"}}` + "\n" + `{"text":"bad"}` + "\n", `{"errors":true,"items":[{"index":{"_id":"1","result":"updated","status":200}},{"index":{"_id":"2","status":400,"error":{"type":"mapper_parsing_exception","reason":"no"}}}]}`},
			refresh,
		}, 0, exitOK, "1 document added"},
		{"CSV to a new index", "add notes " + cells, []exchange{
			{"GET /notes/_mapping", "", `{"error":{"type":"index_not_found_exception","reason":"no such index [notes]"},"status":404}`},
			{"POST /notes/_bulk", `{"index":{"_id":"1"}}` + "\n" + `{"mixed":"1","price":-2.5,"sold":true,"text":"one","zip":"01234"}` + "\n" +
				`{"index":{"_id":"2"}}` + "\n" + `{"mixed":"true","price":3,"sold":false,"text":"two","zip":"10117"}` + "\n", `{"items":[{"index":{"status":201,"result":"created"}},{"index":{"status":201,"result":"created"}}]}`},
			refresh,
		}, 404, exitOK, "2 documents added"},
		{"too many bad records", "add notes --max-errors 0 " + docs, []exchange{
			mapping,
			{"POST /notes/_bulk", "", `{"items":[{"index":{"status":400,"error":{"reason":"no"}}},{"index":{"status":201,"result":"created"}}]}`},
			refresh,
		}, 0, exitInput, ""},
		{"bad name", "add Notes " + docs, []exchange{
			{"GET /Notes/_mapping", "", `{"error":{"type":"index_not_found_exception","reason":"no such index [Notes]"},"status":404}`},
			{"POST /Notes/_bulk", "", `{"errors":true,"items":[{"index":{"status":400,"error":{"type":"invalid_index_name_exception","reason":"must be lowercase"}}},{"index":{"status":400,"error":{"type":"invalid_index_name_exception","reason":"must be lowercase"}}}]}`},
		}, 404, exitInput, ""},
		{"broken item", "add notes " + docs, []exchange{
			mapping,
			{"POST /notes/_bulk", "", `{"errors":true,"items":[{"index":{"_id":"1","result":"updated","status":200}},{"index":{"_id":"2","status":503,"error":{"type":"unavailable_shards_exception","reason":"no"}}}]}`},
			refresh,
		}, 0, exitFailure, ""},
		{"broken first item", "add notes " + docs, []exchange{
			mapping,
			{"POST /notes/_bulk", "", `{"errors":true,"items":[{"index":{"_id":"1","status":503,"error":{"type":"unavailable_shards_exception","reason":"no"}}},{"index":{"_id":"2","result":"updated","status":200}}]}`},
			refresh,
		}, 0, exitFailure, ""},
		{"full disk", "add notes " + docs, []exchange{
			mapping,
			{"POST /notes/_bulk", "", `{"errors":true,"items":[{"index":{"status":429,"error":{"type":"cluster_block_exception","reason":"full"}}},{"index":{"status":429,"error":{"type":"cluster_block_exception","reason":"full"}}}]}`},
			{"POST /notes/_bulk", "", `{"items":[{"index":{"_id":"1","result":"created","status":201}},{"index":{"_id":"2","result":"created","status":201}}]}`},
			refresh,
		}, 0, exitOK, "2 documents added"},
		{"delete", "delete notes 1 2", []exchange{
			{"POST /notes/_bulk", `{"delete":{"_id":"1"}}` + "\n" + `{"delete":{"_id":"2"}}` + "\n", `{"items":[{"delete":{"result":"deleted","status":200}},{"delete":{"result":"not_found","status":404}}]}`},
			refresh,
		}, 0, exitOK, "notes: 1 document deleted, 1 not found"},
		{"dry run by id", "delete notes 1/2 2 1/2 --dry-run", []exchange{
			{"HEAD /notes/_doc/1%2F2", "", ""}, {"HEAD /notes/_doc/2", "", ""},
		}, 0, exitOK, "notes: 2 documents would be deleted, 1 not found"},
		{"dry run without the document", "delete notes 1 --dry-run", []exchange{{"HEAD /notes/_doc/1", "", ""}}, 404, exitOK, "notes: 0 documents would be deleted, 1 not found"},
		{"dry run of a query", "delete notes --query fox --dry-run", []exchange{
			{"POST /notes/_count", `{"query":{"query_string":{"default_operator":"OR","query":"fox"}}}`, `{"count":7}`},
		}, 0, exitOK, "notes: 7 documents would be deleted"},
		{"query", "delete notes --query fox --mode and", []exchange{
			{"POST /notes/_delete_by_query?conflicts=proceed&refresh=true", `{"query":{"query_string":{"default_operator":"AND","query":"fox"}}}`, `{"deleted":7,"failures":[]}`},
		}, 0, exitOK, "notes: 7 documents deleted"},
		{"failures", "delete notes --query fox", []exchange{
			{"POST /notes/_delete_by_query?conflicts=proceed&refresh=true", "", `{"deleted":7,"failures":[{"id":"3"}]}`},
		}, 0, exitFailure, ""},
		{"merge", "merge notes --to 3", []exchange{{"POST /notes/_forcemerge?max_num_segments=3", "", `{"_shards":{}}`}}, 0, exitOK, "/notes: merged in"},
		{"impacts", "impacts notes --ranking atire --k1 1 --b 0.5 --codec raw --bitmap-bits 4", []exchange{
			{"POST /notes/_impacts", `{"b":0.5,"bitmap_bits":4,"codec":"raw","k1":1,"ranking":"atire"}`, `{"ranking":"atire","codec":"raw","num_postings":7}`},
		}, 0, exitOK, "7 postings"},
		{"changed impacts", "impacts notes", []exchange{{"POST /notes/_impacts", "{}", `{"error":{"type":"version_conflict_engine_exception","reason":"changed"},"status":409}`}}, 409, exitFailure, ""},
		{"no index", "merge none", []exchange{{"POST /none/_forcemerge?max_num_segments=1", "", `{"error":{"type":"index_not_found_exception","reason":"no such index [none]"},"status":404}`}}, 404, exitIndex, ""},
		{"no JSON", "merge notes", []exchange{{"POST /notes/_forcemerge?max_num_segments=1", "", "oh"}}, 0, exitFailure, ""},
		{"broken server", "merge notes", []exchange{{"POST /notes/_forcemerge?max_num_segments=1", "", "oh"}}, 500, exitFailure, ""},
		{"get", "get notes 1/2 --json", []exchange{{"GET /notes/_doc/1%2F2", "", `{"found":true,"_source":{"a": 1}}`}}, 0, exitOK, `{"_id":"1/2","a":1}`},
		{"get none", "get notes 1", []exchange{{"GET /notes/_doc/1", "", `{"found":false}`}}, 404, exitInput, ""},
		{"export", "export notes", []exchange{{"GET /notes/_count", "", `{"count":2}`}, {"GET /notes/_export", "", `{"_id":"1"}` + "\n" + `{"_id":"2"}` + "\n"}}, 0, exitOK, `{"_id":"1"}` + "\n" + `{"_id":"2"}` + "\n"},
		{"export of a part", "export notes", []exchange{{"GET /notes/_count", "", `{"count":2}`}, {"GET /notes/_export", "", `{"_id":"1"}` + "\n" + `{"_id":`}}, 0, exitFailure, `{"_id":"1"}` + "\n"},
		{"export of no index", "export none", []exchange{{"GET /none/_count", "", `{"error":{"type":"index_not_found_exception","reason":"no such index [none]"},"status":404}`}}, 404, exitIndex, ""},
		{"settings", "add notes --analyzer simple " + docs, nil, 0, exitUsage, ""},
		{"local flag", "merge notes --dry-run", nil, 0, exitUsage, ""},
		{"name", "merge a/b", nil, 0, exitUsage, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got := r.Method + " " + r.URL.RequestURI()
				if n >= len(c.exchanges) {
					t.Errorf("request %q too many", got)
					return
				}
				want := c.exchanges[n]
				if n++; got != want.request || want.body != "" && string(body) != want.body {
					t.Errorf("request %q with\n%s\nwant %q with\n%s", got, body, want.request, want.body)
				}
				if n == 1 && c.status != 0 {
					w.WriteHeader(c.status)
				}
				_, _ = io.WriteString(w, want.answer)
			}))
			defer server.Close()
			var out, errOut bytes.Buffer
			args := append(strings.Fields(c.args), "--server", server.URL)
			code := realMain(args, terminal{in: strings.NewReader(""), out: &out, err: &errOut})
			if code != c.code || !strings.Contains(out.String(), c.out) || n != len(c.exchanges) {
				t.Errorf("exit code %d, want %d; %d requests, want %d\n%s%s", code, c.code, n, len(c.exchanges), &out, &errOut)
			}
		})
	}
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, mapping.answer)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"error":{"type":"cluster_block_exception","reason":"read-only"},"status":403}`)
	}))
	defer full.Close()
	var once bytes.Buffer
	if code := realMain([]string{"add", "notes", docs, "--server", full.URL}, terminal{in: strings.NewReader(""), out: &once, err: &once}); code != exitFailure || strings.Count(once.String(), "read-only") != 1 {
		t.Errorf("exit code %d, the error is there %d times: %s", code, strings.Count(once.String(), "read-only"), &once)
	}
	var out bytes.Buffer
	if code := realMain([]string{"merge", "notes", "--server", "localhost"}, terminal{out: &out, err: &out}); code != exitUsage {
		t.Errorf("a URL without a scheme: exit code %d", code)
	}
}

// A line end in a cell would end a line of a bulk request.
func TestScalarKind(t *testing.T) {
	for text, want := range map[string]byte{"5": '0', "-1.5e3": '0', "true": 't', "007": '"', "5\n": '"', "5 ": '"', " 5": '"', "": '"', "x": '"', "null": '"'} {
		if got := scalarKind(text); got != want {
			t.Errorf("%q: %c, want %c", text, got, want)
		}
	}
}
