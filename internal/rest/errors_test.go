package rest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// TestErrors: each request fails with the status and the type of OpenSearch, and a reason that names
// the mistake.
func TestErrors(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"properties":{"title":{"type":"text"}}}}`)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"title":"one"}`)
	for _, c := range []struct {
		target, body string
		status       int
		kind, names  string
	}{
		{"PUT /a", "", 400, "resource_already_exists_exception", "[a]"},
		{"PUT /Upper", "", 400, "invalid_index_name_exception", "lowercase"},
		{"PUT /_x", "", 400, "invalid_index_name_exception", "start with"},
		{"PUT /search", "", 400, "invalid_index_name_exception", "address"},
		{"PUT /b", `{"mappings":{"properties":{"year":{"type":"unsigned_long"}}}}`, 400, "mapper_parsing_exception", "type [unsigned_long] declared on field [year]"},
		{"PUT /b", `{"mappings":{"properties":{"o":{"properties":{"when":{"type":"date_nanos"}}}}}}`, 400, "mapper_parsing_exception", "type [date_nanos] declared on field [o.when]"},
		{"PUT /b", `{"mappings":{"properties":{"t":{"type":"text","analyzer":"klingon"}}}}`, 400, "mapper_parsing_exception", "klingon"},
		{"PUT /b", `{"mappings":{"properties":{"t":{"type":"text","store":true}}}}`, 400, "mapper_parsing_exception", "[store]"},
		{"PUT /b", `{"mappings":{"properties":{"t":{"type":"text","search_analyzer":"vulcan"}}}}`, 400, "mapper_parsing_exception", "vulcan"},
		{"PUT /b", `{"settings":{"analysis":{"filter":{"f":{"type":"length","mim":1}}}}}`, 400, "illegal_argument_exception", "filter [f]: unknown parameter [mim]"},
		{"PUT /b", `{"settings":{"index":{"analysis":{"filter":{"f":{"type":"stop","stopwords_path":"/etc/passwd"}}}}}}`, 400, "illegal_argument_exception", "names a file, which cannot be read here"},
		{"PUT /b", `{"mappings":{"dynamic":"runtime"}}`, 400, "mapper_parsing_exception", "dynamic"},
		{"PUT /b", `{"settings":{"number_of_shards":3}}`, 400, "illegal_argument_exception", "number_of_shards"},
		{"PUT /b", `{"settings":{"index":{"sort.field":"x"}}}`, 400, "illegal_argument_exception", "sort.field"},
		{"PUT /b", `{"settings":{"refresh_interval":"soon"}}`, 400, "illegal_argument_exception", "soon"},
		{"PUT /b", `{"aliases":{}}`, 400, "parsing_exception", "[aliases]"},
		{"PUT /b", `{`, 400, "parsing_exception", ""},
		{"GET /b", "", 404, "index_not_found_exception", "[b]"},
		{"DELETE /b", "", 404, "index_not_found_exception", "[b]"},
		{"POST /b/_refresh", "", 404, "index_not_found_exception", "[b]"},
		{"PUT /a/_create/1", `{}`, 409, "version_conflict_engine_exception", "[1]"},
		{"PUT /a/_doc/1?op_type=create", `{}`, 409, "version_conflict_engine_exception", "already exists"},
		{"PUT /a/_doc/1?op_type=delete", `{}`, 400, "illegal_argument_exception", "delete"},
		{"PUT /a/_doc/1?if_seq_no=7&if_primary_term=1", `{}`, 409, "version_conflict_engine_exception", "seqNo [7]"},
		{"PUT /a/_doc/1?if_seq_no=0&if_primary_term=2", `{}`, 409, "version_conflict_engine_exception", ""},
		{"PUT /a/_doc/1?if_seq_no=0", `{}`, 400, "action_request_validation_exception", "together"},
		{"PUT /a/_doc/1?if_seq_no=x&if_primary_term=1", `{}`, 400, "illegal_argument_exception", "if_seq_no"},
		{"DELETE /a/_doc/1?if_seq_no=7&if_primary_term=1", "", 409, "version_conflict_engine_exception", ""},
		{"PUT /a/_doc/1?version=1&version_type=external", `{}`, 409, "version_conflict_engine_exception", "provided [1]"},
		{"PUT /a/_doc/1?version=1", `{}`, 400, "action_request_validation_exception", "if_seq_no"},
		{"PUT /a/_doc/1?version=1&version_type=force", `{}`, 400, "illegal_argument_exception", "[force]"},
		{"PUT /a/_doc/1?refresh=maybe", `{}`, 400, "illegal_argument_exception", "[maybe]"},
		{"PUT /a/_doc/1?pipeline=p", `{}`, 400, "illegal_argument_exception", "[pipeline]"},
		{"PUT /a/_doc/2", `{"x":`, 400, "mapper_parsing_exception", "'2'"},
		{"PUT /a/_doc/2", `"x"`, 400, "mapper_parsing_exception", "object"},
		{"PUT /a/_doc/2", "{\"x\":\"\xff\"}", 400, "mapper_parsing_exception", "UTF-8"},
		{"PUT /a/_doc/2", strings.Repeat(`{"x":`, 30) + "1" + strings.Repeat("}", 30), 400, "mapper_parsing_exception", "deep"},
		{"PUT /a/_doc/2", "", 400, "parse_exception", "body"},
		{"PUT /a/_doc/" + strings.Repeat("i", 513), "{}", 400, "action_request_validation_exception", "513"},
		{"POST /a/_update/9", `{"doc":{}}`, 404, "document_missing_exception", "[9]"},
		{"POST /a/_update/1", `{"script":"x"}`, 400, "illegal_argument_exception", "script"},
		{"POST /a/_update/1", `{"other":1}`, 400, "x_content_parse_exception", "[other]"},
		{"POST /a/_update/1", `{}`, 400, "action_request_validation_exception", "doc is missing"},
		{"POST /a/_update/1?if_seq_no=9&if_primary_term=1", `{"doc":{"a":"b"}}`, 409, "version_conflict_engine_exception", "seqNo [9]"},
		{"POST /nothing/_update/1", `{"doc":{}}`, 404, "index_not_found_exception", "[nothing]"},
		{"POST /a/_search", `{"aggs":[]}`, 400, "parsing_exception", "[aggs]"},
		{"POST /a/_search", `{"query":{"geo_shape":{}}}`, 400, "parsing_exception", "[geo_shape]: there are bool, boosting"},
		{"POST /a/_search", `{"query":{"bool":{"must":{"span_term":{}}}}}`, 400, "parsing_exception", "[span_term]"},
		{"POST /a/_search", `{"query":{"bool":{"musst":[]}}}`, 400, "parsing_exception", "[bool] query does not support [musst]"},
		{"POST /a/_search", `{"query":{"bool":{"should":[],"minimum_should_match":"x"}}}`, 400, "parsing_exception", "minimum_should_match"},
		{"POST /a/_search", `{"query":{"match":{"body":"x"}}}`, 400, "query_shard_exception", "[body]"},
		{"POST /a/_search", `{"query":{"match":{"title":{"query":"x","fuzziness":3}}}}`, 400, "parsing_exception", "[fuzziness]"},
		{"POST /a/_search", `{"query":{"match":{"title":{"query":"x","analyzer":"simple"}}}}`, 400, "parsing_exception", "[analyzer]"},
		{"POST /a/_search", `{"query":{"dis_max":{}}}`, 400, "parsing_exception", "[queries]"},
		{"POST /a/_search", `{"query":{"boosting":{"positive":{"match_all":{}},"negative":{"match_all":{}}}}}`, 400, "parsing_exception", "[negative_boost]"},
		{"POST /a/_search", `{"query":{"constant_score":{}}}`, 400, "parsing_exception", "[filter]"},
		{"POST /a/_search", `{"query":{"exists":{"field":"body"}}}`, 400, "query_shard_exception", "[body]"},
		{"POST /a/_search", `{"query":{"ids":{"values":{"a":1}}}}`, 400, "parsing_exception", "[values]"},
		{"POST /a/_search", `{"query":{"terms":{"title":["x"],"meta":["y"]}}}`, 400, "parsing_exception", "one field"},
		{"POST /a/_search", `{"query":{"term":{"title":{"value":"x","case_insensitive":"maybe"}}}}`, 400, "parsing_exception", "case_insensitive"},
		{"POST /a/_search", `{"query":{"prefix":{"_id":"x"}}}`, 400, "query_shard_exception", "[_id]"},
		{"POST /a/_search", `{"query":{"regexp":{"title":"(x"}}}`, 400, "illegal_argument_exception", "byte 2: a group is not closed"},
		{"POST /a/_search", `{"query":{"regexp":{"title":{"value":"x","flags":"NONE"}}}}`, 400, "parsing_exception", "flags"},
		{"POST /a/_search", `{"query":{"range":{"title":{"gt":"a","gte":"b"}}}}`, 400, "parsing_exception", "both [gte] and [gt]"},
		{"POST /a/_search", `{"query":{"range":{"title":{"gt":"a","relation":"within"}}}}`, 400, "parsing_exception", "[relation]"},
		{"POST /a/_search", `{"query":{"range":{"title":{"gt":"a","format":"yyyy"}}}}`, 400, "illegal_argument_exception", "no dates"},
		{"POST /a/_search", `{"query":{"multi_match":{"query":"x","fields":["title"],"type":"cross_field"}}}`, 400, "parsing_exception", "cross_fields"},
		{"POST /a/_search", `{"query":{"multi_match":{"query":"x","fields":["title^x"]}}}`, 400, "parsing_exception", "title^x"},
		{"POST /a/_search", `{"query":{"multi_match":{"query":"x","fields":["zz*"]}}}`, 400, "query_shard_exception", "[zz*]"},
		{"POST /a/_search", `{"query":{"simple_query_string":{"query":"x","flags":"AND"}}}`, 400, "parsing_exception", "flags"},
		{"POST /a/_search", `{"query":` + strings.Repeat(`{"constant_score":{"filter":`, 60) + `{"match_all":{}}` + strings.Repeat("}}", 60) + "}", 400, "parsing_exception", "within one another"},
		{"POST /a/_search", `{"query":{"match":{"title":{"query":"x","operator":"xor"}}}}`, 400, "illegal_argument_exception", "[xor]"},
		{"POST /a/_search", `{"query":{"match":{"title":"x","body":"y"}}}`, 400, "parsing_exception", "one key"},
		{"POST /a/_search", `{"query":{"match_phrase":{"title":{"query":"x y","slop":-2}}}}`, 400, "parsing_exception", "slop"},
		{"POST /a/_search", `{"query":{"match_all":{"x":1}}}`, 400, "parsing_exception", "[x]"},
		{"POST /a/_search", `{"query":{"query_string":{"query":"(x"}}}`, 400, "query_shard_exception", "(x"},
		{"POST /a/_search", `{"query":{"query_string":{"query":"body:x"}}}`, 400, "query_shard_exception", "body"},
		{"POST /a/_search", `{"query":{"query_string":{"query":"x","default_field":"body"}}}`, 400, "query_shard_exception", "[body]"},
		{"POST /a/_search", `{"from":9999,"size":2}`, 400, "illegal_argument_exception", "[10001]"},
		{"POST /a/_search", `{"size":20000}`, 400, "illegal_argument_exception", "but was [20000]"},
		{"GET /a/_search?from=9223372036854775807&size=9223372036854775807", "", 400, "illegal_argument_exception", "Result window is too large"},
		{"POST /a/_search", `{"size":-1}`, 400, "illegal_argument_exception", "size"},
		{"POST /a/_search", `{"_source":[1]}`, 400, "parsing_exception", "_source"},
		{"POST /a/_search", `{"track_total_hits":"x"}`, 400, "illegal_argument_exception", "track_total_hits"},
		{"GET /a/_search?scroll=1m", "", 400, "illegal_argument_exception", "[scroll]"},
		{"POST /a/_count", `{"size":1}`, 400, "parsing_exception", "[size]"},
		{"POST /a/_delete_by_query", `{}`, 400, "action_request_validation_exception", "query is missing"},
		{"POST /a/_delete_by_query?conflicts=x", `{"query":{"match_all":{}}}`, 400, "illegal_argument_exception", "[x]"},
		{"POST /a/_update_by_query", `{"script":{}}`, 400, "parsing_exception", "[script]"},
		{"POST /a/_forcemerge?max_num_segments=0", "", 400, "illegal_argument_exception", "max_num_segments"},
		{"GET /_cat/indices?format=yaml", "", 400, "illegal_argument_exception", "yaml"},
		{"GET /_cat/indices/b", "", 404, "index_not_found_exception", "[b]"},
		{"GET /_cluster/health/b", "", 404, "index_not_found_exception", "[b]"},
		{"POST /_bulk", "{}\n", 400, "illegal_argument_exception", "line [1]"},
		{"POST /_bulk", "\n", 400, "action_request_validation_exception", "no requests"},
		{"POST /_bulk", `{"index":{"_index":"a","pipeline":"p"}}` + "\n{}\n", 400, "illegal_argument_exception", "pipeline"},
		{"POST /_bulk", `{"index":{"_index":"a"}}`, 400, "illegal_argument_exception", "missing"},
		{"POST /_bulk", `[{"a":"b"}]` + "\n", 400, "illegal_argument_exception", "line [1]: Malformed action/metadata line: want an object, have: array"},
		{"POST /_bulk", `{"index":{"_index":7}}` + "\n", 400, "illegal_argument_exception", "index._index: want a string, have: number"},
		{"POST /_bulk", `{"index":{"_index":"a","if_seq_no":"x"}}` + "\n", 400, "illegal_argument_exception", "index.if_seq_no: want an integer, have: string"},
		{"POST /_bulk", `{"index":{"_index":"a","require_alias":1}}` + "\n", 400, "illegal_argument_exception", "index.require_alias: want true or false, have: number"},
		{"POST /_bulk", `{"index":{"_index":"a","_id":"2"}}` + "\n{}\nx\n", 400, "illegal_argument_exception", "; none of the operations has taken effect"},
		{"POST /a/_search", `[]`, 400, "parsing_exception", "want an object, have []"},
		{"POST /a/_delete_by_query", "", 400, "action_request_validation_exception", "query is missing"},
		{"POST /a/_mget", `{}`, 400, "illegal_argument_exception", "_mget"},
		{"GET /_search?q=x", "", 400, "illegal_argument_exception", "no handler found for uri [/_search?q=x] and method [GET]; searches are at /NAME/_search"},
		{"GET /a/search?q=x", "", 400, "illegal_argument_exception", "no handler found for uri [/a/search?q=x] and method [GET]; searches are at /NAME/_search"},
		{"GET /?q=x", "", 400, "illegal_argument_exception", "[q]; searches are at /NAME/_search"},
		{"GET /_nodes", "", 400, "illegal_argument_exception", "no handler"},
		{"GET /_aliases?x=y", "", 400, "illegal_argument_exception", "no handler"},
		{"DELETE /_all", "", 400, "illegal_argument_exception", "no handler"},
		{"POST /_x/_search?y=z", "{}", 400, "illegal_argument_exception", "no handler"},
		{"GET /_snapshot/a/b/c?x=y", "", 400, "illegal_argument_exception", "no handler"},
		{"GET /a/_search?x=y", "", 400, "illegal_argument_exception", "unrecognized parameter: [x]"},
	} {
		w := n.do(c.target, c.body)
		if w.Code != c.status || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s %s: status %d, want %d: %s", c.target, c.body, w.Code, c.status, w.Body)
			continue
		}
		answer := n.must(c.status, c.target, c.body)
		reason, _ := at(answer, "error.reason").(string)
		if at(answer, "error.type") != c.kind || at(answer, "error.root_cause.0.type") != c.kind || at(answer, "status") != float64(c.status) || !strings.Contains(reason, c.names) {
			t.Errorf("%s %s: %s, want type %s and a reason with %q", c.target, c.body, w.Body, c.kind, c.names)
		}
	}
	if got := at(n.must(200, "GET /a/_doc/1", ""), "_version"); got != 1.0 {
		t.Errorf("failed writes changed the document: version %v", got)
	}
}

