package rest

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each option is accepted or refused alike in the address of _search and _msearch and in the header of a search.
func TestSearchParameters(t *testing.T) {
	n := putBooks(t)
	const whale = `{"query":{"match":{"title":"whale"}}}`
	const boolean, single = "only [true] or [false] are allowed", "want a single value"
	onlySearch := []string{"preference", "request_cache", "allow_partial_search_results"} // in an address
	for _, c := range []struct {
		name, value string // of the address; "-": the header alone
		json        string // of the header
		fault       string // "": none
	}{
		{"search_type", "query_then_fetch", `"query_then_fetch"`, ""},
		{"search_type", "dfs_query_then_fetch", `"dfs_query_then_fetch"`, ""},
		{"search_type", "nonsense", `"nonsense"`, "No search type for [nonsense]"},
		{"search_type", "", `""`, "No search type for []"},
		{"search_type", "-", `["query_then_fetch"]`, single},
		{"expand_wildcards", "open,hidden", `"open,hidden"`, ""},
		{"expand_wildcards", "all", `["open","closed","none","all"]`, ""},
		{"expand_wildcards", "5", `5`, "No valid expand wildcard value [5]"},
		{"expand_wildcards", "open,x", `["open","x"]`, "No valid expand wildcard value [x]"},
		{"expand_wildcards", "-", `[5]`, single},
		{"ccs_minimize_roundtrips", "true", `true`, ""},
		{"ccs_minimize_roundtrips", "false", `"false"`, ""},
		{"ccs_minimize_roundtrips", "yes", `"yes"`, boolean},
		{"allow_partial_search_results", "true", `true`, ""},
		{"allow_partial_search_results", "1", `1`, boolean},
		{"ignore_throttled", "false", `false`, ""},
		{"ignore_throttled", "no", `"no"`, boolean},
		{"ignore_unavailable", "true", `true`, ""},
		{"ignore_unavailable", "2", `2`, boolean},
		{"allow_no_indices", "false", `false`, ""},
		{"allow_no_indices", "x", `"x"`, boolean},
		{"request_cache", "true", `true`, ""},
		{"request_cache", "on", `"on"`, boolean},
		{"request_cache", "-", `{}`, single},
		{"preference", "_local", `"_local"`, ""},
		{"routing", "7", `7`, ""},
		{"routing", "-", `["a"]`, single},
		{"cancel_after_time_interval", "30s", `"30s"`, ""},
		{"cancel_after_time_interval", "100micros", `"100micros"`, ""},
		{"cancel_after_time_interval", "-1", `-1`, ""},
		{"cancel_after_time_interval", "30", `30`, "failed to parse [cancel_after_time_interval] with value [30]"},
		{"cancel_after_time_interval", "soon", `"soon"`, "failed to parse [cancel_after_time_interval] with value [soon]"},
		{"search_type", "-", `null`, ""},
	} {
		t.Run(c.name+"="+c.value+" "+c.json, func(t *testing.T) {
			header := fmt.Sprintf(`{"index":"books",%q:%s}`, c.name, c.json)
			requests := map[string]string{"POST /_msearch": header + "\n" + whale + "\n"}
			if c.value != "-" {
				parameter := "?" + c.name + "=" + url.QueryEscape(c.value)
				requests["POST /books/_search"+parameter] = whale
				if !slices.Contains(onlySearch, c.name) {
					requests["POST /books/_msearch"+parameter] = "{}\n" + whale + "\n"
				}
			}
			for target, body := range requests {
				w := n.do(target, body)
				switch {
				case c.fault == "" && (w.Code != 200 || !strings.Contains(w.Body.String(), `"_id":"2"`)):
					t.Errorf("%s %s: status %d: %s", target, body, w.Code, w.Body)
				case c.fault != "" && (w.Code != 400 || !strings.Contains(w.Body.String(), c.fault)):
					t.Errorf("%s %s: status %d, want %q: %s", target, body, w.Code, c.fault, w.Body)
				}
			}
		})
	}
	for _, name := range onlySearch {
		if w := n.do("POST /books/_msearch?"+name+"=true", "{}\n{}\n"); w.Code != 400 {
			t.Errorf("_msearch?%s: status %d", name, w.Code)
		}
	}
	for _, target := range []string{"GET /books/_search?ccs_minimize_roundtrips", "GET /books/_search?max_concurrent_shard_requests=3&pre_filter_shard_size=1&batched_reduce_size=5", "GET /books/_count?ignore_throttled=false&routing=a"} {
		n.must(200, target, "")
	}
	for _, target := range []string{"GET /books/_search?batched_reduce_size=x", "GET /books/_search?pre_filter_shard_size=x", "GET /books/_count?expand_wildcards=x", "GET /books/_search?search_type"} {
		n.must(400, target, "")
	}
	n.must(400, "POST /books/_msearch?max_concurrent_shard_requests=x", "{}\n{}\n")
}

