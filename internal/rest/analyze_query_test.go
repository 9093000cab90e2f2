package rest

import (
	"fmt"
	"testing"
)

// Synonyms apply to queries: "query" shows them.
func TestAnalyzeQueries(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", `{"settings":{"analysis":{"filter":{"places":{"type":"synonym","synonyms":["usa, america"]}},"analyzer":{"names":{"tokenizer":"standard","filter":["lowercase","places"]}}}},
		"mappings":{"properties":{"name":{"type":"text","analyzer":"names"}}}}`)
	for body, want := range map[string]string{
		`{"field":"name","text":"USA"}`:                                           "[usa]",
		`{"field":"name","text":"USA","query":false}`:                             "[usa]",
		`{"field":"name","text":"USA","query":true}`:                              "[usa america]",
		`{"analyzer":"names","text":"America","query":true}`:                      "[america usa]",
		`{"tokenizer":"standard","filter":["lowercase"],"text":"A","query":true}`: "[a]",
	} {
		terms := []string{}
		for _, token := range n.must(200, "POST /ix/_analyze", body)["tokens"].([]any) {
			terms = append(terms, token.(map[string]any)["token"].(string))
		}
		if fmt.Sprint(terms) != want {
			t.Errorf("%s: %v, want %s", body, terms, want)
		}
	}
	n.must(400, "POST /ix/_analyze", `{"field":"name","text":"USA","query":"maybe"}`)
}
