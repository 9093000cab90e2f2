package rest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each query of the API finds the documents that its OpenSearch documentation describes, and scores
// them in that order.
func TestQueries(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /books", `{"settings":{"analyzer":"simple"},"mappings":{"dynamic":"strict","properties":{
		"title":{"type":"text"},"author":{"type":"text"},"code":{"type":"text"}}}}`)
	for i, doc := range []string{
		`{"title":"Moby Dick","author":"Herman Melville","code":"a17"}`,
		`{"title":"The White Whale","author":"Anna Melvil","code":"b17"}`,
		`{"title":"White big whale of the north","author":"Dick North"}`,
		`{"title":"Wales, a country","author":"Gareth Jones","code":"a200"}`,
	} {
		n.must(201, fmt.Sprintf("PUT /books/_doc/%d?refresh=true", i+1), doc)
	}
	unordered := func(ids string) string { return "any " + ids } // equal scores, or an order that does not matter
	for _, test := range []struct{ query, want string }{
		{`{"match_all":{}}`, "1 2 3 4"},
		{`{"match_all":{"boost":2}}`, "1 2 3 4"},
		{`{"match_none":{}}`, ""},
		{`{"bool":{}}`, "1 2 3 4"},
		{`{"bool":{"must":{"match":{"title":"white"}}}}`, unordered("2 3")},
		{`{"bool":{"must":[{"match":{"title":"white"}}],"must_not":{"term":{"title":"big"}}}}`, "2"},
		{`{"bool":{"must_not":[{"exists":{"field":"code"}}]}}`, "3"},
		{`{"bool":{"filter":[{"term":{"title":"white"}}],"should":[{"match":{"author":"north"}}]}}`, "3 2"},
		{`{"bool":{"filter":[{"prefix":{"code":"a"}}]}}`, "1 4"},
		{`{"bool":{"should":[{"match":{"title":"moby"}},{"match":{"title":"dick"}},{"match":{"author":"dick"}}],"minimum_should_match":2}}`, "1"},
		{`{"bool":{"should":[{"match":{"title":"moby"}},{"match":{"author":"dick"}}],"minimum_should_match":"50%"}}`, unordered("1 3")},
		{`{"bool":{"should":[{"match":{"title":"white"}},{"bool":{"must":[{"match":{"title":"moby"}},{"match":{"author":"herman"}}]}}]}}`, unordered("1 2 3")},
		{`{"boosting":{"positive":{"match":{"title":"white"}},"negative":{"match":{"title":"the"}},"negative_boost":0.1}}`, unordered("2 3")},
		{`{"boosting":{"positive":{"constant_score":{"filter":{"match":{"title":"white whale"}}}},"negative":{"term":{"code":"b17"}},"negative_boost":0.5}}`, "3 2"},
		{`{"constant_score":{"filter":{"match":{"title":"white whale wales"}},"boost":3}}`, "2 3 4"},
		{`{"dis_max":{"queries":[{"constant_score":{"filter":{"term":{"title":"white"}}}},{"constant_score":{"filter":{"term":{"title":"wales"}},"boost":2}}]}}`, "4 2 3"},
		{`{"exists":{"field":"code"}}`, "1 2 4"},
		{`{"ids":{"values":["3","1","9"]}}`, "1 3"},
		{`{"term":{"title":"white"}}`, unordered("2 3")},
		{`{"term":{"title":{"value":"White"}}}`, ""},
		{`{"term":{"_id":"2"}}`, "2"},
		{`{"terms":{"title":["moby","wales"]}}`, "1 4"},
		{`{"terms":{"_id":["4","2"]}}`, "2 4"},
		{`{"terms":{"title":[]}}`, ""},
		{`{"prefix":{"title":"wh"}}`, "2 3"},
		{`{"prefix":{"title":{"value":"wh","boost":2}}}`, "2 3"},
		{`{"wildcard":{"title":"w?ale*"}}`, "2 3"},
		{`{"wildcard":{"title":{"wildcard":"*ales"}}}`, "4"},
		{`{"regexp":{"title":"w(h)?ales?"}}`, "2 3 4"},
		{`{"regexp":{"code":{"value":"[ab]<10-99>","max_determinized_states":50}}}`, "1 2"},
		{`{"fuzzy":{"title":"whales"}}`, unordered("2 3 4")},
		{`{"fuzzy":{"title":{"value":"whales","fuzziness":1,"prefix_length":2}}}`, unordered("2 3")},
		{`{"fuzzy":{"title":{"value":"hwale","fuzziness":"1"}}}`, unordered("2 3")},
		{`{"fuzzy":{"title":{"value":"hwale","fuzziness":"1","transpositions":false}}}`, ""},
		{`{"range":{"code":{"gte":"a17","lt":"b"}}}`, "1 4"},
		{`{"range":{"code":{"gt":"a17"}}}`, "2 4"},
		{`{"range":{"code":{"lte":"a200","gte":null}}}`, "1 4"},
		{`{"match":{"title":{"query":"white dick","operator":"and"}}}`, ""},
		{`{"match":{"title":{"query":"moby whitee","fuzziness":"AUTO"}}}`, unordered("1 2 3")},
		{`{"match":{"title":{"query":"white whale big moby","minimum_should_match":"75%"}}}`, "3"},
		{`{"match_bool_prefix":{"title":"big wha"}}`, "3 2"},
		{`{"match_phrase":{"title":"white whale"}}`, "2"},
		{`{"match_phrase":{"title":{"query":"white whale","slop":1}}}`, "2 3"},
		{`{"match_phrase":{"title":{"query":"whale white","slop":2}}}`, "2"},
		{`{"match_phrase_prefix":{"title":"the wh"}}`, "2"},
		{`{"match_phrase_prefix":{"title":{"query":"wh","max_expansions":1}}}`, unordered("2 3")},
		{`{"multi_match":{"query":"dick","fields":["title","author"]}}`, unordered("1 3")},
		{`{"multi_match":{"query":"dick","fields":["title^0.01","author"],"tie_breaker":0.3}}`, "3 1"},
		{`{"multi_match":{"query":"dick","fields":["tit*"]}}`, "1"},
		{`{"multi_match":{"query":"whale north","fields":["title","author"],"type":"most_fields"}}`, "3 2"},
		{`{"multi_match":{"query":"white whale","fields":["title","author"],"type":"phrase"}}`, "2"},
		{`{"multi_match":{"query":"moby di","fields":["title","author"],"type":"phrase_prefix"}}`, "1"},
		{`{"multi_match":{"query":"dick","fields":["*"]}}`, unordered("1 3")},
		{`{"query_string":{"query":"title:(white whale) -author:anna"}}`, "3"},
		{`{"query_string":{"query":"white whale","default_operator":"AND","default_field":"title"}}`, unordered("2 3")},
		{`{"query_string":{"query":"dick","fields":["title","author^3"]}}`, unordered("1 3")},
		{`{"query_string":{"query":"moby white big","minimum_should_match":"2"}}`, "3"},
		{`{"query_string":{"query":"code:[a17 TO b} AND wal*"}}`, "4"},
		{`{"query_string":{"query":"whale (","lenient":true}}`, unordered("2 3")},
		{`{"simple_query_string":{"query":"white + -big | moby","fields":["title"]}}`, unordered("1 2")},
		{`{"simple_query_string":{"query":"\"white whale\"~1 wale~1","default_operator":"and"}}`, unordered("2 3")},
	} {
		got := ids(n.must(200, "POST /books/_search", `{"query":`+test.query+`}`))
		want, anyOrder := strings.CutPrefix(test.want, "any ")
		if anyOrder {
			got = sortedIDs(got)
		}
		if got != want {
			t.Errorf("%s finds %q, want %q", test.query, got, want)
		}
	}
	counted := at(n.must(200, "POST /books/_count", `{"query":{"bool":{"must_not":{"prefix":{"code":"a"}}}}}`), "count")
	if counted != 2.0 {
		t.Errorf("%v documents counted, want 2", counted)
	}
	for query, want := range map[string]float64{
		`{"prefix":{"title":{"value":"wh","boost":2}}}`: 2, `{"bool":{"filter":{"match_all":{}}}}`: 0, `{"constant_score":{"filter":{"exists":{"field":"code"}},"boost":1.5}}`: 1.5,
		`{"bool":{"must_not":{"match_none":{}}}}`: 0, `{"bool":{"must":{"match_all":{}},"boost":3}}`: 3,
	} {
		if got := at(n.must(200, "POST /books/_search", `{"query":`+query+`}`), "hits.max_score"); got != want {
			t.Errorf("%s has the best score %v, want %v", query, got, want)
		}
	}
	n.must(200, "POST /books/_delete_by_query?refresh=true", `{"query":{"regexp":{"code":"b.*"}}}`)
	if got := ids(n.must(200, "GET /books/_search?q=title:wh*", "")); got != "3" {
		t.Errorf("after the deletion: %q", got)
	}
}

func sortedIDs(ids string) string {
	sorted := strings.Fields(ids)
	slices.Sort(sorted)
	return strings.Join(sorted, " ")
}
