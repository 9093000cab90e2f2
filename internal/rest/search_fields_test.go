package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// fields has values as documents are indexed, docvalue_fields as columns have them.
func TestFieldsOfHits(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"settings":{"analysis":{"normalizer":{"low":{"filter":["lowercase"]}}}},"mappings":{"dynamic":"false","properties":{
		"name":{"type":"text","copy_to":"all","fields":{"raw":{"type":"keyword","ignore_above":3},"low":{"type":"keyword","normalizer":"low"}}},
		"all":{"type":"keyword"},"n":{"type":"long","copy_to":"all","null_value":7},"d":{"type":"date","format":"dd/MM/yyyy"},"b":{"type":"boolean"},
		"x":{"type":"double"},"ip":{"type":"ip"},"at":{"type":"geo_point"},"v":{"type":"sparse_vector"},"no":{"type":"long","doc_values":false},"title":{"type":"text"}}}}`)
	n.must(201, "PUT /ix/_doc/1?refresh=true", `{"name":["Zoo","Apple","Zoo"],"n":[5,null,"3"],"d":["29/02/2024","01/01/2024"],"b":"true","x":[2,1.5],"ip":["::1","10.0.0.1","::1"],
		"at":{"lat":1.5,"lon":-2},"v":{"a":1.5},"no":4,"other":{"deep":[1,{"er":"y"}]},"title":["One","Two"]}`)
	for body, want := range map[string]string{
		`"fields":["name*"]`:                           `{"name":["Zoo","Apple","Zoo"],"name.low":["zoo","apple","zoo"],"name.raw":["Zoo","Zoo"]}`,
		`"fields":["all"]`:                             `{"all":["Zoo","Apple","Zoo","5","7","3"]}`,
		`"fields":["n","d","b","x","no"]`:              `{"n":[5,7,3],"d":["29/02/2024","01/01/2024"],"b":[true],"x":[2.0,1.5],"no":[4]}`,
		`"fields":[{"field":"d","format":"yyyy"}]`:     `{"d":["2024","2024"]}`,
		`"fields":["ip","at","v"]`:                     `{"ip":["::1","10.0.0.1","::1"],"at":[{"coordinates":[-2,1.5],"type":"Point"}],"v":[{"a":1.5}]}`,
		`"fields":["other.*","title","nope"]`:          `{"other.deep":[1],"other.deep.er":["y"],"title":["One","Two"]}`,
		`"docvalue_fields":["name.raw","name.low"]`:    `{"name.low":["apple","zoo"],"name.raw":["Zoo"]}`,
		`"docvalue_fields":["all","n","x","ip","b"]`:   `{"all":["3","5","7","Apple","Zoo"],"n":[3,5,7],"x":[1.5,2.0],"ip":["::1","10.0.0.1"],"b":[true]}`,
		`"docvalue_fields":["at"]`:                     `{"at":["1.5, -2"]}`,
		`"docvalue_fields":["n*"],"fields":["n"]`:      `{"n":[5,7,3],"name.low":["apple","zoo"],"name.raw":["Zoo"]}`,
		`"docvalue_fields":["t*"]`:                     `{}`,
		`"docvalue_fields":[{"field":"d"}],"sort":"x"`: `{"d":["01/01/2024","29/02/2024"]}`,
	} {
		for _, query := range []string{`"query":{"match_all":{}}`, `"query":{"match":{"name":"zoo"}}`} {
			hit := n.must(200, "POST /ix/_search", `{"_source":false,`+query+","+body+"}")["hits"].(map[string]any)["hits"].([]any)[0].(map[string]any)
			got, _ := json.Marshal(hit["fields"])
			if !sameJSON(string(sorted(t, string(got))), string(sorted(t, want))) {
				t.Errorf("%s: %s, want %s", body, got, want)
			}
		}
	}
	for body, reason := range map[string]string{
		`"docvalue_fields":["name"]`:        "[docvalue_fields] has [name]: a text has no column: use [fields], or a keyword, such as [name.keyword]",
		`"docvalue_fields":["no"]`:          `[docvalue_fields] has [no]: its mapping has "doc_values": false`,
		`"docvalue_fields":[{"field":"v"}]`: "[docvalue_fields] has [v]: type sparse_vector has no column",
		`"collapse":{"field":"at"}`:         "collapse by [at]: type geo_point: want a keyword",
		`"collapse":{"field":"no"}`:         `collapse by [no]: its mapping has "doc_values": false`,
		`"collapse":{"field":"name"}`:       "collapse by [name]: a text has no column: use a keyword, such as [name.keyword]",
		`"query":{"match":{"name":"none"}},"collapse":{"field":"n","inner_hits":{"name":"i","size":1000}}`: "size 1000",
		`"suggest":{"s":{"prefix":"a","completion":{"field":"all","size":0}}}`:                             "[size] 0",
	} {
		e := n.must(400, "POST /ix/_search", "{"+body+"}")["error"].(map[string]any)
		if !strings.Contains(fmt.Sprint(e["reason"]), reason) {
			t.Errorf("%s: %v, want %s", body, e["reason"], reason)
		}
	}
}

// track_total_hits is as in OpenSearch, where -1 is no total.
func TestTrackTotalHits(t *testing.T) {
	n := newNode(t)
	for i := range 5 {
		n.must(201, fmt.Sprintf("PUT /ix/_doc/%d?refresh=true", i), `{"name":"a"}`)
	}
	for value, want := range map[string]any{
		"true": "5 eq", `"true"`: "5 eq", "false": nil, "-1": nil, "0": "0 gte", "3": "3 gte", "5": "5 eq", "10": "5 eq",
	} {
		for _, more := range []string{"", `,"sort":"_doc"`, `,"size":0`, `,"size":2`} {
			got := n.must(200, "POST /ix/_search", `{"query":{"match":{"name":"a"}},"track_total_hits":`+value+more+"}")["hits"].(map[string]any)["total"]
			if o, ok := got.(map[string]any); ok {
				got = fmt.Sprint(o["value"], " ", o["relation"])
			}
			if got != want {
				t.Errorf("track_total_hits %s%s: %v, want %v", value, more, got, want)
			}
		}
	}
	for _, bad := range []string{"null", "-2", "1.5", `"x"`} {
		n.must(400, "POST /ix/_search", `{"track_total_hits":`+bad+"}")
	}
}

// Values that a field cannot hold are faults of a query text at their byte, or match nothing in a lenient one.
func TestFaultsOfValues(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"mappings":{"properties":{"name":{"type":"text"},"n":{"type":"long"},"d":{"type":"date"},"at":{"type":"geo_point"},"no":{"type":"text","index":false},"ip":{"type":"ip"}}}}`)
	n.must(201, "PUT /ix/_doc/1?refresh=true", `{"name":"fox","n":5}`)
	for text, want := range map[string]string{
		"fox n:abc":           "byte 6: field \"n\" of type long cannot hold \"abc\": not a number",
		"fox && n:(5 abc)":    "byte 12: field \"n\" of type long",
		"d:[2024 TO soon]":    "byte 2: field \"d\" of type date cannot hold \"soon\"",
		"d:>soon":             "byte 2: field \"d\"",
		"at:5":                "byte 3: field \"at\" is of type geo_point",
		"no:fox":              "byte 3: field \"no\" cannot be searched: its mapping has index false",
		"ip:10.0.0.300":       "byte 3: field \"ip\"",
		"n:5*":                "byte 2: field \"n\" is of type long, which has no terms",
		"name:/fo[x/":         "byte 5: regular expression",
		"-n:abc fox":          "byte 3: field",
		"\"fox\" n:\"a b\"^2": "byte 8: field",
	} {
		q, _ := json.Marshal(text)
		e := n.must(400, "POST /ix/_search", `{"query":{"query_string":{"query":`+string(q)+`}}}`)["error"].(map[string]any)
		if !strings.Contains(fmt.Sprint(e["reason"]), want) {
			t.Errorf("%s: %v, want %s", text, e["reason"], want)
		}
		n.must(200, "POST /ix/_search", `{"query":{"query_string":{"query":`+string(q)+`,"lenient":true}}}`)
	}
	for body, want := range map[string]int{
		`{"query":"fox n:abc","lenient":true}`:                             1,
		`{"query":"fox AND n:abc","lenient":true}`:                         0,
		`{"query":"+fox -n:abc","lenient":true}`:                           1,
		`{"query":"fox","fields":["n","name","d","ip"],"lenient":true}`:    1,
		`{"query":"5","fields":["n","name","d","at","no"],"lenient":true}`: 1,
	} {
		hits := n.must(200, "POST /ix/_search", `{"query":{"query_string":`+body+`}}`)["hits"].(map[string]any)["hits"].([]any)
		if len(hits) != want {
			t.Errorf("%s: %d hits, want %d", body, len(hits), want)
		}
	}
}

// Words of filters are highlighted, as in OpenSearch.
func TestHighlightsOfFilters(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"mappings":{"properties":{"name":{"type":"text"},"kind":{"type":"keyword"}}}}`)
	n.must(201, "PUT /ix/_doc/1?refresh=true", `{"name":"a red fox runs","kind":"animal"}`)
	for query, want := range map[string]string{
		`{"bool":{"filter":[{"match":{"name":"fox"}}]}}`:                                                                     `{"name":["a red <em>fox</em> runs"]}`,
		`{"bool":{"must":{"match":{"name":"red"}},"filter":[{"term":{"kind":"animal"}}]}}`:                                   `{"kind":["<em>animal</em>"],"name":["a <em>red</em> fox runs"]}`,
		`{"bool":{"must":{"match":{"name":"red"}},"must_not":[{"match":{"name":"cat"}}]}}`:                                   `{"name":["a <em>red</em> fox runs"]}`,
		`{"function_score":{"query":{"prefix":{"name":"fo"}},"weight":2}}`:                                                   `{"name":["a red <em>fox</em> runs"]}`,
		`{"function_score":{"query":{"match":{"name":"red"}},"functions":[{"filter":{"match":{"name":"fox"}},"weight":2}]}}`: `{"name":["a <em>red</em> fox runs"]}`,
	} {
		hit := n.must(200, "POST /ix/_search", `{"query":`+query+`,"highlight":{"fields":{"*":{}}}}`)["hits"].(map[string]any)["hits"].([]any)[0].(map[string]any)
		got, _ := json.Marshal(hit["highlight"])
		if !sameJSON(string(sorted(t, string(got))), string(sorted(t, want))) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// Addresses are shown in their normal form, and the format of a named field wins over a pattern.
func TestShownValues(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"mappings":{"properties":{"i":{"type":"ip"},"d":{"type":"date","format":"yyyy/MM/dd||epoch_millis"},"b":{"type":"boolean"},"u":{"type":"long"}}}}`)
	n.must(201, "PUT /ix/_doc/1?refresh=true", `{"i":["2001:DB8:0::1","10.0.0.1","::ffff:1.2.3.4"],"d":["2020/01/02",0],"b":["true",false],"u":9223372036854775807}`)
	for body, want := range map[string]string{
		`"fields":["*"]`:          `{"i":["2001:db8::1","10.0.0.1","1.2.3.4"],"d":["2020/01/02","1970/01/01"],"b":[true,false],"u":[9223372036854775807]}`,
		`"docvalue_fields":["*"]`: `{"i":["1.2.3.4","10.0.0.1","2001:db8::1"],"d":["1970/01/01","2020/01/02"],"b":[false,true],"u":[9223372036854775807]}`,
		`"fields":["*",{"field":"d","format":"epoch_millis"}]`:  `{"i":["2001:db8::1","10.0.0.1","1.2.3.4"],"d":["1577923200000","0"],"b":[true,false],"u":[9223372036854775807]}`,
		`"docvalue_fields":[{"field":"d","format":"yyyy"},"*"]`: `{"i":["1.2.3.4","10.0.0.1","2001:db8::1"],"d":["1970","2020"],"b":[false,true],"u":[9223372036854775807]}`,
	} {
		if got := n.do("POST /ix/_search", `{"_source":false,`+body+`}`).Body.String(); !strings.Contains(got, `"fields":`+want+`}`) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
