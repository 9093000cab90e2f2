package rest

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestAdministration(t *testing.T) {
	n := newNode(t)
	if got := at(n.must(200, "GET /", ""), "version.distribution"); got != "opensearch" {
		t.Errorf("distribution %v", got)
	}
	n.must(201, "PUT /a/_doc/1", `{"t":"x"}`)
	n.must(201, "PUT /b/_doc/1?refresh", `{"t":"x"}`)
	if got := at(n.must(200, "POST /_refresh", ""), "_shards.total"); got != 2.0 {
		t.Errorf("%v shards refreshed, want 2", got)
	}
	for _, target := range []string{"POST /a/_flush", "POST /_flush", "POST /a/_forcemerge?max_num_segments=1", "GET /a/_refresh/", "GET /_cluster/health?timeout=1s"} {
		n.must(200, target, "")
	}
	for path, want := range map[string]any{"status": "green", "active_primary_shards": 2.0} {
		if got := at(n.must(200, "GET /_cluster/health", ""), path); got != want {
			t.Errorf("health: %s is %v, want %v", path, got, want)
		}
	}
	lines := strings.Split(n.do("GET /_cat/indices?v", "").Body.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "health status index") || strings.Fields(lines[1])[2] != "a" || strings.Fields(lines[2])[6] != "1" {
		t.Errorf("cat: %q", lines)
	}
	if w := n.do("GET /_cat/indices/b?format=json", ""); !bytes.Contains(w.Body.Bytes(), []byte(`"docs.count":"1"`)) {
		t.Errorf("cat: %s", w.Body)
	}
	pretty := n.do("GET /a/_doc/1?pretty", "").Body.String()
	if !strings.HasPrefix(pretty, "{\n  \"_index\": \"a\"") {
		t.Errorf("pretty: %s", pretty)
	}
	if got := at(n.must(200, "GET /a", ""), "a.mappings.properties.t.fields.keyword.type"); got != "keyword" {
		t.Errorf("mapping of a string: %v", got)
	}
}

func TestUpdate(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct {
		body, result, source string
		status               int
	}{
		{`{"doc":{"a":{"b":1}},"doc_as_upsert":true}`, "created", `{"a":{"b":1}}`, 201},
		{`{"doc":{"a":{"b":1}}}`, "noop", `{"a":{"b":1}}`, 200},
		{`{"doc":{"a":{"b": 1}},"detect_noop":false}`, "updated", `{"a":{"b":1}}`, 200},
		{`{"doc":{"a":{"c":"\u0022x"},"d":[1, 2]}}`, "updated", `{"a":{"b":1,"c":"\u0022x"},"d":[1, 2]}`, 200},
		{`{"doc":{"d":null,"a":{"c":"y"}}}`, "updated", `{"a":{"b":1,"c":"y"},"d":null}`, 200},
	} {
		out := n.must(c.status, "POST /a/_update/1", c.body)
		wrote := 1.0
		if c.result == "noop" {
			wrote = 0
		}
		if out["result"] != c.result || at(out, "_shards.total") != wrote || at(out, "_shards.successful") != wrote {
			t.Errorf("%s: %v, want %s", c.body, out, c.result)
		}
		if w := n.do("GET /a/_doc/1", ""); !strings.Contains(w.Body.String(), `"_source":`+c.source+"}") {
			t.Errorf("%s: %s, want %s", c.body, w.Body, c.source)
		}
	}
	n.must(201, "POST /a/_update/2", `{"doc":{"x":"y"},"upsert":{"z":"0"}}`)
	if w := n.do("GET /a/_doc/2", ""); !strings.Contains(w.Body.String(), `{"z":"0"}`) {
		t.Errorf("upsert: %s", w.Body)
	}
}

func TestVersions(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /a/_doc/1?version=5&version_type=external", "{}")
	n.must(409, "PUT /a/_doc/1?version=5&version_type=external", "{}")
	out := n.must(200, "PUT /a/_doc/1?version=5&version_type=external_gte", "{}")
	if out["_version"] != 5.0 || out["_seq_no"] != 1.0 {
		t.Errorf("external version: %v", out)
	}
	n.must(200, "PUT /a/_doc/1?if_seq_no=1&if_primary_term=1", "{}")
	n.must(409, "PUT /a/_doc/1?if_seq_no=1&if_primary_term=1", "{}")
	n.must(200, "DELETE /a/_doc/1?if_seq_no=2&if_primary_term=1", "")
}

