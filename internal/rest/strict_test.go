package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// strictBodies are searches that use every option of every query, aggregation and part of a search.
var strictBodies = []string{
	`{"from":0,"size":1,"track_total_hits":true,"track_scores":true,"explain":true,"version":true,"seq_no_primary_term":true,"min_score":0,"profile":false}`,
	`{"_source":{"includes":["t"],"excludes":["k"]},"stored_fields":["_source"]}`,
	`{"fields":[{"field":"d","format":"yyyy"}],"docvalue_fields":[{"field":"d","format":"yyyy"}]}`,
	`{"sort":[{"n":{"order":"asc","missing":"_last","mode":"min","unmapped_type":"long"}},{"_score":{"order":"desc"}},{"_geo_distance":{"g":"1,2","order":"asc","unit":"km"}}]}`,
	`{"sort":[{"n":"asc"}],"search_after":[1]}`,
	`{"collapse":{"field":"k","max_concurrent_group_searches":1,"inner_hits":[{"name":"i","size":1,"from":0,"sort":["n"],"_source":true,"version":true}]}}`,
	`{"post_filter":{"term":{"k":{"value":"a","boost":1}}}}`,
	`{"highlight":{"fields":{"t":{"fragment_size":10,"number_of_fragments":1,"no_match_size":5,"require_field_match":true,"type":"plain"}},"pre_tags":["a"],"post_tags":["b"],"encoder":"html"}}`,
	`{"suggest":{"s":{"text":"a","term":{"field":"t","suggest_mode":"always","size":1,"sort":"score","max_edits":1,"prefix_length":1,"min_word_length":3,"min_doc_freq":0,"max_term_freq":1,"string_distance":"internal"}}}}`,
	`{"suggest":{"s":{"text":"a","phrase":{"field":"t","size":1,"max_errors":1,"confidence":1,"real_word_error_likelihood":0.9,"highlight":{"pre_tag":"a","post_tag":"b"},"direct_generator":[{"field":"t"}]}}}}`,
	`{"suggest":{"s":{"prefix":"a","completion":{"field":"k","size":1,"skip_duplicates":true,"weight":"n","_source":false,"fuzzy":{"fuzziness":1,"transpositions":true,"min_length":1,"prefix_length":1}}}}}`,
	`{"query":{"match":{"t":{"query":"a","operator":"and","minimum_should_match":1,"fuzziness":1,"prefix_length":1,"max_expansions":1,"fuzzy_transpositions":true,"lenient":true,"zero_terms_query":"none","boost":1}}}}`,
	`{"query":{"match_bool_prefix":{"t":{"query":"a","operator":"and","boost":1}}}}`,
	`{"query":{"match_phrase":{"t":{"query":"a","slop":1,"boost":1}}}}`,
	`{"query":{"match_phrase_prefix":{"t":{"query":"a","slop":1,"max_expansions":2,"boost":1}}}}`,
	`{"query":{"multi_match":{"query":"a","fields":["t","k"],"type":"best_fields","operator":"or","minimum_should_match":1,"tie_breaker":0.5,"lenient":true,"boost":1}}}`,
	`{"query":{"combined_fields":{"query":"a","fields":["t"],"operator":"or","minimum_should_match":1,"boost":1}}}`,
	`{"query":{"query_string":{"query":"a","default_operator":"or","fields":["t"],"type":"best_fields","tie_breaker":0,"minimum_should_match":1,"lenient":true,"time_zone":"UTC","boost":1}}}`,
	`{"query":{"query_string":{"query":"a","default_field":"t"}}}`,
	`{"query":{"simple_query_string":{"query":"a","fields":["t"],"default_operator":"or","minimum_should_match":1,"boost":1}}}`,
	`{"query":{"bool":{"must":[{"match_all":{"boost":1}}],"should":{"match_none":{"boost":1}},"must_not":[{"term":{"k":"a"}}],"filter":[{"terms":{"k":["a","b"],"boost":1}}],"minimum_should_match":0,"boost":1}}}`,
	`{"query":{"dis_max":{"queries":[{"match_all":{}}],"tie_breaker":0.1,"boost":1}}}`,
	`{"query":{"boosting":{"positive":{"match_all":{}},"negative":{"match_none":{}},"negative_boost":0.5,"boost":1}}}`,
	`{"query":{"constant_score":{"filter":{"match_all":{}},"boost":1}}}`,
	`{"query":{"more_like_this":{"like":["a",{"_id":"1"}],"unlike":"b","fields":["t"],"min_term_freq":1,"min_doc_freq":1,"max_doc_freq":9,"min_word_length":1,"max_word_length":9,"stop_words":["x"],"max_query_terms":5,"minimum_should_match":1,"boost_terms":1,"include":true,"boost":1}}}`,
	`{"query":{"function_score":{"query":{"match_all":{}},"functions":[{"filter":{"match_all":{}},"weight":2},{"random_score":{"seed":1,"field":"n"}},{"field_value_factor":{"field":"n","factor":1,"modifier":"log1p","missing":1}},{"gauss":{"n":{"origin":1,"scale":2,"offset":0,"decay":0.5},"multi_value_mode":"min"}}],"score_mode":"sum","boost_mode":"sum","max_boost":3,"min_score":0,"boost":1}}}`,
	`{"query":{"function_score":{"weight":2}}}`,
	`{"query":{"neural_sparse":{"v":{"query_tokens":{"a":1},"max_token_score":1,"boost":1}}}}`,
	`{"query":{"term":{"k":{"value":"a","case_insensitive":true,"boost":1}}}}`,
	`{"query":{"terms_set":{"k":{"terms":["a"],"minimum_should_match_field":"n","boost":1}}}}`,
	`{"query":{"ids":{"values":["1"],"boost":1}}}`,
	`{"query":{"prefix":{"k":{"value":"a","case_insensitive":true,"rewrite":"constant_score","boost":1}}}}`,
	`{"query":{"wildcard":{"k":{"wildcard":"a*","case_insensitive":false,"boost":1}}}}`,
	`{"query":{"regexp":{"k":{"value":"a.*","case_insensitive":true,"max_determinized_states":99,"flags":"ALL","boost":1}}}}`,
	`{"query":{"fuzzy":{"k":{"value":"a","fuzziness":1,"prefix_length":1,"max_expansions":9,"transpositions":true,"boost":1}}}}`,
	`{"query":{"range":{"d":{"gte":"2020","lt":"2021","format":"yyyy","time_zone":"UTC","relation":"intersects","boost":1}}}}`,
	`{"query":{"range":{"n":{"from":1,"to":2,"include_lower":true,"include_upper":false}}}}`,
	`{"query":{"geo_distance":{"g":{"lat":1,"lon":2},"distance":"1km","distance_type":"arc","validation_method":"STRICT","ignore_unmapped":true,"boost":1}}}`,
	`{"query":{"geo_bounding_box":{"g":{"top_left":{"lat":2,"lon":1},"bottom_right":{"lat":1,"lon":2}},"type":"memory","ignore_unmapped":true,"boost":1}}}`,
	`{"query":{"geo_bounding_box":{"g":{"top":2,"left":1,"bottom":1,"right":2}}}}`,
	`{"query":{"geo_polygon":{"g":{"points":["1,1","1,2","2,2"]},"ignore_unmapped":true,"boost":1}}}`,
	`{"query":{"exists":{"field":"n","boost":1}}}`,
	`{"aggs":{"a":{"terms":{"field":"k","size":1,"shard_size":5,"min_doc_count":1,"order":{"_count":"desc"},"missing":"x","include":["a"],"exclude":["b"],"show_term_doc_count_error":false},"meta":{"x":1},"aggs":{"m":{"max":{"field":"n","missing":1}}}}}}`,
	`{"aggs":{"a":{"multi_terms":{"terms":[{"field":"k","missing":"x"},{"field":"n"}],"size":1,"min_doc_count":1,"order":{"_count":"desc"}}}}}`,
	`{"aggs":{"a":{"significant_terms":{"field":"k","size":1,"min_doc_count":1,"jlh":{}}}}}`,
	`{"aggs":{"a":{"histogram":{"field":"n","interval":5,"offset":1,"min_doc_count":0,"missing":1,"keyed":false,"extended_bounds":{"min":0,"max":5},"order":{"_key":"asc"}}}}}`,
	`{"aggs":{"a":{"date_histogram":{"field":"d","calendar_interval":"month","time_zone":"UTC","format":"yyyy","offset":"1h","min_doc_count":0,"missing":"2020-01-01","keyed":false,"order":{"_key":"asc"}}}}}`,
	`{"aggs":{"a":{"date_histogram":{"field":"d","fixed_interval":"1d"}}}}`,
	`{"aggs":{"a":{"auto_date_histogram":{"field":"d","buckets":5,"time_zone":"UTC","format":"yyyy","minimum_interval":"day"}}}}`,
	`{"aggs":{"a":{"range":{"field":"n","ranges":[{"key":"x","from":1,"to":2}],"keyed":true,"missing":1}}}}`,
	`{"aggs":{"a":{"date_range":{"field":"d","ranges":[{"from":"2020","to":"2021"}],"format":"yyyy","time_zone":"UTC","missing":"2020","keyed":false}}}}`,
	`{"aggs":{"a":{"filter":{"term":{"k":"a"}}}}}`,
	`{"aggs":{"a":{"filters":{"filters":{"x":{"match_all":{}}},"other_bucket":true,"other_bucket_key":"o"}}}}`,
	`{"aggs":{"a":{"missing":{"field":"n"}}}}`,
	`{"aggs":{"a":{"global":{}}}}`,
	`{"aggs":{"a":{"composite":{"size":5,"sources":[{"x":{"terms":{"field":"k","order":"asc","missing_bucket":true}}},{"h":{"histogram":{"field":"n","interval":5}}},{"d":{"date_histogram":{"field":"d","calendar_interval":"day","format":"yyyy-MM-dd"}}}]}}}}`,
	`{"aggs":{"a":{"stats":{"field":"n","missing":1}},"b":{"extended_stats":{"field":"n","sigma":2}},"c":{"value_count":{"field":"n"}},"d":{"cardinality":{"field":"n","precision_threshold":10,"missing":1}}}}`,
	`{"aggs":{"a":{"percentiles":{"field":"n","percents":[50],"keyed":true,"missing":1}},"b":{"percentile_ranks":{"field":"n","values":[1],"keyed":true}}}}`,
	`{"aggs":{"a":{"top_hits":{"size":1,"from":0,"sort":[{"n":{"order":"asc"}}],"_source":{"includes":["t"]},"version":true,"highlight":{"fields":{"t":{}}},"docvalue_fields":["n"]}}}}`,
}

