package rest

import (
	"strings"
	"testing"
)

// A keyword is too long as it is written or in its normal form.
func TestLongKeywords(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"analysis":{"char_filter":{"x":{"type":"mapping","mappings":["x => `+strings.Repeat("y", 1000)+`"]}},"normalizer":{"wide":{"char_filter":"x"}}}},
		"mappings":{"properties":{"plain":{"type":"keyword"},"wide":{"type":"keyword","normalizer":"wide"}}}}`)
	for body, length := range map[string]string{
		`{"plain":"` + strings.Repeat("y", 33_000) + `"}`: "33000",
		`{"wide":"` + strings.Repeat("x", 33) + `"}`:      "33000",
	} {
		w := n.do("PUT /a/_doc/1", body)
		for _, part := range []string{`"type":"mapper_parsing_exception"`, length + " bytes, at most 32768: set ignore_above"} {
			if w.Code != 400 || !strings.Contains(w.Body.String(), part) {
				t.Errorf("no %s in status %d: %s", part, w.Code, w.Body)
			}
		}
	}
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"wide":"`+strings.Repeat("x", 32)+`"}`)
	if got := n.hits("a", `{"exists":{"field":"wide"}}`); got != 1.0 {
		t.Errorf("%v hits", got)
	}
}