func TestHeadersOfRequests(t *testing.T) {
	n := newNode(t)
	for name, c := range map[string]struct {
		header, value string
		status        int
	}{
		"form":         {"Content-Type", "text/plain", 406},
		"other site":   {"Sec-Fetch-Site", "cross-site", 403},
		"deflate":      {"Content-Encoding", "deflate", 400},
		"no gzip":      {"Content-Encoding", "gzip", 400},
		"with charset": {"Content-Type", "application/json; charset=utf-8", 201},
	} {
		r := httptest.NewRequest(http.MethodPost, "/a/_doc", strings.NewReader(`{"x":"y"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(c.header, c.value)
		w := httptest.NewRecorder()
		n.h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
	}
}

func TestReasonsOfBodies(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /a/_doc/1", "{}")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(`{"index":{"_id":"1"}}` + "\n{}\n"))
	_ = z.Close()
	damaged := bytes.Clone(packed.Bytes())
	damaged[len(damaged)-8] ^= 1
	for _, c := range []struct{ target, body, kind, encoding, want string }{
		{"PUT /a/_doc/2", "{}", "application/x-www-form-urlencoded", "", "send -H 'Content-Type: application/json'"},
		{"POST /a/_bulk", packed.String()[:packed.Len()-12], "application/json", "gzip", "the gzip data is truncated"},
		{"POST /a/_bulk", string(damaged), "application/json", "gzip", "the gzip data is damaged"},
		{"PUT /a/_doc/2", packed.String()[:packed.Len()-4], "application/json", "gzip", "the gzip data is truncated"},
	} {
		method, address, _ := strings.Cut(c.target, " ")
		r := httptest.NewRequest(method, address, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Content-Encoding", c.encoding)
		w := httptest.NewRecorder()
		n.h.ServeHTTP(w, r)
		if w.Code < 400 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: status %d: %s, want %s", c.target, w.Code, w.Body, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{MaxBodyBytes: 4000, MaxDocumentBytes: 1000, MaxWrites: 1})
	large := `{"x":"` + strings.Repeat("y", 2000) + `"}`
	n.must(413, "PUT /a/_doc/1", large)
	n.must(413, "POST /a/_bulk", `{"index":{}}`+"\n"+strings.Repeat("y", 100<<10)+"\n")
	n.must(413, "POST /a/_bulk", strings.Repeat(`{"index":{}}`+"\n{}\n", 500))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(strings.Repeat(`{"index":{"_id":"1"}}`+"\n{}\n", 5000)))
	_ = z.Close()
	r := httptest.NewRequest(http.MethodPost, "/a/_bulk", &packed)
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("Content-Encoding", "gzip")
	w := httptest.NewRecorder()
	n.h.ServeHTTP(w, r)
	if w.Code != 413 {
		t.Errorf("a bomb: status %d: %s", w.Code, w.Body)
	}
	n.h.writes <- struct{}{}
	busy := n.do("PUT /a/_doc/1", "{}")
	if busy.Code != 429 || busy.Header().Get("Retry-After") == "" || !strings.Contains(busy.Body.String(), "rejected_execution_exception") {
		t.Errorf("a write beside the limit: status %d: %s", busy.Code, busy.Body)
	}
	<-n.h.writes
	n.must(201, "PUT /a/_doc/1", "{}")
}

func TestRefusedSearch(t *testing.T) {
	left := 0
	n := openNode(t, t.TempDir(), Options{Admit: func(r *http.Request, multi bool) (func(answered, shed bool), *Error) {
		if multi != strings.HasSuffix(r.URL.Path, "/_msearch") {
			t.Errorf("%s: a multi-search: %t", r.URL, multi)
		}
		if r.URL.Query().Has("q") {
			return nil, TooBusy("too many searches", 0)
		}
		return func(answered, _ bool) {
			if answered {
				left++
			}
		}, nil
	}})
	n.must(201, "PUT /a/_doc/1", "{}")
	n.must(200, "GET /a/_search", "")
	n.must(429, "GET /a/_search?q=x", "")
	n.must(200, "GET /a/_count", "")
	n.must(200, "GET /a/_msearch", "{}\n{}\n")
	if left != 3 {
		t.Errorf("%d searches left, want 3", left)
	}
}

// TestUnusableIndex: one damaged index does not affect the others.
func TestUnusableIndex(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{})
	n.must(201, "PUT /good/_doc/1", "{}")
	n.must(201, "PUT /bad/_doc/1", "{}")
	n.close()
	manifests, err := filepath.Glob(filepath.Join(dir, "bad", "*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(err)
	}
	for _, name := range manifests {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			if err := os.WriteFile(name, []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	n = openNode(t, dir, Options{})
	n.must(200, "GET /good/_doc/1", "")
	n.must(503, "GET /bad/_doc/1", "")
	for name, missing := range map[string]bool{"bad": false, "none": true} {
		if _, err := n.d.Open(name); err == nil || errors.Is(err, griffin.ErrNotFound) != missing {
			t.Errorf("open %s: %v", name, err)
		}
	}
	if got := at(n.must(200, "GET /_cluster/health", ""), "status"); got != "red" {
		t.Errorf("health %v, want red", got)
	}
	n.must(200, "GET /_cat/indices", "")
	out := n.must(200, "GET /_settings", "")
	if good, bad := at(out, "good.settings.index.provided_name"), at(out, "bad.settings.index.provided_name"); good != "good" || bad != "bad" {
		t.Errorf("the settings are of %v and %v", good, bad)
	}
	n.must(503, "GET /bad/_settings", "")
	n.must(503, "GET /bad/_mapping", "")
	n.must(200, "DELETE /bad", "")
	n.must(201, "PUT /bad/_doc/1", "{}")
}

// A path that other methods have is an error that names them.
func TestWrongMethod(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", "")
	for target, allowed := range map[string]string{
		"PUT /a/_doc":            "POST",
		"PATCH /a/_doc/1":        "GET, HEAD, POST, PUT, DELETE",
		"PUT /a/_update/1":       "POST",
		"POST /a":                "GET, HEAD, PUT, DELETE",
		"GET /_bulk":             "POST, PUT",
		"DELETE /_refresh":       "GET, HEAD, POST",
		"GET /a/_forcemerge?x=y": "POST",
		"DELETE /_snapshot/r":    "GET, HEAD, POST, PUT",
	} {
		w := n.do(target, "")
		var answer struct {
			Error  struct{ Type, Reason string }
			Status int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s: %v: %s", target, err, w.Body)
		}
		method, uri, _ := strings.Cut(target, " ")
		want := fmt.Sprintf("Incorrect HTTP method for uri [%s] and method [%s], allowed: [%s]", uri, method, allowed)
		if w.Code != 405 || answer.Status != 405 || w.Header().Get("Allow") != allowed || answer.Error.Type != "illegal_argument_exception" || answer.Error.Reason != want {
			t.Errorf("%s: %d, Allow %q, %+v, want %s", target, w.Code, w.Header().Get("Allow"), answer, want)
		}
	}
}