// unnamedKeys are paths of objects whose keys are names of the user, or that hold anything.
var unnamedKeys = []string{"meta", "query_tokens"}

// otherTypes are values that have several types: null, numbers and texts.
var otherTypes = map[string]string{
	"_source": "text", "_source.excludes": "text", "_source.includes": "text", "fields[0]": "number text", "docvalue_fields[0]": "number text",
	"fields[0].format": "null", "docvalue_fields[0].format": "null", "search_after[0]": "null number",
	"collapse.inner_hits": "null", "collapse.inner_hits[0]._source": "text", "suggest.s.completion._source": "text",
	"post_filter.term.k": "number text", "query.match.t": "number text", "query.match_bool_prefix.t": "number text", "query.match_phrase.t": "number text",
	"query.match_phrase_prefix.t": "number text", "query.term.k": "number text", "query.prefix.k": "number text", "query.wildcard.k": "number text",
	"query.regexp.k": "number text", "query.fuzzy.k": "number text", "query.terms_set.k.terms": "number text", "query.ids.values": "number text",
	"query.more_like_this.like": "number text", "query.more_like_this.like[1]": "number text", "query.more_like_this.stop_words": "number text",
	"query.function_score.functions[1].random_score.seed": "number text", "query.function_score.functions[2].field_value_factor.factor": "number",
	"query.function_score.functions[2].field_value_factor.missing": "number", "query.function_score.functions[3].gauss.n.origin": "number",
	"query.range.d.gte": "null", "query.range.d.lt": "null", "query.range.n.from": "null number", "query.range.n.to": "null number",
	"aggs.a.terms.include": "text", "aggs.a.terms.exclude": "text", "aggs.a.aggs.m.max.missing": "number", "aggs.a.histogram.missing": "number",
	"aggs.a.histogram.offset": "number", "aggs.a.range.ranges[0].key": "null", "aggs.a.range.ranges[0].from": "null number", "aggs.a.range.ranges[0].to": "null number",
	"aggs.a.range.missing": "number", "aggs.a.date_range.ranges[0].from": "null", "aggs.a.date_range.ranges[0].to": "null", "aggs.a.stats.missing": "number",
	"aggs.d.cardinality.missing": "number", "aggs.a.percentiles.missing": "number", "aggs.b.percentile_ranks.values[0]": "number",
	"aggs.a.top_hits._source": "text", "aggs.a.top_hits._source.includes": "text",
}

