package rest

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

func TestPathFilter(t *testing.T) {
	const text = `{"took":1,"hits":{"total":{"value":2,"relation":"eq"},"hits":[{"_id":"a","_source":{"title":"x","meta":{"by":"y"}}},{"_id":"b","_source":{}}]},"list":[1,[2,3],{}],"_shards":{"total":1},"v.1":{"x":[],"y":{"z":{"z":3}}}}`
	for paths, want := range map[string]string{
		"took":                          `{"took":1}`,
		"took,hits.total":               `{"took":1,"hits":{"total":{"value":2,"relation":"eq"}}}`,
		"hits.hits._id":                 `{"hits":{"hits":[{"_id":"a"},{"_id":"b"}]}}`,
		"hits.hits._source":             `{"hits":{"hits":[{"_source":{"title":"x","meta":{"by":"y"}}},{"_source":{}}]}}`,
		"hits.hits._source.t*":          `{"hits":{"hits":[{"_source":{"title":"x"}}]}}`,
		"*.total":                       `{"hits":{"total":{"value":2,"relation":"eq"}},"_shards":{"total":1}}`,
		"**.by":                         `{"hits":{"hits":[{"_source":{"meta":{"by":"y"}}}]}}`,
		"hits.**.value,_shards":         `{"hits":{"total":{"value":2}},"_shards":{"total":1}}`,
		"list":                          `{"list":[1,[2,3],{}]}`,
		"list.x":                        `{}`,
		"nothing":                       `{}`,
		"-hits,-list,-_shards.t*":       `{"took":1,"v.1":{"x":[],"y":{"z":{"z":3}}}}`,
		"-hits.hits._source,-hits.t*":   `{"took":1,"hits":{"hits":[{"_id":"a"},{"_id":"b"}]},"list":[1,[2,3],{}],"_shards":{"total":1},"v.1":{"x":[],"y":{"z":{"z":3}}}}`,
		"hits.hits,-hits.hits._source":  `{"hits":{"hits":[{"_id":"a"},{"_id":"b"}]}}`,
		"hits.hits,-**.meta":            `{"hits":{"hits":[{"_id":"a","_source":{"title":"x"}},{"_id":"b","_source":{}}]}}`,
		"_shards,-_shards.total":        `{}`,
		"**":                            text,
		"-**":                           `{}`,
		" took , list.x":                `{"took":1}`,
		"**.**.by":                      `{"hits":{"hits":[{"_source":{"meta":{"by":"y"}}}]}}`,
		"hits.**.*.**.by,hits.**.**":    `{"hits":{"total":{"value":2,"relation":"eq"},"hits":[{"_id":"a","_source":{"title":"x","meta":{"by":"y"}}},{"_id":"b","_source":{}}]}}`,
		`v\.1.x,-v.1`:                   `{"v.1":{"x":[]}}`,
		`-hits,-list,-v\.*`:             `{"took":1,"_shards":{"total":1}}`,
		"hits.total.value,hits.total.*": `{"hits":{"total":{"value":2,"relation":"eq"}}}`,
	} {
		f, err := newPathFilter(paths)
		if err != nil {
			t.Fatal(err.Reason)
		}
		if got := string(f.apply([]byte(text + "\n"))); got != want+"\n" {
			t.Errorf("%s: %s want %s", paths, got, want)
		}
	}
	for _, bad := range []string{"", "a,", "a..b", ".a", "-", "a,-"} {
		if _, err := newPathFilter(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

var testsBegan = time.Now()

// threadTime is the processor time of the thread, so that other load does not count, or else the time.
func threadTime() time.Duration {
	if d, ok := latency.ThreadTime(); ok {
		return d
	}
	return time.Since(testsBegan)
}

// The time is proportional to the text and to the filter, whatever the depth and the number of **.
func TestPathFilterTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const depth = 9000
	deep := strings.Repeat(`{"a":[`, depth/2) + `"` + strings.Repeat("x", 4<<20) + `"` + strings.Repeat(`]}`, depth/2)
	for paths, want := range map[string]string{
		strings.Repeat("**.*.", 30) + "b": "{}",
		strings.Repeat("**.", 1000) + "b": "{}",
		"-" + strings.Repeat("**.", 100) + "b,-b," + strings.Repeat("-**.*.a.b,", 20) + "-c": deep,
	} {
		f, err := newPathFilter(paths)
		if err != nil {
			t.Fatal(err.Reason)
		}
		began := threadTime()
		if got := string(f.apply([]byte(deep))); got != want+"\n" {
			t.Errorf("%.40s: %.80s", paths, got)
		}
		if took := threadTime() - began; took > 20*time.Second {
			t.Errorf("%.40s takes %v", paths, took)
		}
	}
	if _, err := newPathFilter(strings.Repeat("a,", maxFilterPath/2) + "a"); err == nil {
		t.Error("a long filter is no error")
	}
}

func TestFilterPath(t *testing.T) {
	n := newNode(t)
	if got, want := strings.TrimSpace(n.do("PUT /a/_doc/1?refresh=true&filter_path=result,_shards.failed", `{"t":"x"}`).Body.String()), `{"result":"created","_shards":{"failed":0}}`; got != want {
		t.Errorf("%s want %s", got, want)
	}
	for target, want := range map[string]string{
		"GET /a/_search?q=x&filter_path=hits.hits._id":    `{"hits":{"hits":[{"_id":"1"}]}}`,
		"GET /a/_doc/1?filter_path=_*,-_source,-_index":   `{"_id":"1","_version":1,"_seq_no":0,"_primary_term":1}`,
		"GET /a/_doc/1?filter_path=&_source=false":        `{"_index":"a","_id":"1","_version":1,"_seq_no":0,"_primary_term":1,"found":true}`,
		"GET /_cat/indices?format=json&filter_path=index": `[{"index":"a"}]`,
		"GET /a/_search?q=x&filter_path=nothing":          `{}`,
	} {
		if got := strings.TrimSpace(n.do(target, "").Body.String()); got != want {
			t.Errorf("%s: %s want %s", target, got, want)
		}
	}
	for _, target := range []string{"POST /a/_doc?filter_path=a..b", "GET /a/_export?filter_path=_id", "GET /_cat/indices?filter_path=index"} {
		if w := n.do(target, ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "filter_path") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	n.must(404, "GET /b/_doc/1?filter_path=error", "")
}
