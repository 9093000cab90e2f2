package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestFaultOf(t *testing.T) {
	for text, want := range map[string]string{
		`{"query":{"bool":{"filter":[],"filter":[]}}}`:   "byte 30, in query.bool: duplicate key [filter]",
		`{"a":[1,{"b":1,"\u0062":2}]}`:                   "byte 15, in a[1]: duplicate key [b]",
		`{"a":{},"b":{},"a":{}}`:                         "byte 15: duplicate key [a]",
		"{\"query\":{\n \"bool\":[1,{\"a\":\"\xff\"}]}}": "byte 28 (line 2), in query.bool[1].a: invalid UTF-8",
		"{\"a\":1,\"\xc3(\":2}":                          "byte 8, in \uFFFD(: invalid UTF-8",
		"{\"a\":1}\xff":                                  `byte 7: "\xff" after the JSON, want its end`,
		`{"a":}`:                                         "byte 5, in a: missing value after object name",
		`{"a":[1,{"b" 2}]}`:                              "byte 13, in a[1].b: invalid character '2' after object name (expecting ':')",
		`{"a":[1,{"b":2`:                                 "byte 14, in a[1]: the JSON ends too early",
		`{"a":"x`:                                        "byte 7, in a: the JSON ends too early",
		`{"a":tru}`:                                      "byte 8, in a: invalid character '}' in literal true (expecting 'e')",
		`{"a":01}`:                                       "byte 6: invalid character '1' after object value (expecting ',' or '}')",
		`{"a":1}}`:                                       `byte 7: "}" after the JSON, want its end`,
		`{"a":1} {}`:                                     `byte 8: "{" after the JSON, want its end`,
		``:                                               "byte 0: no JSON, want an object",
		"\n":                                             "byte 0: no JSON, want an object",
		`{"a":1,}`:                                       "byte 6: invalid character ',' at start of value (expecting a key in double quotes)",
		`{a:1}`:                                          "byte 1: invalid character 'a' at start of value (expecting a key in double quotes)",
		`{"a":{"b":'x'}}`:                                `byte 10, in a.b: invalid character '\'' at start of value (expecting a string, a number, an object, a list, true, false or null)`,
		`{"a":{"b":"\x"}}`:                               "byte 11, in a.b: invalid escape sequence `\\x` in string",
		`{"a":{"b":"\ud800"}}`:                           "",
		` {"a":1} `:                                      "",
		`{"a":{"b":1},"b":{"b":1}}`:                      "",
	} {
		got := ""
		if fault := faultOf([]byte(text)); fault != nil {
			got = fault.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	deep := strings.Repeat(`{"a":`, maxJSONDepth+1) + "1" + strings.Repeat("}", maxJSONDepth+1)
	if fault := faultOf([]byte(deep)); fault == nil || len(fault.Error()) > 1000 {
		t.Errorf("JSON that is too deep: %v", fault)
	}
}

// Keys with the same hash are compared.
func TestSameHash(t *testing.T) {
	v := validator{text: []byte(`{"a":1,"b":2}`), strict: true}
	if !v.value(0) || v.twice {
		t.Errorf("different keys: %v", v.twice)
	}
	if !hasEqual([]uint64{1, 2, 1}) || hasEqual([]uint64{1, 2, 3}) {
		t.Error("hasEqual is wrong")
	}
}

// Every request with a body refuses duplicate keys, bytes that are not UTF-8 and syntax errors. The error has the
// place.
func TestBodiesAreChecked(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"properties":{"title":{"type":"text"}}}}`)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"title":"one"}`)
	for _, c := range []struct{ target, before, body, after string }{
		{"POST /a/_search", "", `{"query":{"match_all":{%s}}}`, ""},
		{"POST /a/_search", "", `{"size":0,"aggs":{"n":{"terms":{"field":"title.keyword"%s}}}}`, ""},
		{"POST /a/_search", "", `{"size":0,"aggs":{"n":{"terms":{"field":"title.keyword"}}%s}}`, ""},
		{"POST /a/_search", "", `{"sort":[{"title.keyword":{"order":"asc"%s}}]}`, ""},
		{"POST /a/_search", "", `{"suggest":{"s":{"text":"one","term":{"field":"title"%s}}}}`, ""},
		{"POST /a/_search", "", `{"highlight":{"fields":{"title":{}%s}}}`, ""},
		{"POST /a/_search", "", `{"collapse":{"field":"title.keyword"%s}}`, ""},
		{"POST /a/_count", "", `{"query":{"match_all":{%s}}}`, ""},
		{"POST /a/_delete_by_query", "", `{"query":{"match_none":{%s}}}`, ""},
		{"POST /a/_update_by_query", "", `{"query":{"match_none":{%s}}}`, ""},
		{"POST /a/_msearch", "", `{"preference":"x"%s}`, "\n{}\n"},
		{"POST /a/_msearch", "{}\n", `{"query":{"match_all":{%s}}}`, "\n"},
		{"POST /a/_bulk", "", `{"index":{"_id":"7"%s}}`, "\n{}\n"},
		{"POST /a/_bulk", `{"index":{"_id":"7"}}` + "\n", `{"title":"x","o":{%s}}`, "\n"},
		{"POST /a/_bulk", `{"update":{"_id":"1"}}` + "\n", `{"doc":{"title":"x"%s}}`, "\n"},
		{"PUT /a/_doc/7", "", `{"title":"x","o":{%s}}`, ""},
		{"PUT /a/_create/7", "", `{"title":"x","o":[{%s}]}`, ""},
		{"POST /a/_update/1", "", `{"doc":{"title":"x","o":{%s}}}`, ""},
		{"POST /a/_update/1", "", `{"doc":{"title":"x"}%s}`, ""},
		{"PUT /b", "", `{"mappings":{"properties":{"t":{"type":"text"%s}}}}`, ""},
		{"PUT /b", "", `{"settings":{"index":{"number_of_replicas":0%s}}}`, ""},
		{"PUT /a/_mapping", "", `{"properties":{"t":{"type":"text"%s}}}`, ""},
		{"PUT /a/_settings", "", `{"index":{"refresh_interval":"1s"%s}}`, ""},
		{"POST /a/_analyze", "", `{"text":"x","analyzer":"english"%s}`, ""},
	} {
		at := strings.Index(c.body, "%s")
		comma := ","
		if c.body[at-1] == '{' {
			comma = ""
		}
		for _, fault := range []struct{ text, names string }{
			{comma + `"twice":1,"twice":2`, fmt.Sprintf("byte %d", at+len(comma)+len(`"twice":1,`))},
			{comma + "\"bad\":\"\xff\"", fmt.Sprintf("byte %d", at+len(comma)+len(`"bad":"`))},
			{comma + `"bad":nul`, fmt.Sprintf("byte %d", at+len(comma)+len(`"bad":nul`))},
		} {
			body := c.before + fmt.Sprintf(c.body, fault.text) + c.after
			w := n.do(c.target, body)
			reason := w.Body.String()
			refused := w.Code == 400 || w.Code == 200 && strings.Contains(reason, `"status":400`)
			if !refused || !strings.Contains(reason, fault.names) {
				t.Errorf("%s %q: %d %s: want 400 and %q", c.target, body, w.Code, reason, fault.names)
			}
			if strings.Contains(fault.text, "twice") && !strings.Contains(reason, "duplicate key [twice]") {
				t.Errorf("%s %q: %s: want the name of the key", c.target, body, reason)
			}
			if c.before+c.after != "" && !strings.Contains(c.target, "_bulk") && !strings.Contains(reason, fmt.Sprintf("line [%d]", 1+strings.Count(c.before, "\n"))) {
				t.Errorf("%s %q: %s: want the line", c.target, body, reason)
			}
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %q: the answer is not JSON: %q", c.target, body, reason)
			}
		}
	}
	n.must(404, "GET /a/_doc/7", "")
	n.must(404, "GET /b", "")
}

var checkedBody = []byte(`{"query":{"bool":{"must":[{"match":{"title":{"query":"white whale","operator":"and"}}}],"filter":[{"term":{"lang":"en"}},{"range":{"year":{"gte":1850,"lt":1900}}}]}},"size":10,"_source":["title","year"]}`)

func BenchmarkCheckBody(b *testing.B) {
	for b.Loop() {
		if checkBody(checkedBody) != nil {
			b.Fatal("the body is refused")
		}
	}
}
