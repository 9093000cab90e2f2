package rest

import (
	"encoding/json"
	"net/http"
	"testing"
)

// FuzzSearch sends any body to _search: the answer is JSON, and an error is the client's.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{
		`{"query":{"combined_fields":{"query":"a b","fields":["name^2","*"]}}}`,
		`{"query":{"multi_match":{"query":"a b","type":"cross_fields","fields":["name","kind"]}},"explain":true}`,
		`{"query":{"query_string":{"query":"+a \"b c\"~2 d*","type":"cross_fields","fields":["name","*"]}}}`,
		`{"query":{"more_like_this":{"like":["a b",{"_id":"1"}],"unlike":"c","min_term_freq":1,"min_doc_freq":1,"boost_terms":2}}}`,
		`{"query":{"function_score":{"functions":[{"filter":{"exists":{"field":"n"}},"weight":2,"gauss":{"n":{"origin":1,"scale":2}}},{"random_score":{"seed":1}}],"min_score":0.5}}}`,
		`{"query":{"function_score":{"field_value_factor":{"field":"n","modifier":"log","missing":-1},"boost_mode":"replace"}}}`,
		`{"suggest":{"text":"ab","a":{"term":{"field":"name","min_word_length":1}},"b":{"phrase":{"field":"name"}},"c":{"prefix":"x","completion":{"field":"kind","fuzzy":true}}}}`,
		`{"collapse":{"field":"kind","inner_hits":{"name":"x","size":2,"sort":["n"]}},"sort":[{"n":"desc"}]}`,
		`{"query":{"bool":{"must":{"match":{"name":"a"}},"must_not":{"bool":{"filter":{"range":{"n":{"gt":1}}},"must_not":{"term":{"kind":"x"}}}}}}}`,
		`{"query":{"terms_set":{"kind":{"terms":["x","Y"],"minimum_should_match_field":"n","boost":2}}},"sort":[{"day":"asc"},{"at":{"order":"desc"}}]}`,
		`{"query":{"geo_polygon":{"place":{"points":["1,2",[3,4],{"lat":5,"lon":1}]}}},"sort":[{"_geo_distance":{"place":"1,2"}}]}`,
		`{"query":{"bool":{"filter":[{"wildcard":{"code":"A?*"}},{"range":{"day":{"gte":"now-1y/d","time_zone":"+01:00"}}},{"term":{"host":"10.0.0.0/8"}}]}}}`,
		`{"aggs":{"k":{"terms":{"field":"kind"},"aggs":{"t":{"top_hits":{"highlight":{"fields":{"*":{}}},"fields":["n*"],"explain":true,"sort":["real"]}}}}}}`,
		`{"aggs":{"s":{"significant_terms":{"field":"kind","chi_square":{"include_negatives":true},"min_doc_count":1,"background_filter":{"exists":{"field":"n"}}}},
			"c":{"composite":{"sources":[{"a":{"terms":{"field":"ok"}}},{"d":{"date_histogram":{"field":"day","calendar_interval":"1M"}}}]}},
			"p":{"percentiles":{"field":"real"}},"h":{"histogram":{"field":"real","interval":0.5}},"r":{"date_range":{"field":"day","ranges":[{"to":"now"}]}}}}`,
		`{"query":{"neural_sparse":{"model":{"query_tokens":{"a":1.5}}}},"highlight":{"fields":{"*":{"number_of_fragments":0}}},"fields":["*"],"track_total_hits":1}`,
		`{"suggest":{"c":{"prefix":"a","completion":{"field":"code","weight":"n","fuzzy":{"fuzziness":1}}}},"post_filter":{"ids":{"values":["1"]}},"min_score":0.1}`,
	} {
		f.Add(seed)
	}
	n := newNode(f)
	n.must(200, "PUT /shop", `{"settings":{"analyzer":"simple"},"mappings":{"dynamic":"false","properties":{"name":{"type":"text"},"kind":{"type":"keyword"},"n":{"type":"long"},
		"code":{"type":"keyword","normalizer":"lowercase"},"day":{"type":"date"},"real":{"type":"double"},"ok":{"type":"boolean"},"host":{"type":"ip"},"place":{"type":"geo_point"},"model":{"type":"sparse_vector"}}}}`)
	for _, doc := range []string{
		`{"name":"a b","kind":"x","n":1}`, `{"name":"b c","kind":"y","n":2}`,
		`{"name":["c","d"],"kind":["x","z"],"code":"AB","day":"2024-02-29","real":[0.5,-1],"ok":true,"host":"10.0.0.1","place":{"lat":1.5,"lon":2},"model":{"a":1,"b":2}}`, `{"name":"a d d"}`,
	} {
		n.must(201, "POST /shop/_doc?refresh=true", doc)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := n.do("POST /shop/_search", body)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("%q: status %d: %s", body, w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %s", body, w.Body)
		}
	})
}
