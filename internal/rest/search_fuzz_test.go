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
	} {
		f.Add(seed)
	}
	n := newNode(f)
	n.must(200, "PUT /shop", `{"settings":{"analyzer":"simple"},"mappings":{"dynamic":"false","properties":{"name":{"type":"text"},"kind":{"type":"keyword"},"n":{"type":"long"}}}}`)
	for _, doc := range []string{`{"name":"a b","kind":"x","n":1}`, `{"name":"b c","kind":"y","n":2}`, `{"name":"a d d"}`} {
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
