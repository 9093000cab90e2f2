package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// searchesOf sends searches, each an index, which may be empty, and a body, and returns their answers.
func searchesOf(t *testing.T, n *node, target string, searches ...[2]string) []any {
	t.Helper()
	var b strings.Builder
	for _, s := range searches {
		header := "{}"
		if s[0] != "" {
			header = fmt.Sprintf(`{"index":%q}`, s[0])
		}
		fmt.Fprintf(&b, "%s\n%s\n", header, s[1])
	}
	answers, _ := at(n.must(200, target, b.String()), "responses").([]any)
	if len(answers) != len(searches) {
		t.Fatalf("%s: %d answers to %d searches", target, len(answers), len(searches))
	}
	return answers
}

// Each answer equals the answer to the same search by itself, in a batch or not, of two indexes.
func TestMultiSearchLikeSearches(t *testing.T) {
	n := putBooks(t)
	n.must(201, "PUT /letters/_doc/a?refresh=true", `{"title": "A ship and a whale", "text": "the sea"}`)
	var searches [][2]string
	for _, index := range []string{"books", "letters"} {
		for _, body := range []string{
			`{"query":{"match":{"title":"whale ship"}}}`,
			`{"query":{"match":{"title":"whale"}},"size":1,"track_total_hits":false,"_source":["title"]}`,
			`{"query":{"match":{"title":"whale"}},"from":1,"size":2,"_source":false}`,
			`{"query":{"match_phrase":{"title":"white whale"}},"highlight":{"fields":{"title":{}}}}`,
			`{"query":{"bool":{"must":{"match":{"title":"ship"}},"filter":{"term":{"title":"whale"}}}},"explain":true}`,
			`{"query":{"match_all":{}}}`,
			`{}`, ``,
			`{"query":{"match":{"title":"whale ship"}},"sort":[{"_doc":"desc"}]}`,
			`{"query":{"match":{"title":"ship"}},"size":0,"aggs":{"n":{"value_count":{"field":"year"}}}}`,
			`{"suggest":{"s":{"text":"whle","term":{"field":"title"}}}}`,
			`{"query":{"match":{"nothing":"x"}}}`,
			`{"query":{"match":{"title":"ship"}},"size":10001}`,
			`{"query":`,
			`{"unknown":1}`,
			`{"query":{"query_string":{"query":"whale OR ("}}}`,
		} {
			searches = append(searches, [2]string{index, body})
		}
	}
	searches = append(searches, [2]string{"absent", `{}`})
	answers := searchesOf(t, n, "POST /_msearch", searches...)
	failed := 0
	for i, s := range searches {
		w := n.do("POST /"+s[0]+"/_search", s[1])
		var want any
		if err := json.NewDecoder(w.Body).Decode(&want); err != nil {
			t.Fatal(err)
		}
		got, _ := answers[i].(map[string]any)
		if got["status"] != float64(w.Code) {
			t.Errorf("%s: status %v, want %d", s, got["status"], w.Code)
		}
		if w.Code == 200 {
			delete(got, "status")
		} else {
			failed++
		}
		single, _ := want.(map[string]any)
		delete(got, "took")
		delete(single, "took")
		if s[0] != "absent" {
			dropLine(t, got)
		}
		if !reflect.DeepEqual(got, single) {
			t.Errorf("%s: %v\nwant %v", s, got, single)
		}
	}
	if failed < 9 || failed > len(searches)/2 {
		t.Errorf("%d of %d searches failed", failed, len(searches))
	}
}

// dropLine removes the number of the line from the error of a search.
func dropLine(t *testing.T, answer map[string]any) {
	t.Helper()
	e, failed := answer["error"].(map[string]any)
	if !failed {
		return
	}
	cause, _ := e["root_cause"].([]any)[0].(map[string]any)
	for _, m := range []map[string]any{e, cause} {
		reason, _ := m["reason"].(string)
		line, rest, found := strings.Cut(reason, ": ")
		if !found || !strings.HasPrefix(line, "line [") {
			t.Errorf("an error without its line: %q", reason)
		}
		m["reason"] = rest
	}
}

