package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func (n *node) hits(index, query string) any {
	n.t.Helper()
	answer := n.must(200, "POST /"+index+"/_search", `{"query":`+query+`}`)
	return answer["hits"].(map[string]any)["total"].(map[string]any)["value"]
}

func (n *node) restart() *node {
	n.t.Helper()
	n.close()
	return openNode(n.t, n.dir, Options{})
}

// Values of any document are fields of their own, with dotted names.
func TestDynamicMapping(t *testing.T) {
	n := newNode(t)
	first := n.must(201, "PUT /books/_doc/1?refresh=true", `{"title":"Moby-Dick","text":"Call me Ishmael","meta":{"author":["Melville"]},"year":1851,"bad name":"x","_own":"y"}`)
	if first["_seq_no"] != 0.0 {
		t.Errorf("the first document has the number %v", first["_seq_no"])
	}
	n.must(201, "PUT /books/_doc/2?refresh=true", `{"title":"Emma","later":"Ishmael","meta":{"place":"Highbury"},"empty":""}`)
	n.must(200, "POST /books/_bulk?refresh=true", `{"index":{"_id":"3"}}`+"\n"+`{"bulk":["one","two"]}`+"\n"+`{"create":{"_id":"4"}}`+"\n"+`{"bulk":"two","deep":{"er":{"est":"three"}}}`+"\n"+
		`{"update":{"_id":"1"}}`+"\n"+`{"doc":{"updated":"four"}}`+"\n")
	n.must(200, "POST /books/_update/2?refresh=true", `{"doc":{"patched":"five"}}`)
	check := func() {
		t.Helper()
		for query, want := range map[string]float64{
			`{"match":{"text":"ishmael"}}`:                    1,
			`{"match":{"later":"ishmael"}}`:                   1,
			`{"match":{"meta.author":"melville"}}`:            1,
			`{"match":{"meta.place":"highbury"}}`:             1,
			`{"match":{"title":"emma"}}`:                      1,
			`{"match":{"*":"ishmael"}}`:                       2,
			`{"match":{"text":"emma"}}`:                       0,
			`{"match":{"bulk":"two"}}`:                        2,
			`{"match":{"deep.er.est":"three"}}`:               1,
			`{"match":{"updated":"four"}}`:                    1,
			`{"match":{"patched":"five"}}`:                    1,
			`{"match":{"empty":"x"}}`:                         0,
			`{"query_string":{"query":"later:ish latter:x"}}`: -1,
		} {
			if want < 0 {
				n.must(400, "POST /books/_search", `{"query":`+query+`}`)
				continue
			}
			if got := n.hits("books", query); got != want {
				t.Errorf("%s: %v hits, want %v", query, got, want)
			}
		}
		n.must(400, "POST /books/_search", `{"query":{"match":{"bad name":"x"}}}`)
	}
	check()
	mapping, _ := json.Marshal(n.must(200, "GET /books/_mapping", ""))
	text := `{"fields":{"keyword":{"ignore_above":256,"type":"keyword"}},"type":"text"}`
	want := fmt.Sprintf(`{"books":{"mappings":{"properties":{"bulk":%s,"deep":{"properties":{"er":{"properties":{"est":%[1]s}}}},"empty":%[1]s,"later":%[1]s,"meta":{"properties":{"author":%[1]s,"place":%[1]s}},"patched":%[1]s,"text":%[1]s,"title":%[1]s,"updated":%[1]s,"year":{"type":"long"}}}}}`, text)
	if string(mapping) != want {
		t.Errorf("mapping %s,\nwant %s", mapping, want)
	}
	n = n.restart()
	check()
	if again, _ := json.Marshal(n.must(200, "GET /_mapping", "")); string(again) != want {
		t.Errorf("mapping after a restart %s,\nwant %s", again, want)
	}
}

