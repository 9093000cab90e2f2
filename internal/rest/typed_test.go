package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const typedMapping = `{"mappings":{"properties":{"name":{"type":"text","fields":{"raw":{"type":"keyword"}}},"price":{"type":"double"},"made":{"type":"date","format":"yyyy-MM-dd||epoch_millis"},` +
	`"sold":{"type":"boolean","null_value":false},"host":{"type":"ip"},"at":{"type":"geo_point"},"small":{"type":"byte","copy_to":"all"},"all":{"type":"keyword"},"o":{"properties":{"n":{"type":"long"}}}}}}`

// Values of all types are accepted in all forms, those that do not fit are refused as by OpenSearch.
func TestTypedDocuments(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", typedMapping)
	for i, source := range []string{
		`{"name":"a b","price":1.5,"made":"2024-02-29","sold":true,"host":"::1","at":{"lat":1,"lon":2},"small":5,"o":{"n":7}}`,
		`{"name":["a","b"],"price":"2","made":1700000000000,"sold":"false","host":["10.0.0.1","10.0.0.2"],"at":[2.5,1.5],"small":"6","o.n":8}`,
		`{"price":[1,2e3],"made":null,"sold":null,"at":["1,2",{"lon":"4","lat":"3"}],"small":7.9}`,
		`{"at":[[1,2],[3,4]],"o":[{"n":1},{"n":2}],"name":5,"all":true}`,
		`{"at":null,"price":null,"sold":"","made":""}`,
		`{}`,
	} {
		n.must(201, fmt.Sprintf("PUT /ix/_doc/%d?refresh=true", i), source)
	}
	for _, c := range []struct{ source, reason string }{
		{`{"price":"cheap"}`, "failed to parse field [price] of type [double] in document with id 'x'. Preview of field's value: 'cheap'"},
		{`{"small":128}`, "failed to parse field [small] of type [byte] in document with id 'x'. Preview of field's value: '128'"},
		{`{"made":"2024-02-30"}`, "failed to parse field [made] of type [date] in document with id 'x'. Preview of field's value: '2024-02-30'"},
		{`{"sold":"yes"}`, "failed to parse field [sold] of type [boolean] in document with id 'x'. Preview of field's value: 'yes'"},
		{`{"host":"localhost"}`, "failed to parse field [host] of type [ip] in document with id 'x'. Preview of field's value: 'localhost'"},
		{`{"at":[1,2,3]}`, "failed to parse field [at] of type [geo_point] in document with id 'x'. Preview of field's value: '[1,2,3]'"},
		{`{"at":"91,0"}`, "failed to parse field [at] of type [geo_point] in document with id 'x'. Preview of field's value: '91,0'"},
		{`{"name":{"first":"a"}}`, `failed to parse field [name] of type [text] in document with id 'x'. Preview of field's value: '{"first":"a"}'`},
		{`{"o":5}`, "object mapping for [o] tried to parse field [o] as object, but found a concrete value"},
		{`{"name.raw":"x"}`, "failed to parse field [name.raw] of type [keyword] in document with id 'x'"},
		{`{"price.x":1}`, "Could not dynamically add mapping for field [price.x]. Existing mapping for [price] must be of type object but found [double]."},
		{`{"new":[1,"two"]}`, "failed to parse field [new] of type [long] in document with id 'x'. Preview of field's value: 'two'"},
	} {
		e := n.must(400, "PUT /ix/_doc/x", c.source)["error"].(map[string]any)
		if e["type"] != "mapper_parsing_exception" || !strings.HasPrefix(fmt.Sprint(e["reason"]), c.reason) {
			t.Errorf("%s: %v: %v, want %s", c.source, e["type"], e["reason"], c.reason)
		}
	}
	n.must(404, "GET /ix/_doc/x", "")
	bulk := n.must(200, "POST /ix/_bulk", `{"index":{"_id":"y"}}`+"\n"+`{"price":"cheap"}`+"\n"+`{"index":{"_id":"z"}}`+"\n"+`{"price":9}`+"\n")
	items, _ := json.Marshal(bulk["items"])
	if !strings.Contains(string(items), "failed to parse field [price] of type [double] in document with id 'y'") || !strings.Contains(string(items), `"_id":"z"`) || bulk["errors"] != true {
		t.Errorf("items %s", items)
	}
	got, _ := json.Marshal(n.must(200, "GET /ix/_mapping", "")["ix"])
	if !sameJSON(string(sorted(t, string(got))), string(sorted(t, typedMapping))) {
		t.Errorf("mapping %s, want %s", got, typedMapping)
	}
	n = n.restart()
	again, _ := json.Marshal(n.must(200, "GET /ix/_mapping", "")["ix"])
	if string(again) != string(got) {
		t.Errorf("mapping after a restart %s, want %s", again, got)
	}
	n.must(201, "PUT /ix/_doc/later?refresh=true", `{"at":{"lat":5,"lon":6},"price":3}`)
	n.must(400, "PUT /ix/_doc/x", `{"price":"cheap"}`)
}

