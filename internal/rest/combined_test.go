package rest

import (
	"fmt"
	"strings"
	"testing"
)

func TestCombinedFields(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /people", `{"settings":{"analyzer":"english"},"mappings":{"properties":{"first":{"type":"text"},"last":{"type":"text"},
		"note":{"type":"text","analyzer":"simple"},"kind":{"type":"keyword"},"born":{"type":"integer"}}}}`)
	for i, doc := range []string{
		`{"first":"Walt","last":"Smith","note":"actors and walt","kind":"Smith","born":1968}`,
		`{"first":"Smith","last":"Jones","note":"a jones","kind":"other","born":1970}`,
		`{"first":"Ann","last":"Walt","note":"smith","kind":"other","born":1980}`,
	} {
		n.must(201, fmt.Sprintf("PUT /people/_doc/%d?refresh=true", i+1), doc)
	}
	for request, want := range map[string]string{
		`{"combined_fields":{"query":"walt smith","fields":["first","last"],"operator":"and"}}`:                       "1",
		`{"combined_fields":{"query":"walt smith","fields":["first^3","last"]}}`:                                      "1 2 3",
		`{"combined_fields":{"query":"walt smith jones","fields":["first","last"],"minimum_should_match":2}}`:         "1 2",
		`{"multi_match":{"query":"smith jones","type":"cross_fields","fields":["first","last"],"operator":"and"}}`:    "2",
		`{"multi_match":{"query":"walt smith","type":"cross_fields","fields":["f*","last","note"],"operator":"and"}}`: "1",
		`{"multi_match":{"query":"Smith","type":"cross_fields","fields":["last","kind"]}}`:                            "1",
		`{"query_string":{"query":"+walt +smith","type":"cross_fields","fields":["first^2","last"]}}`:                 "1",
		`{"query_string":{"query":"+(walt OR ann) +\"jones\"","type":"cross_fields","fields":["first","last"]}}`:      "",
		`{"query_string":{"query":"jon* note:actors","type":"cross_fields","fields":["first","last"]}}`:               "1 2",
	} {
		if got := sortedIDs(ids(n.must(200, "POST /people/_search", `{"query":`+request+`}`))); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	// A word in one of the fields scores as in the only field of all texts.
	answer := n.must(200, "POST /people/_search", `{"explain":true,"query":{"combined_fields":{"query":"jones","fields":["first^2","last"]}}}`)
	details, _ := at(answer, "hits.hits.0._explanation.details.0.description").(string)
	if !strings.Contains(details, "first^2 last^1:jone") || !strings.Contains(details, "freq 1, length 3, average 3") {
		t.Errorf("explanation %q", details)
	}
	for request, want := range map[string]string{
		`{"combined_fields":{"query":"x","fields":["first","note"]}}`:                               "different analyzers",
		`{"combined_fields":{"query":"x","fields":["first","kind"]}}`:                               "only texts are combined",
		`{"combined_fields":{"query":"x"}}`:                                                         "[fields]",
		`{"combined_fields":{"query":"x","fields":["first"],"fuzziness":1}}`:                        "[fuzziness]",
		`{"multi_match":{"query":"x","type":"cross_fields","fields":["first","born"]}}`:             "only texts are combined",
		`{"multi_match":{"query":"x","type":"cross_fields","fields":["first"],"tie_breaker":0.3}}`:  "[tie_breaker]",
		`{"multi_match":{"query":"x","type":"cross_fields","fields":["first"],"fuzziness":"AUTO"}}`: "[fuzziness]",
		`{"query_string":{"query":"x","type":"most_fields","fields":["first"]}}`:                    "[type] most_fields",
		`{"query_string":{"query":"x","type":"cross_fields"}}`:                                      "needs [fields]",
	} {
		w := n.do("POST /people/_search", `{"query":`+request+`}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant 400 and %s", request, w.Code, w.Body, want)
		}
	}
}