// strictNode has an index with a field of each kind.
func strictNode(t *testing.T) *node {
	n := newNode(t)
	n.must(200, "PUT /a", `{"mappings":{"properties":{"t":{"type":"text"},"k":{"type":"keyword"},"n":{"type":"long"},"d":{"type":"date"},"g":{"type":"geo_point"},"v":{"type":"sparse_vector"}}}}`)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"t":"a b","k":"a","n":1,"d":"2020-05-01","g":"1,2","v":{"a":1}}`)
	return n
}

// mutation is a body with one value changed.
type mutation struct {
	path string // of the value
	body any
}

// mutations changes each value of a body with f, which returns false for none.
func mutations(body any, f func(path string, value any) (any, bool)) (out []mutation) {
	var walk func(path string, value any, rebuild func(any) any)
	walk = func(path string, value any, rebuild func(any) any) {
		if changed, ok := f(path, value); ok {
			out = append(out, mutation{path, rebuild(changed)})
		}
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				walk(strings.TrimPrefix(path+"."+key, "."), value[key], func(v any) any {
					copied := maps.Clone(value)
					copied[key] = v
					return rebuild(copied)
				})
			}
		case []any:
			for i := range value {
				walk(fmt.Sprintf("%s[%d]", path, i), value[i], func(v any) any {
					copied := slices.Clone(value)
					copied[i] = v
					return rebuild(copied)
				})
			}
		}
	}
	walk("", body, func(v any) any { return v })
	return out
}

// An unknown key anywhere in a search is an error with its name, byte and path.
func TestUnknownKeys(t *testing.T) {
	n := strictNode(t)
	for _, text := range strictBodies {
		n.must(200, "POST /a/_search", text)
		for _, m := range mutations(decoded(t, []byte(text)), func(path string, value any) (any, bool) {
			object, ok := value.(map[string]any)
			if !ok || slices.Contains(unnamedKeys, path[strings.LastIndex(path, ".")+1:]) {
				return nil, false
			}
			object = maps.Clone(object)
			object["zz_unknown"] = 1
			return object, true
		}) {
			body, err := json.Marshal(m.body)
			if err != nil {
				t.Fatal(err)
			}
			w := n.do("POST /a/_search", string(body))
			reason := fmt.Sprint(at(decoded(t, w.Body.Bytes()), "error.reason"))
			if w.Code != 400 || !strings.Contains(reason, "zz_unknown") || !strings.Contains(reason, "(byte ") {
				t.Errorf("%s: %d %.300s", body, w.Code, reason)
			}
		}
	}
}

// A value of a wrong type anywhere in a search is an error with its byte and path.
func TestWrongTypes(t *testing.T) {
	n := strictNode(t)
	for _, text := range strictBodies {
		for kind, wrong := range map[string]any{
			"null": nil, "object": map[string]any{"zz": map[string]any{"zz": 1}}, "list": []any{[]any{map[string]any{}}}, "number": -987654321.5, "text": "zz\x00wrong",
		} {
			for _, m := range mutations(decoded(t, []byte(text)), func(path string, value any) (any, bool) {
				_, fromText := value.(string)
				either := fromText && (kind == "text" || kind == "number") || path == "" || strings.Contains(path, "meta")
				return wrong, !either && !strings.Contains(otherTypes[path], kind)
			}) {
				body, err := json.Marshal(m.body)
				if err != nil {
					t.Fatal(err)
				}
				w := n.do("POST /a/_search", string(body))
				reason := fmt.Sprint(at(decoded(t, w.Body.Bytes()), "error.reason"))
				if w.Code != 400 || !strings.Contains(reason, "(byte ") || strings.Contains(reason, "bad input") {
					t.Errorf("%s at %s: %d %.300s", body, m.path, w.Code, reason)
				}
			}
		}
	}
}

// Options of one field do not affect the fields after it.
func TestOptionsOfOneField(t *testing.T) {
	var s searchRequest
	text := `{"fragment_size":50,"number_of_fragments":3,"require_field_match":true,"fields":[{"a":{"fragment_size":10,"number_of_fragments":1,"require_field_match":false}},{"b":{}}]}`
	if err := s.parseHighlight(nil, "highlight", json.RawMessage(text)); err != nil {
		t.Fatal(err)
	}
	a, b := s.highlight.options.Fields[0], s.highlight.options.Fields[1]
	if a.FragmentSize != 10 || a.Fragments != 1 || !a.AnyField || b.FragmentSize != 50 || b.Fragments != 3 || b.AnyField {
		t.Errorf("%+v, %+v", a, b)
	}
}

// A body where none has a meaning is an error, and nothing is done; an empty one of unknown length is none.
func TestBodiless(t *testing.T) {
	n := strictNode(t)
	for _, target := range []string{
		"GET /", "GET /a", "DELETE /a", "GET /a/_doc/1", "DELETE /a/_doc/1", "POST /a/_refresh", "GET /_refresh", "POST /a/_flush", "POST /_flush",
		"POST /a/_forcemerge", "POST /_forcemerge", "GET /a/_settings", "GET /_settings", "GET /a/_mapping", "GET /_mapping",
		"GET /a/_mapping/field/n", "GET /a/_export", "GET /_cat/indices", "GET /_cat/indices/a", "GET /_cluster/health", "GET /_cluster/health/a",
		"GET /_snapshot", "GET /_snapshot/r", "GET /_snapshot/r/s", "DELETE /_snapshot/r/s",
	} {
		method, path, _ := strings.Cut(target, " ")
		w := n.do(target, `{"query":{"match_all":{}}}`)
		want := "request [" + method + " " + path + "] does not support having a body"
		if got := at(decoded(t, w.Body.Bytes()), "error.reason"); w.Code != 400 || got != want {
			t.Errorf("%s: %d %v", target, w.Code, got)
		}
	}
	req := httptest.NewRequest(http.MethodPost, "/a/_refresh", strings.NewReader(""))
	req.ContentLength = -1
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if n.h.ServeHTTP(w, req); w.Code != 200 {
		t.Errorf("an empty body: %d %s", w.Code, w.Body)
	}
	n.must(200, "GET /a", "")
}
