package rest

import (
	"fmt"
	"strings"
	"testing"
)

// Fields that are not declared get the types of templates, after a restart too.
func TestDynamicTemplates(t *testing.T) {
	n := newNode(t)
	const templates = `"dynamic_templates":[
		{"places":{"match":["*location","at"],"mapping":{"type":"geo_point"}}},
		{"ids":{"match_mapping_type":"string","match_pattern":"regex","match":".*_id$","mapping":{"type":"keyword","normalizer":"lowercase"}}},
		{"raw":{"path_match":"raw.*","path_unmatch":"*.text","mapping":{"type":"keyword","ignore_above":5}}},
		{"whole":{"match_mapping_type":"long","unmatch":"big*","mapping":{"type":"integer"}}},
		{"named":{"match":"n_*","mapping":{"type":"{dynamic_type}","fields":{"{name}_x":{"type":"keyword"}}}}},
		{"strings":{"match_mapping_type":"string","mapping":{"type":"text","fields":{"keyword":{"type":"keyword","ignore_above":256}}}}},
		{"dates":{"match_mapping_type":"date","mapping":{}}}]`
	n.must(200, "PUT /a", `{"mappings":{"dynamic":"true",`+templates+`,"numeric_detection":true,"dynamic_date_formats":["dd.MM.yyyy"],"properties":{"x":{"type":"long"}}}}`)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"location":{"lat":1,"lon":2},"at":["1,2",[3,4]],"user_id":"ABC","raw":{"code":"abcdef","text":"some words","deep":{"n":"k"}},"count":5,"big":7,
		"n_a":"words here","price":"1.5","age":"42","born":"31.12.1999","iso":"2024-01-01","flag":true,"x":3,"ratio":0.5}`)
	check := func(index string, want map[string]string) {
		t.Helper()
		properties := at(n.must(200, "GET /"+index+"/_mapping", ""), index+".mappings.properties")
		for path, value := range want {
			if got := fmt.Sprint(at(properties, path)); got != value {
				t.Errorf("%s of %s is %s, want %s", path, index, got, value)
			}
		}
	}
	want := map[string]string{
		"location.type": "geo_point", "at.type": "geo_point", "user_id.type": "keyword", "user_id.normalizer": "lowercase", "raw.properties.code.ignore_above": "5",
		"raw.properties.text.type": "text", "raw.properties.deep.properties.n.type": "keyword", "count.type": "integer", "big.type": "long", "n_a.type": "text", "n_a.fields.n_a_x.type": "keyword",
		"price.type": "float", "age.type": "integer", "born.type": "date", "born.format": "dd.MM.yyyy", "iso.type": "text", "flag.type": "boolean", "ratio.type": "float",
	}
	check("a", want)
	for query, hits := range map[string]any{
		`{"term":{"user_id":"abc"}}`:                                        1.0,
		`{"geo_distance":{"distance":"1m","at":"4,3"}}`:                     1.0,
		`{"range":{"born":{"gte":"31.12.1999","lt":"01.01.2000"}}}`:         1.0,
		`{"range":{"price":{"gt":1,"lt":2}}}`:                               1.0,
		`{"exists":{"field":"raw.code"}}`:                                   0.0,
		`{"term":{"n_a.n_a_x":"words here"}}`:                               1.0,
		`{"bool":{"filter":[{"term":{"age":42}},{"term":{"iso":"2025"}}]}}`: 0.0,
	} {
		if got := n.hits("a", query); got != hits {
			t.Errorf("%s: %v hits, want %v", query, got, hits)
		}
	}
	n = n.restart()
	answer := n.do("GET /a/_mapping", "").Body.String()
	for _, part := range []string{`"dynamic_templates":[`, `"numeric_detection":true`, `"dynamic_date_formats":["dd.MM.yyyy"]`, `"properties":{`} {
		if !strings.Contains(answer, part) {
			t.Errorf("no %s in %s", part, answer)
		}
	}
	// An update replaces the members that it names.
	n.must(200, "PUT /a/_mapping", `{"dynamic_templates":[{"all":{"match":"*","match_mapping_type":"string","mapping":{"type":"keyword"}}}],"date_detection":false}`)
	n.must(201, "PUT /a/_doc/2?refresh=true", `{"later":"01.02.2003","number":"7","here_location":{"lat":1,"lon":2}}`)
	check("a", map[string]string{"later.type": "keyword", "number.type": "long", "here_location.properties.lat.type": "long", "location.type": "geo_point"})
	// Without templates.
	n.must(200, "PUT /b", `{"mappings":{"date_detection":false}}`)
	n.must(201, "PUT /b/_doc/1", `{"day":"2024-01-01","n":"5"}`)
	check("b", map[string]string{"day.type": "text", "day.fields.keyword.type": "keyword", "n.type": "text"})
	n.must(400, "PUT /b/_doc/2", `{"day":{"a":1}}`)

	for body, reason := range map[string]string{
		`{"mappings":{"dynamic_templates":{}}}`:                                                         "An array of named objects is expected",
		`{"mappings":{"dynamic_templates":[{"a":{},"b":{}}]}}`:                                          "must be defined with a name",
		`{"mappings":{"dynamic_templates":[{"a":{"match":"*"}}]}}`:                                      "must have a [mapping] set",
		`{"mappings":{"dynamic_templates":[{"a":{"mapping":{"type":"long"}}}]}}`:                        "must have match, path_match or match_mapping_type set",
		`{"mappings":{"dynamic_templates":[{"a":{"match":"*","mapping":{"type":"nothing"}}}]}}`:         "No handler for type [nothing]",
		`{"mappings":{"dynamic_templates":[{"a":{"match":"*","mapping":{"type":"long","x":1}}}]}}`:      "unknown parameter [x]",
		`{"mappings":{"dynamic_templates":[{"a":{"match":"(","match_pattern":"regex","mapping":{}}}]}}`: "pattern",
		`{"mappings":{"dynamic_templates":[{"a":{"match_mapping_type":"text","mapping":{}}}]}}`:         "No field type matched on [text]",
		`{"mappings":{"dynamic_templates":[{"a":{"matches":"x","mapping":{}}}]}}`:                       "Illegal dynamic template parameter: [matches]",
		`{"mappings":{"date_detection":"maybe"}}`:                                                       "[date_detection]",
		`{"mappings":{"dynamic_date_formats":["yyyy-QQ"]}}`:                                             "[dynamic_date_formats]",
	} {
		if w := n.do("PUT /bad", body); w.Code != 400 || !strings.Contains(w.Body.String(), reason) {
			t.Errorf("%s: status %d: %s", body, w.Code, w.Body)
		}
	}
}

// Targets of copy_to are looked up in the mapping of the index.
func TestDynamicTemplatesCopy(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"dynamic_templates":[{"full":{"path_match":"name.*","path_unmatch":"*.middle","mapping":{"type":"text","copy_to":"full_name"}}},
		{"lost":{"match":"lost","mapping":{"type":"text","copy_to":"nowhere"}}}],"properties":{"full_name":{"type":"text"}}}}`)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"name":{"first":"John","middle":"Winston","last":"Lennon"}}`)
	n.must(201, "PUT /a/_doc/2?refresh=true", `{"name":{"first":"Alice"}}`)
	for query, hits := range map[string]any{
		`{"match":{"full_name":{"query":"john lennon","operator":"and"}}}`: 1.0,
		`{"match":{"full_name":"winston"}}`:                                0.0,
		`{"match":{"full_name":"alice"}}`:                                  1.0,
	} {
		if got := n.hits("a", query); got != hits {
			t.Errorf("%s: %v hits, want %v", query, got, hits)
		}
	}
	if w := n.do("PUT /a/_doc/3", `{"lost":"x"}`); w.Code != 400 || !strings.Contains(w.Body.String(), "there is no field [nowhere]") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	n = n.restart()
	n.must(201, "PUT /a/_doc/4?refresh=true", `{"name":{"nick":"walrus"}}`)
	if got := n.hits("a", `{"match":{"full_name":"walrus"}}`); got != 1.0 {
		t.Errorf("%v hits after a restart", got)
	}
}

// A template is valid if it is for one of the types that it matches.
func TestDynamicTemplatesOfAnyType(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"dynamic_templates":[{"no_doc_values":{"match_mapping_type":"*","mapping":{"type":"{dynamic_type}","doc_values":false}}}]}}`)
	n.must(201, "PUT /a/_doc/1", `{"n":1}`)
	if w := n.do("PUT /a/_doc/2", `{"s":"x"}`); w.Code != 400 || !strings.Contains(w.Body.String(), "[doc_values]") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	n.must(200, "PUT /b", `{"mappings":{"dynamic_templates":[{"own":{"match":"*","mapping":{"analyzer":"{name}"}}}]}}`)
	n.must(201, "PUT /b/_doc/1", `{"english":"x"}`)
	for template, reason := range map[string]string{
		`{"match":"*","mapping":{"type":"text","analyzer":"nothing"}}`:                                  "analyzer [nothing] has not been configured in mappings of field [t]",
		`{"match":"*","mapping":{"type":"text","search_analyzer":"nothing"}}`:                           "analyzer [nothing]",
		`{"match":"*","mapping":{"type":"keyword","normalizer":"nothing"}}`:                             "normalizer [nothing] not found for field [t]",
		`{"match":"*","mapping":{"type":"text","fields":{"k":{"type":"keyword","normalizer":"none"}}}}`: "normalizer [none]",
		`{"match":"[","match_pattern":"regex","mapping":{}}`:                                            "missing closing ]: `[`",
		`{"match":"a)(b","match_pattern":"regex","mapping":{}}`:                                         "unexpected )",
	} {
		for _, request := range []string{"PUT /bad", "PUT /a/_mapping"} {
			body := `{"dynamic_templates":[{"t":` + template + `}]}`
			if request == "PUT /bad" {
				body = `{"mappings":` + body + `}`
			}
			if w := n.do(request, body); w.Code != 400 || !strings.Contains(w.Body.String(), reason) {
				t.Errorf("%s %s: status %d: %s", request, template, w.Code, w.Body)
			}
		}
	}
}
