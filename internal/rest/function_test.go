package rest

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestFunctionScore(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /shop", `{"settings":{"analyzer":"simple"},"mappings":{"properties":{"name":{"type":"text"},"sold":{"type":"integer"},"price":{"type":"double"},
		"day":{"type":"date"},"at":{"type":"geo_point"},"kind":{"type":"keyword"}}}}`)
	for i, doc := range []string{
		`{"name":"shoe","sold":[100,9],"price":20,"day":"2024-01-10","at":{"lat":50,"lon":10},"kind":"a"}`,
		`{"name":"shoe","sold":4,"price":30,"day":"2024-01-20","at":{"lat":51,"lon":10},"kind":"b"}`,
		`{"name":"shoe","kind":"b"}`,
	} {
		n.must(201, fmt.Sprintf("PUT /shop/_doc/%d?refresh=true", i+1), doc)
	}
	for request, want := range map[string]string{
		`"weight":3`: "1=3 2=3 3=3",
		`"functions":[{"weight":3,"filter":{"term":{"kind":"b"}}}]`:                                      "2=3 3=3 1=1",
		`"field_value_factor":{"field":"sold"}`:                                                          "1=9 2=4 3=1",
		`"field_value_factor":{"field":"sold","modifier":"sqrt","factor":4,"missing":25}`:                "3=10 1=6 2=4",
		`"field_value_factor":{"field":"price","modifier":"reciprocal"},"weight":2`:                      "3=1 1=0.1 2=0.0667",
		`"gauss":{"price":{"origin":20,"scale":"10"}}`:                                                   "1=1 3=1 2=0.5",
		`"exp":{"price":{"origin":"25","scale":5,"offset":5}}`:                                           "1=1 2=1 3=1",
		`"linear":{"day":{"origin":"2024-01-10","scale":"10d","decay":0.25}}`:                            "1=1 3=1 2=0.25",
		`"gauss":{"at":{"origin":{"lat":50,"lon":10},"scale":"111.2km"}}`:                                "1=1 3=1 2=0.5",
		`"gauss":{"at":{"origin":[10,50],"scale":"111.2km"},"multi_value_mode":"max"}`:                   "1=1 3=1 2=0.5",
		`"functions":[{"weight":2},{"weight":6,"filter":{"ids":{"values":["1"]}}}],"score_mode":"sum"`:   "1=8 2=2 3=2",
		`"functions":[{"weight":2},{"weight":6,"filter":{"ids":{"values":["1"]}}}],"score_mode":"first"`: "1=2 2=2 3=2",
		`"functions":[{"weight":2},{"weight":6,"filter":{"ids":{"values":["1"]}}}],"score_mode":"max"`:   "1=6 2=2 3=2",
		`"functions":[{"weight":2},{"weight":6,"filter":{"ids":{"values":["1"]}}}],"max_boost":5`:        "1=5 2=2 3=2",
		`"functions":[{"weight":2},{"weight":6,"filter":{"ids":{"values":["1"]}}}],"min_score":3`:        "1=12",
		`"functions":[{"weight":0}]`: "1=0 2=0 3=0",
		`"functions":[]`:             "1=1 2=1 3=1",
	} {
		body := `{"query":{"function_score":{"query":{"constant_score":{"filter":{"match":{"name":"shoe"}}}},` + request + `}}}`
		hits, _ := at(n.must(200, "POST /shop/_search", body), "hits.hits").([]any)
		var got []string
		for _, h := range hits {
			got = append(got, fmt.Sprintf("%v=%v", at(h, "_id"), math.Round(at(h, "_score").(float64)*1e4)/1e4))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", request, strings.Join(got, " "), want)
		}
	}
	total := at(n.must(200, "POST /shop/_search", `{"query":{"function_score":{"functions":[{"weight":2,"filter":{"term":{"kind":"b"}}}],"min_score":2}}}`), "hits.total.value")
	if total != 2.0 {
		t.Errorf("%v documents have the least score, want 2", total)
	}
	random := func(seed string) string {
		return ids(n.must(200, "POST /shop/_search", `{"query":{"function_score":{"random_score":{"seed":`+seed+`,"field":"_id"},"boost_mode":"replace"}}}`))
	}
	seen := map[string]bool{}
	for seed := range 20 {
		s := fmt.Sprint(seed)
		first, second := random(s), random(s)
		if seen[first] = true; first != second {
			t.Errorf("seed %d gives the orders %s and %s", seed, first, second)
		}
	}
	if len(seen) < 3 {
		t.Errorf("20 seeds give %d orders", len(seen))
	}
	n.must(200, "POST /shop/_search", `{"query":{"function_score":{"random_score":{}}}}`)
	answer := n.must(200, "POST /shop/_search", `{"explain":true,"query":{"function_score":{"query":{"match":{"name":"shoe"}},"field_value_factor":{"field":"sold"},"weight":2}}}`)
	if detail, _ := at(answer, "hits.hits.0._explanation.details.1.details.0.description").(string); detail != "weight(2) * none(sold * 1)" ||
		at(answer, "hits.hits.0._explanation.details.1.details.0.value") != 18.0 {
		t.Errorf("explanation %v", at(answer, "hits.hits.0._explanation"))
	}
}

func TestFunctionScoreErrors(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /shop", `{"mappings":{"properties":{"name":{"type":"text"},"sold":{"type":"integer"},"day":{"type":"date"},"at":{"type":"geo_point"},"kind":{"type":"keyword"}}}}`)
	for request, want := range map[string]string{
		`"script_score":{"script":{"source":"1"}}`:                       "scripts are not supported",
		`"functions":[{"script_score":{}}]`:                              "scripts are not supported",
		`"functions":[{"filter":{"match_all":{}}}]`:                      "without a weight",
		`"functions":[{"weight":1}],"random_score":{}`:                   "want one of them",
		`"gauss":{"sold":{"origin":1,"scale":1}},"random_score":{}`:      "want one of them",
		`"score_mode":"median"`:                                          "[score_mode] median",
		`"boost_mode":"minus"`:                                           "[boost_mode] minus",
		`"weight":-1`:                                                    "[weight] -1",
		`"max_boost":0`:                                                  "[max_boost] 0",
		`"power":2`:                                                      "[power]",
		`"field_value_factor":{"field":"name"}`:                          "no field \\\"name\\\" of numbers",
		`"field_value_factor":{"field":"kind"}`:                          "has no numbers",
		`"field_value_factor":{"field":"sold","modifier":"cube"}`:        "[modifier] cube",
		`"field_value_factor":{}`:                                        "[field]",
		`"gauss":{"sold":{"origin":1}}`:                                  "[scale]",
		`"gauss":{"sold":{"origin":"x","scale":1}}`:                      "no number",
		`"gauss":{"sold":{"origin":1,"scale":0}}`:                        "must be greater than 0",
		`"gauss":{"sold":{"origin":1,"scale":1,"decay":1}}`:              "[decay] 1",
		`"gauss":{"sold":{"scale":1},"day":{"scale":"1d"}}`:              "want one field, not 2: [day], [sold]",
		`"gauss":{"day":{"scale":"1 week"}}`:                             "no", // no time
		`"gauss":{"at":{"origin":"nowhere","scale":"1km"}}`:              "origin",
		`"gauss":{"name":{"origin":"1","scale":"1"}}`:                    "numbers, dates or points",
		`"gauss":{"sold":{"origin":1,"scale":1},"multi_value_mode":"x"}`: "[multi_value_mode] x",
		`"random_score":{"field":"name"}`:                                "numbers",
	} {
		w := n.do("POST /shop/_search", `{"query":{"function_score":{`+request+`}}}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant 400 and %s", request, w.Code, w.Body, want)
		}
	}
}