// The address names the index of headers without one, and parameters are of all searches.
func TestMultiSearchAddress(t *testing.T) {
	n := putBooks(t)
	n.must(201, "PUT /letters/_doc/a?refresh=true", `{"title": "whale"}`)
	const whale = `{"query":{"match":{"title":"whale"}}}`
	answers := searchesOf(t, n, "GET /books/_msearch?rest_total_hits_as_int&max_concurrent_searches=1", [2]string{"", whale}, [2]string{"letters", whale})
	if ids(answers[0].(map[string]any)) != "2" || ids(answers[1].(map[string]any)) != "a" || at(answers[0], "hits.total") != 1.0 {
		t.Errorf("%v", answers)
	}
	lines := "\n" + whale + "\r\n" + `{"index":["letters"],"search_type":"query_then_fetch","preference":"_local","ignore_unavailable":true}` + "\n" + whale // no end of line
	got := n.must(200, "POST /books/_msearch", lines)
	if ids(at(got, "responses.0").(map[string]any)) != "2" || ids(at(got, "responses.1").(map[string]any)) != "a" {
		t.Errorf("%v", got)
	}
}

// Empty lines before and after the searches change nothing.
func TestMultiSearchEmptyLines(t *testing.T) {
	n := putBooks(t)
	const search = `{"index":"books"}` + "\n" + `{"query":{"match":{"title":"whale"}}}` + "\n"
	for _, body := range []string{search + "\n", "\n" + search, "\n" + search + search + "\n"} {
		answers, _ := at(n.must(200, "POST /_msearch", body), "responses").([]any)
		if len(answers) != bytes.Count([]byte(body), []byte("whale")) {
			t.Errorf("%q: %d answers", body, len(answers))
		}
		for _, a := range answers {
			if ids(a.(map[string]any)) != "2" {
				t.Errorf("%q: %v", body, a)
			}
		}
	}
}

// The answers of a request are bounded, and the searches after the bound are errors.
func TestMultiSearchBytes(t *testing.T) {
	n := putBooks(t)
	n.h.answerBytes = 2000
	search := [2]string{"books", `{"query":{"match":{"title":"whale"}}}`}
	one := n.do("POST /books/_search", search[1]).Body.Len()
	fits, refused := 0, 0
	for _, a := range searchesOf(t, n, "POST /_msearch", search, search, search, search, search, search, search, search, search, search, search, search) {
		switch {
		case at(a, "status") == 200.0:
			fits++
		case strings.Contains(fmt.Sprint(at(a, "error.reason")), "more than [2000] bytes"):
			refused++
		}
	}
	if fits == 0 || refused == 0 || fits+refused != 12 || (fits-1)*one > 2000 {
		t.Errorf("%d searches of %d bytes fit, %d do not", fits, one, refused)
	}
}

func TestMultiSearchErrors(t *testing.T) {
	n := putBooks(t)
	for body, reason := range map[string]string{
		"":   "no requests added",
		"{}": "the body of search [1] is missing",
		"{\"index\":\"books\"}\n{}\n{\"index\":\"books\"}\n":             "the body of search [2] is missing",
		"{\"index\":\"books\"}\n{}\nnonsense\n{}\n":                      "line [3], the header of search [2]",
		"{\"indices\":\"books\"}\n{}\n":                                  "indices",
		"{\"index\":[\"books\",\"letters\"]}\n{}\n":                      "want the name of one index",
		"{}\n{\"x\":\"" + strings.Repeat("y", maxQueryText) + "\"}\n":    "line [2] has more than",
		strings.Repeat("{\"index\":\"books\"}\n{\"size\":10000}\n", 101): "more than [1000000] hits",
		strings.Repeat("\n\n", maxSearches+1):                            "at most [10000] searches",
	} {
		answer := n.must(400, "POST /_msearch", body)
		if got := fmt.Sprint(at(answer, "error.reason")); !strings.Contains(got, reason) {
			t.Errorf("%.60q: %s, want %s", body, got, reason)
		}
	}
	answers := searchesOf(t, n, "POST /_msearch", [2]string{"", "{}"}, [2]string{"books", "{}"})
	if at(answers[0], "status") != 400.0 || !strings.Contains(fmt.Sprint(at(answers[0], "error.reason")), "names no index") || at(answers[1], "status") != 200.0 {
		t.Errorf("%v", answers)
	}
	if w := n.do("POST /_msearch?size=3", "{}\n{}\n"); w.Code != 400 || !bytes.Contains(w.Body.Bytes(), []byte("unrecognized parameter")) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
