package rest

import "testing"

// The first document of an index that a write makes declares its strings as fields. Later documents do
// not: their other strings are found by the default field.
func TestFieldsOfTheFirstDocument(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /books/_doc/1?refresh=true", `{"title":"Moby-Dick","text":"Call me Ishmael","meta":{"author":["Melville"]},"year":1851,"bad name":"x","_own":"y"}`)
	n.must(201, "PUT /books/_doc/2?refresh=true", `{"title":"Emma","later":"Ishmael"}`)
	for query, want := range map[string]float64{
		`{"match":{"text":"ishmael"}}`:         1,
		`{"match":{"meta.author":"melville"}}`: 1,
		`{"match":{"title":"emma"}}`:           1,
		`{"match":{"*":"ishmael"}}`:            2,
		`{"match":{"text":"emma"}}`:            0,
	} {
		answer := n.must(200, "POST /books/_search", `{"query":`+query+`}`)
		total := answer["hits"].(map[string]any)["total"].(map[string]any)["value"]
		if total != want {
			t.Errorf("%s: %v hits, want %v", query, total, want)
		}
	}
	n.must(400, "POST /books/_search", `{"query":{"match":{"later":"ishmael"}}}`)
	n.must(200, "POST /made/_bulk?refresh=true", `{"index":{"_id":"1"}}`+"\n"+`{"text":"roc"}`+"\n")
	n.must(200, "POST /made/_search", `{"query":{"match":{"text":"roc"}}}`)
}