// A missing index that may be ignored has no hits, in a multi-search as in a search.
func TestIgnoredIndex(t *testing.T) {
	n := putBooks(t)
	for _, c := range []struct {
		index, options, body string
		status               int
		total                any // nil: none
	}{
		{"absent", "", `{}`, 404, nil},
		{"absent", "ignore_unavailable=true", `{"query":{"match":{"unknown":"x"}},"sort":["price"],"aggs":{"a":{"terms":{"field":"x"}}}}`, 200, 0.0},
		{"absent", "ignore_unavailable=true", `{"track_total_hits":false,"suggest":{"s":{"text":"a","term":{"field":"x"}}},"fields":["x"]}`, 200, nil},
		{"absent", "ignore_unavailable=true&allow_no_indices=true", ``, 200, 0.0},
		{"absent", "ignore_unavailable=true&allow_no_indices=false", `{}`, 404, nil},
		{"absent", "ignore_unavailable=false", `{}`, 404, nil},
		{"absent", "allow_no_indices=true", `{}`, 404, nil},
		{"absent", "ignore_unavailable=true", `{"unknown":1}`, 400, nil},
		{"absent", "ignore_unavailable=true", `{"query":`, 400, nil},
		{"absent", "ignore_unavailable=true", `{"size":10001}`, 400, nil},
		{"books,absent", "ignore_unavailable=true", `{}`, 404, nil}, // books exists
		{"boo*", "ignore_unavailable=true", `{}`, 404, nil},
		{"books", "ignore_unavailable=true&allow_no_indices=false", `{"query":{"match":{"title":"whale"}}}`, 200, 1.0},
	} {
		t.Run(c.index+"?"+c.options+" "+c.body, func(t *testing.T) {
			single := decoded(t, n.do("POST /"+c.index+"/_search?"+c.options, c.body).Body.Bytes())
			header := fmt.Sprintf(`{"index":%q`, c.index)
			for option := range strings.SplitSeq(c.options, "&") {
				if name, value, given := strings.Cut(option, "="); given {
					header += fmt.Sprintf(",%q:%s", name, value)
				}
			}
			for target, header := range map[string]string{"POST /_msearch": header + "}", "POST /" + c.index + "/_msearch?" + c.options: "{}"} {
				got, _ := at(n.must(200, target, header+"\n"+c.body+"\n"), "responses.0").(map[string]any)
				if at(got, "status") != float64(c.status) || at(got, "hits.total.value") != c.total {
					t.Errorf("%s %s: %v", target, header, got)
				}
				if c.status == 400 {
					dropLine(t, got)
				}
				if c.status == 200 {
					delete(got, "status")
				}
				delete(got, "took")
				delete(single, "took")
				if !reflect.DeepEqual(got, single) {
					t.Errorf("%s %s: %v\nalone %v", target, header, got, single)
				}
			}
		})
	}
	got := n.must(200, "GET /absent/_search?ignore_unavailable&rest_total_hits_as_int&q=nothing:x", "")
	if at(got, "hits.total") != 0.0 || at(got, "_shards.total") != 0.0 || at(got, "hits.max_score") != 0.0 || len(at(got, "hits.hits").([]any)) != 0 {
		t.Errorf("%v", got)
	}
	if got := n.must(200, "GET /absent/_count?ignore_unavailable=true&q=x", ""); at(got, "count") != 0.0 || at(got, "_shards.total") != 0.0 {
		t.Errorf("%v", got)
	}
	n.must(404, "GET /absent/_count", "")
	// The header has precedence over the address.
	const other = `{"index":"absent","ignore_unavailable":false}` + "\n{}\n" + `{"index":"absent"}` + "\n{}\n" + `{"index":"books"}` + "\n{}\n"
	answers := n.must(200, "POST /_msearch?ignore_unavailable=true", other)
	if at(answers, "responses.0.status") != 404.0 || at(answers, "responses.1.hits.total.value") != 0.0 || at(answers, "responses.2.hits.total.value") == 0.0 {
		t.Errorf("%v", answers)
	}
}