// sorted has the keys of objects in order, and lists of one element as the element.
func sorted(t *testing.T, text string) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, `["all"]`, `"all"`)), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Fields of new names get types by their first values.
func TestDynamicTypes(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /ix/_doc/1", `{"s":"text","when":"2024-03-05T07:08:09Z","day":"2024/03/05","n":5,"f":1.5,"b":false,"null":null,"empty":[],"o":{"deep":[1,2]},"year":"1999"}`)
	n.must(201, "PUT /ix/_doc/2", `{"more":true,"n":6.5}`)
	n.must(400, "PUT /ix/_doc/3", `{"when":"later"}`)
	text := `{"fields":{"keyword":{"ignore_above":256,"type":"keyword"}},"type":"text"}`
	want := fmt.Sprintf(`{"ix":{"mappings":{"properties":{"b":{"type":"boolean"},"day":{"format":"yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis","type":"date"},"f":{"type":"float"},`+
		`"more":{"type":"boolean"},"n":{"type":"long"},"o":{"properties":{"deep":{"type":"long"}}},"s":%s,"when":{"type":"date"},"year":%[1]s}}}}`, text)
	for range 2 {
		if got, _ := json.Marshal(n.must(200, "GET /ix/_mapping", "")); string(got) != want {
			t.Errorf("mapping %s,\nwant %s", got, want)
		}
		n = n.restart()
	}
}

// If one field names an analyzer of the settings, other fields do not use it.
func TestAnalyzerOfOneField(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"analysis":{"analyzer":{"auto":{"tokenizer":"standard","filter":["lowercase","edge"]}},"filter":{"edge":{"type":"edge_ngram","min_gram":2,"max_gram":10}}}},
		"mappings":{"properties":{"title":{"type":"text","analyzer":"auto","search_analyzer":"standard"},"note":{"type":"text"}}}}`)
	n.must(200, "PUT /b", `{"mappings":{"properties":{"title":{"type":"text","analyzer":"german"}}}}`)
	for _, index := range []string{"a", "b"} {
		n.must(201, "PUT /"+index+"/_doc/1?refresh=true", `{"title":"Wandering","note":"Wandering houses","later":"Wandering Häuser"}`)
	}
	for query, want := range map[string]any{
		`{"match":{"title":"wand"}}`: 1.0, `{"match":{"note":"wand"}}`: 0.0, `{"match":{"later":"wand"}}`: 0.0, `{"match":{"*":"wand"}}`: 0.0, `{"match_phrase":{"note":"wandering house"}}`: 1.0,
	} {
		if got := n.hits("a", query); got != want {
			t.Errorf("%s: %v hits, want %v", query, got, want)
		}
	}
	if got := n.hits("b", `{"match":{"later":"haus"}}`); got != 1.0 {
		t.Errorf("german: %v hits", got)
	}
}