func TestPutMapping(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"mappings":{"dynamic":"false","properties":{"title":{"type":"text"},"body":{"type":"text","analyzer":"simple"}}}}`)
	n.must(201, "PUT /ix/_doc/1", `{"title":"a","other":"fox"}`)
	n.must(200, "PUT /ix/_mapping", `{"properties":{"other":{"type":"text"},"meta":{"properties":{"place":{"type":"text","analyzer":"standard"}}},"body":{"type":"text"}}}`)
	if got := n.hits("ix", `{"match":{"other":"fox"}}`); got != 0.0 {
		t.Errorf("a document that was written before the field: %v hits", got)
	}
	n.must(201, "PUT /ix/_doc/2?refresh=true", `{"other":"fox","new":"fox","meta":{"place":"den"}}`)
	if got := n.hits("ix", `{"match":{"other":"fox"}}`); got != 1.0 {
		t.Errorf("a document that was written after the field: %v hits", got)
	}
	n.must(400, "POST /ix/_search", `{"query":{"match":{"new":"fox"}}}`)
	n.must(200, "POST /ix/_update_by_query?refresh=true", "")
	if got := n.hits("ix", `{"match":{"other":"fox"}}`); got != 2.0 {
		t.Errorf("after _update_by_query: %v hits", got)
	}
	for body, want := range map[string]string{
		`{"properties":{"title":{"type":"keyword"}}}`:                  "illegal_argument_exception: mapper [title] cannot be changed from type [text] to [keyword]",
		`{"properties":{"new":{"type":"wildcard"}}}`:                   "mapper_parsing_exception: No handler for type [wildcard] declared on field [new]",
		`{"properties":{"new":{"type":"long","scale":1}}}`:             "mapper_parsing_exception: unknown parameter [scale] with value [1] on mapper [new] of type [long]",
		`{"properties":{"meta":{"type":"text"}}}`:                      "illegal_argument_exception: mapper [meta] cannot be changed from type [object] to [text]",
		`{"properties":{"body":{"type":"text","analyzer":"english"}}}`: "illegal_argument_exception: Mapper for [body] conflicts with existing mapper:\n\tCannot update parameter [analyzer] from [simple] to [english]",
		`{"properties":{"new":{"type":"text","analyzer":"klingon"}}}`:  "mapper_parsing_exception: analyzer [klingon] has not been configured in mappings of field [new]: there are arabic",
		`{"properties":{"a b":{"type":"text"}}}`:                       "mapper_parsing_exception: field name \"a b\": want letters",
		`{"dynamic":"runtime"}`:                                        "mapper_parsing_exception: [dynamic] is",
		`{"other":1}`:                                                  "mapper_parsing_exception: Root mapping definition has unsupported parameters",
		``:                                                             "parse_exception: request body is required",
	} {
		e := n.must(400, "POST /ix/_mapping", body)["error"].(map[string]any)
		if got := fmt.Sprintf("%v: %v", e["type"], e["reason"]); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	n.must(404, "PUT /none/_mapping", `{"dynamic":true}`)
	n.must(404, "GET /none/_mapping", "")
	got, _ := json.Marshal(n.must(200, "GET /ix/_mapping/field/meta.*,body,none", ""))
	if want := `{"ix":{"mappings":{"body":{"full_name":"body","mapping":{"body":{"analyzer":"simple","type":"text"}}},"meta.place":{"full_name":"meta.place","mapping":{"place":{"analyzer":"standard","type":"text"}}}}}}`; string(got) != want {
		t.Errorf("fields %s,\nwant %s", got, want)
	}
}

func TestStrictMapping(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"mappings":{"dynamic":"strict","properties":{"title":{"type":"text"}}}}`)
	n.must(201, "PUT /ix/_doc/1", `{"title":"a"}`)
	n.must(400, "PUT /ix/_doc/2", `{"title":"a","year":1851}`)
	e := n.must(400, "PUT /ix/_doc/2", `{"title":"a","meta":{"place":"b"}}`)["error"].(map[string]any)
	if e["type"] != "strict_dynamic_mapping_exception" || e["reason"] != "mapping set to strict, dynamic introduction of [place] within [meta] is not allowed" {
		t.Errorf("error %v", e)
	}
	bulk := n.must(200, "POST /ix/_bulk", `{"index":{"_id":"3"}}`+"\n"+`{"title":"c"}`+"\n"+`{"index":{"_id":"4"}}`+"\n"+`{"more":"d"}`+"\n")
	items, _ := json.Marshal(bulk["items"])
	if !strings.Contains(string(items), `dynamic introduction of [more] within [_doc] is not allowed`) || bulk["errors"] != true {
		t.Errorf("items %s", items)
	}
	n = n.restart()
	n.must(400, "PUT /ix/_doc/5", `{"more":"fox"}`)
	n.must(404, "GET /ix/_doc/4", "")
	n.must(200, "PUT /ix/_mapping", `{"dynamic":true}`)
	n.must(201, "PUT /ix/_doc/5?refresh=true", `{"more":"fox"}`)
	if got := n.hits("ix", `{"match":{"more":"fox"}}`); got != 1.0 {
		t.Errorf("%v hits", got)
	}
}

// A document with too many fields is refused alone.
func TestFieldLimit(t *testing.T) {
	n := newNode(t)
	many := make([]string, 990)
	for i := range many {
		many[i] = fmt.Sprintf(`"f%d":%d`, i, i)
	}
	n.must(201, "PUT /ix/_doc/1", "{"+strings.Join(many, ",")+"}")
	bulk := n.must(200, "POST /ix/_bulk?refresh=true", `{"index":{"_id":"2"}}`+"\n"+`{"a":"x","b":"x","c":"x","d":"x","e":"x","f":"x"}`+"\n"+`{"index":{"_id":"3"}}`+"\n"+`{"a":"found"}`+"\n")
	items, _ := json.Marshal(bulk["items"])
	if !strings.Contains(string(items), `"reason":"Limit of total fields [1000] has been exceeded","type":"illegal_argument_exception"`) || bulk["errors"] != true {
		t.Errorf("items %s", items)
	}
	n.must(404, "GET /ix/_doc/2", "")
	if got := n.hits("ix", `{"match":{"a":"found"}}`); got != 1.0 {
		t.Errorf("%v hits", got)
	}
}
