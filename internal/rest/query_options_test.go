package rest

import (
	"strings"
	"testing"
)

// What clients of OpenSearch send with its default is accepted, and texts of any letter case, values that do not fit,
// and points in all forms are found.
func TestQueryOptions(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"properties":{"title":{"type":"text","analyzer":"simple"},"kind":{"type":"keyword"},"size":{"type":"integer"},
		"day":{"type":"date"},"host":{"type":"ip"},"sold":{"type":"boolean"},"at":{"type":"geo_point"}}}}`)
	n.must(201, "PUT /a/_doc/1", `{"title":"red shoe","kind":"Straße 7?","size":5,"day":"2024-05-01","host":"10.0.0.1","sold":true,"at":"POINT (13.4 52.5)"}`)
	n.must(201, "PUT /a/_doc/2", `{"title":"blue hat","kind":"straße 77","size":6,"day":"2025-05-01","host":"10.1.0.1","at":{"type":"Point","coordinates":[2.35,48.85]}}`)
	n.must(201, "PUT /a/_doc/3?refresh=true", `{"title":"red hat","kind":"K.x","at":"u33db8"}`)
	for request, want := range map[string]string{
		`{"match":{"title":{"query":"red","operator":"OR","prefix_length":0,"max_expansions":50,"fuzzy_transpositions":true,"lenient":false,"zero_terms_query":"NONE","auto_generate_synonyms_phrase_query":true,"boost":1.0}}}`:    "1 3",
		`{"match_phrase":{"title":{"query":"red shoe","slop":0,"zero_terms_query":"NONE","boost":1.0}}}`:                                                                                                                            "1",
		`{"match_phrase_prefix":{"title":{"query":"red s","slop":0,"max_expansions":50,"zero_terms_query":"none","boost":1.0}}}`:                                                                                                    "1",
		`{"multi_match":{"query":"hat","fields":"title","type":"best_fields","operator":"OR","slop":0,"prefix_length":0,"max_expansions":50,"zero_terms_query":"NONE","auto_generate_synonyms_phrase_query":true,"lenient":false}}`: "2 3",
		`{"query_string":{"query":"red","fields":["title"],"type":"best_fields","default_operator":"or","max_determinized_states":10000,"enable_position_increments":true,"fuzziness":"AUTO","fuzzy_prefix_length":0,
			"fuzzy_max_expansions":50,"phrase_slop":0,"escape":false,"auto_generate_synonyms_phrase_query":true,"fuzzy_transpositions":true,"boost":1.0}}`: "1 3",
		`{"simple_query_string":{"query":"red","fields":["title"],"flags":-1,"default_operator":"or","analyze_wildcard":false,"auto_generate_synonyms_phrase_query":true,"fuzzy_prefix_length":0,"fuzzy_max_expansions":50,"fuzzy_transpositions":true}}`: "1 3",
		`{"bool":{"must":[{"match":{"title":"red"}}],"adjust_pure_negative":true,"boost":1.0}}`:                                                        "1 3",
		`{"range":{"size":{"from":6,"to":null,"include_lower":true,"include_upper":true,"boost":1.0,"relation":"INTERSECTS"}}}`:                        "2",
		`{"regexp":{"kind":{"value":"K.*","flags_value":255,"max_determinized_states":10000,"rewrite":"constant_score","boost":1.0}}}`:                 "3",
		`{"geo_distance":{"at":[13.4,52.5],"distance":1000.0,"distance_type":"arc","validation_method":"STRICT","ignore_unmapped":false,"boost":1.0}}`: "1",
		`{"ids":{"values":"2"}}`: "2",

		`{"term":{"kind":{"value":"STRASSE 7?","case_insensitive":true}}}`:           "",
		`{"term":{"kind":{"value":"STRAßE 7?","case_insensitive":true}}}`:            "1",
		`{"term":{"kind":{"value":"K.x","case_insensitive":true}}}`:                  "3",
		`{"term":{"kind":{"value":"kxx","case_insensitive":true}}}`:                  "",
		`{"term":{"kind":{"value":"straße 7?","case_insensitive":false}}}`:           "",
		`{"prefix":{"kind":{"value":"sTRA","case_insensitive":true}}}`:               "1 2",
		`{"prefix":{"kind":{"value":"k.","case_insensitive":true}}}`:                 "3",
		`{"wildcard":{"kind":{"value":"S*e 7?","case_insensitive":true}}}`:           "1 2",
		`{"wildcard":{"kind":{"value":"s*e 7\\?","case_insensitive":true}}}`:         "1",
		`{"wildcard":{"kind":{"value":"\\s*E 7?","case_insensitive":true}}}`:         "2",
		`{"wildcard":{"kind":{"value":"s\\*","case_insensitive":true}}}`:             "",
		`{"wildcard":{"kind":{"value":"\\\"*","case_insensitive":true}}}`:            "",
		`{"wildcard":{"kind":{"value":"S*","rewrite":"constant_score"}}}`:            "1",
		`{"regexp":{"kind":{"value":"[sS]tra.e 7(\\?|7)","case_insensitive":true}}}`: "1 2",
		`{"regexp":{"kind":{"value":"[s]TRA.E 7.","case_insensitive":true}}}`:        "1 2",
		`{"regexp":{"kind":{"value":"\"k.\"X","case_insensitive":true}}}`:            "3",
		`{"regexp":{"kind":{"value":"(\"k.\"|\"\")X","case_insensitive":true}}}`:     "3",
		`{"regexp":{"kind":{"value":"[kl]\\.x","case_insensitive":true}}}`:           "3",
		`{"regexp":{"kind":{"value":"[\\k\\d]\\.X","case_insensitive":true}}}`:       "3",
		`{"regexp":{"kind":{"value":"\\k[.-.][]X]","case_insensitive":true}}}`:       "3",
		`{"regexp":{"kind":{"value":"[a-z]\\.x","case_insensitive":true}}}`:          "",
		`{"regexp":{"kind":{"value":"[^k].x","case_insensitive":true}}}`:             "",
		`{"regexp":{"kind":{"value":"\\S\\.\\w","case_insensitive":true}}}`:          "3",
		`{"regexp":{"kind":{"value":"k\\.X","case_insensitive":true}}}`:              "3",

		`{"match":{"size":{"query":"red","lenient":true}}}`:                                     "",
		`{"match":{"size":{"query":"5","lenient":true}}}`:                                       "1",
		`{"match":{"size":{"query":"5.5","lenient":true}}}`:                                     "",
		`{"match":{"day":{"query":"no day","lenient":true}}}`:                                   "",
		`{"match":{"day":{"query":"2024-05","lenient":true}}}`:                                  "1",
		`{"match":{"host":{"query":"10.0.0.0/8","lenient":true}}}`:                              "1 2",
		`{"match":{"host":{"query":"10.0.0.0/99","lenient":true}}}`:                             "",
		`{"match":{"sold":{"query":"maybe","lenient":true}}}`:                                   "",
		`{"multi_match":{"query":"red","fields":["size","title","day","host"],"lenient":true}}`: "1 3",
		`{"multi_match":{"query":"red","fields":["size","day"],"lenient":true}}`:                "",

		`{"multi_match":{"query":"red","fields":["size"],"type":"cross_fields","lenient":true}}`: "",
		`{"geo_distance":{"at":"u33db8","distance":"2km"}}`:                                      "3",
		`{"geo_distance":{"at":"POINT(13.4 52.5)","distance":"30km"}}`:                           "1 3",
		`{"geo_distance":{"at":{"type":"Point","coordinates":[2.35,48.85]},"distance":"1m"}}`:    "2",
		`{"geo_bounding_box":{"at":{"wkt":"BBOX (2, 3, 49, 48)"}}}`:                              "2",
		`{"geo_bounding_box":{"at":{"top_left":"u33","bottom_right":"u33"}}}`:                    "1 3",
		`{"geo_bounding_box":{"at":{"bottom_left":"u09","top_right":"u33"}}}`:                    "1 2 3",
	} {
		if got := sortedIDs(ids(n.must(200, "POST /a/_search", `{"query":`+request+`}`))); got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"match":{"title":{"query":"red","zero_terms_query":"all"}}}`:                                    "[zero_terms_query] all: only none is supported",
		`{"bool":{"adjust_pure_negative":false}}`:                                                         "[adjust_pure_negative] false: only true",
		`{"query_string":{"query":"red","phrase_slop":2}}`:                                                "[phrase_slop] 2: only 0",
		`{"prefix":{"kind":{"value":"a","rewrite":"scoring_boolean"}}}`:                                   "[rewrite] scoring_boolean: only constant_score",
		`{"term":{"_id":{"value":"a","case_insensitive":true}}}`:                                          "ids have a letter case",
		`{"match":{"size":"red"}}`:                                                                        `field \"size\" of type integer cannot hold \"red\"`,
		`{"query_string":{"query":"ki*:red"}}`:                                                            `no pattern of fields \"ki*\"`,
		`{"query_string":{"query":"a\\*:red"}}`:                                                           `no pattern of fields`,
		`{"query_string":{"query":"*:red"}}`:                                                              `no pattern of fields \"*\"`,
		`{"geo_distance":{"at":{"type":"Polygon","coordinates":[1,2]},"distance":"1m"}}`:                  "want one point",
		`{"geo_distance":{"at":"POINT (1 2","distance":"1m"}}`:                                            "want one point",
		`{"geo_distance":{"at":"abc","distance":"1m"}}`:                                                   "want one point",
		`{"geo_bounding_box":{"at":{"wkt":"POLYGON (1 2)"}}}`:                                             "want BBOX",
		`{"regexp":{"kind":{"value":"\"k","case_insensitive":true}}}`:                                     "a quote is not closed",
		`{"regexp":{"kind":{"value":"[k","case_insensitive":true}}}`:                                      "a class is not closed",
		`{"regexp":{"kind":{"value":"[k-","case_insensitive":true}}}`:                                     "byte 3",
		`{"regexp":{"kind":{"value":"k\\","case_insensitive":true}}}`:                                     "escapes nothing",
		`{"match":{"size":{"query":"red","lenient":true,"operator":"xor"}}}`:                              "operator needs to be",
		`{"match":{"size":{"query":"red","lenient":true,"minimum_should_match":"some"}}}`:                 "[minimum_should_match] some",
		`{"match":{"size":{"query":"red","lenient":true,"fuzziness":"far"}}}`:                             "[fuzziness] far",
		`{"multi_match":{"query":"red","fields":["size"],"lenient":true,"type":"bogus"}}`:                 "[type] bogus",
		`{"multi_match":{"query":"red","fields":["size"],"lenient":true,"operator":"xor"}}`:               "operator needs to be",
		`{"multi_match":{"query":"red","fields":["size"],"lenient":true,"tie_breaker":2}}`:                "tie_breaker",
		`{"multi_match":{"query":"red","fields":["size"],"lenient":true,"type":"cross_fields","slop":1}}`: "does not support [slop]",
		`{"multi_match":{"query":"red","fields":["size"],"lenient":true,"type":"phrase","slop":-1}}`:      "slop",
		`{"intervals":{"title":{"match":{"query":"red"}}}}`:                                               "unknown query [intervals]",
	} {
		if w := n.do("POST /a/_search", `{"query":`+body+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant %s", body, w.Code, w.Body, want)
		}
	}
}