func TestVisibility(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"refresh_interval":"-1"}}`)
	n.must(201, "PUT /a/_doc/1", `{"t":"x"}`)
	n.must(200, "GET /a/_doc/1", "")
	n.must(404, "GET /a/_doc/1?realtime=false", "")
	if got := ids(n.must(200, "GET /a/_search?q=x", "")); got != "" {
		t.Errorf("found %q before a refresh", got)
	}
	n.must(201, "PUT /a/_doc/2?refresh=wait_for", `{"t":"x"}`)
	if got := ids(n.must(200, "GET /a/_search?q=x", "")); got != "1 2" {
		t.Errorf("found %q after wait_for", got)
	}
	for interval, want := range map[time.Duration]time.Duration{-1: time.Second, 0: time.Second, time.Millisecond: time.Millisecond, time.Hour: time.Second} {
		if wait := refreshWait(interval); wait != want {
			t.Errorf("wait_for takes %v with an interval of %v, want %v", wait, interval, want)
		}
	}
}

func TestByQuery(t *testing.T) {
	n := newNode(t)
	for _, id := range []string{"1", "2", "3"} {
		n.must(201, "PUT /a/_doc/"+id+"?refresh=true", `{"t":"word`+id+` all"}`)
	}
	out := n.must(200, "POST /a/_update_by_query?refresh=true", "")
	if out["updated"] != 3.0 || out["total"] != 3.0 {
		t.Errorf("update: %v", out)
	}
	n.must(200, "PUT /a/_doc/2", `{"t":"word2 changed"}`) // not visible yet
	out = n.must(409, "POST /a/_delete_by_query", `{"query":{"match":{"*":"word2"}}}`)
	if out["version_conflicts"] != 1.0 || at(out, "failures.0.cause.type") != typeConflict {
		t.Errorf("conflict: %v", out)
	}
	out = n.must(200, "POST /a/_delete_by_query?conflicts=proceed&refresh=true", `{"query":{"match":{"*":"all"}}}`)
	if out["deleted"] != 2.0 || out["version_conflicts"] != 1.0 {
		t.Errorf("delete: %v", out)
	}
	if got := ids(n.must(200, "GET /a/_search", "")); got != "2" {
		t.Errorf("left %q", got)
	}
}

func TestSearchWindow(t *testing.T) {
	n := newNode(t)
	var body strings.Builder
	for range 25 {
		body.WriteString("{\"index\":{}}\n{\"t\":\"same\"}\n")
	}
	n.must(200, "POST /a/_bulk?refresh=true", body.String())
	for _, c := range []struct {
		body        string
		hits        int
		total, kind any
	}{
		{`{"query":{"match":{"*":"same"}}}`, 10, 25.0, "eq"},
		{`{"query":{"match":{"*":"same"}},"from":20,"size":10}`, 5, 25.0, "eq"},
		{`{"query":{"match":{"*":"same"}},"size":0}`, 0, 25.0, "eq"},
		{`{"query":{"match":{"*":"same"}},"track_total_hits":false}`, 10, nil, nil},
		{`{"query":{"match":{"*":"same"}},"track_total_hits":7}`, 10, 7.0, "gte"},
		{`{"from":24}`, 1, 25.0, "eq"},
		{`{"size":0}`, 0, 25.0, "eq"},
	} {
		out := n.must(200, "POST /a/_search", c.body)
		hits, _ := at(out, "hits.hits").([]any)
		if len(hits) != c.hits || at(out, "hits.total.value") != c.total || at(out, "hits.total.relation") != c.kind {
			t.Errorf("%s: %d hits, total %v", c.body, len(hits), at(out, "hits.total"))
		}
	}
	out := n.must(200, "POST /a/_search?_source=false&size=1&rest_total_hits_as_int=true", "")
	if at(out, "hits.hits.0._source") != nil || at(out, "hits.total") != 25.0 {
		t.Errorf("without sources: %v", out)
	}
}
