package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func suggestNode(t *testing.T) *node {
	t.Helper()
	n := newNode(t)
	n.must(200, "PUT /books", `{"settings":{"analyzer":"english"},"mappings":{"properties":{"title":{"type":"text","fields":{"keyword":{"type":"keyword"}}},
		"plain":{"type":"text","analyzer":"simple"},"sold":{"type":"integer"},"genre":{"type":"keyword"}}}}`)
	for i, doc := range []string{
		`{"title":"Moby Dick","plain":"the white whale hunts whaling ships","sold":5,"genre":"sea"}`,
		`{"title":"Mobile computing","plain":"white papers about whales and devices","sold":9,"genre":"computing"}`,
		`{"title":"The Old Man and the Sea","plain":"an old man catches a white fish","sold":7,"genre":"sea"}`,
		`{"title":"Moby Dick","plain":"the white whale again","sold":2,"genre":"sea"}`,
	} {
		n.must(201, fmt.Sprintf("PUT /books/_doc/%d?refresh=true", i+1), doc)
	}
	return n
}

// Suggesters answer in the form of OpenSearch.
func TestSuggest(t *testing.T) {
	n := suggestNode(t)
	for request, want := range map[string]string{
		`{"my":{"text":"whte 𝄞 wale","term":{"field":"plain","min_word_length":3}}}`: `{"my":[{"text":"whte","offset":0,"length":4,"options":[{"text":"white","score":0.75,"freq":4},{"text":"whale","score":0.5,"freq":2}]},` +
			`{"text":"wale","offset":8,"length":4,"options":[{"text":"whale","score":0.75,"freq":2},{"text":"whales","score":0.5,"freq":1}]}]}`,
		`{"text":"catchs","my":{"term":{"field":"plain","sort":"frequency","size":1}}}`:                                                                                                        `{"my":[{"text":"catchs","offset":0,"length":6,"options":[{"text":"catches","score":0.8333333333333334,"freq":1}]}]}`,
		`{"my":{"text":"white","term":{"field":"plain"}}}`:                                                                                                                                     `{"my":[{"text":"white","offset":0,"length":5,"options":[]}]}`,
		`{"my":{"prefix":"mob","completion":{"field":"title.keyword"}}}`:                                                                                                                       `{"my":[{"text":"mob","offset":0,"length":3,"options":[{"text":"Moby Dick","_index":"books","_id":"1","_score":2},{"text":"Mobile computing","_index":"books","_id":"2","_score":1}]}]}`,
		`{"my":{"prefix":"mob","completion":{"field":"title","weight":"sold","size":1,"_source":["sold"]}}}`:                                                                                   `{"my":[{"text":"mob","offset":0,"length":3,"options":[{"text":"Mobile computing","_index":"books","_id":"2","_score":9,"_source":{"sold":9}}]}]}`,
		`{"my":{"prefix":"mboy","completion":{"field":"title.keyword","fuzzy":{"fuzziness":1}}}}`:                                                                                              `{"my":[{"text":"mboy","offset":0,"length":4,"options":[{"text":"Moby Dick","_index":"books","_id":"1","_score":2}]}]}`,
		`{"my":{"text":"whit wale","phrase":{"field":"plain","max_errors":2,"size":1,"highlight":{"pre_tag":"<","post_tag":">"},"direct_generator":[{"field":"plain","min_word_length":1}]}}}`: `{"my":[{"text":"whit wale","offset":0,"length":9,"options":[{"text":"white whale","highlighted":"<white> <whale>","score":`,
	} {
		w := n.do("POST /books/_search", `{"suggest":`+request+`}`)
		var answer struct {
			Suggest json.RawMessage `json:"suggest"`
			Hits    struct {
				Total struct{ Value int } `json:"total"`
			} `json:"hits"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
			t.Fatalf("%s: status %d: %s", request, w.Code, w.Body)
		}
		if got := string(answer.Suggest); !strings.HasPrefix(got, want) || strings.HasSuffix(want, "}") && got != want || answer.Hits.Total.Value != 0 {
			t.Errorf("%s: %s\nwant %s", request, w.Body, want)
		}
	}
	got := n.must(200, "POST /books/_search?typed_keys=true", `{"query":{"match":{"plain":"old"}},"suggest":{"a":{"text":"wite","term":{"field":"plain"}}}}`)
	if ids(got) != "3" || at(got, "suggest.term#a.0.options.0.text") != "white" {
		t.Errorf("a search with suggestions: %v", got)
	}
	n.must(200, "DELETE /books/_doc/3?refresh=true", "")
	got = n.must(200, "POST /books/_search", `{"suggest":{"a":{"text":"catchs","term":{"field":"plain"}}}}`)
	if options := at(got, "suggest.a.0.options").([]any); len(options) != 0 {
		t.Errorf("a word of a deleted document is suggested: %v", options)
	}
}

func TestSuggestErrors(t *testing.T) {
	n := suggestNode(t)
	for request, want := range map[string]string{
		`{"a":{"text":"x","terms":{"field":"plain"}}}`:                                                   "suggester [terms] not supported",
		`{"a":{"text":"x"}}`:                                                                             "without a suggester",
		`{"a":{"term":{"field":"plain"}}}`:                                                               "text option is missing",
		`{"a":{"prefix":"x","term":{"field":"plain"}}}`:                                                  "[prefix]",
		`{"a":{"text":"x","term":{"field":"none"}}}`:                                                     "field [none]",
		`{"a":{"text":"x","term":{"field":"sold"}}}`:                                                     "has no terms",
		`{"a":{"text":"x","term":{"field":"plain","max_inspections":3}}}`:                                "[max_inspections]",
		`{"a":{"text":"x","term":{"field":"plain","suggest_mode":"often"}}}`:                             "[suggest_mode] often",
		`{"a":{"text":"x","term":{"field":"plain","string_distance":"ngram"}}}`:                          "[string_distance] ngram",
		`{"a":{"text":"x","phrase":{"field":"plain","collate":{}}}}`:                                     "[collate]",
		`{"a":{"text":"x","phrase":{"field":"plain","direct_generator":[{"field":"title"}]}}}`:           "want the same",
		`{"a":{"prefix":"x","completion":{"field":"title.keyword","skip_duplicates":false}}}`:            "[skip_duplicates]",
		`{"a":{"prefix":"x","completion":{"field":"title.keyword","weight":"genre"}}}`:                   "no numbers",
		`{"a":{"prefix":"x","completion":{"field":"title.keyword","fuzzy":{"fuzziness":3}}}}`:            "want 0, 1, 2, AUTO or AUTO:low,high",
		`{"a":{"prefix":"x","completion":{"field":"title.keyword"},"term":{"field":"plain"}}}`:           "want one suggester",
		`{"a":{"prefix":"x","completion":{"field":"title.keyword","contexts":{"place":["somewhere"]}}}}`: "[contexts]",
	} {
		w := n.do("POST /books/_search", `{"suggest":`+request+`}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant 400 and %s", request, w.Code, w.Body, want)
		}
	}
}

func TestMoreLikeThis(t *testing.T) {
	n := suggestNode(t)
	for request, want := range map[string]string{
		`{"fields":["plain"],"like":{"_id":"1"},"min_term_freq":1,"min_doc_freq":2}`:                                       "2 3 4",
		`{"fields":["plain"],"like":[{"_index":"books","_id":"1"}],"min_term_freq":1,"min_doc_freq":2,"include":true}`:     "1 2 3 4",
		`{"fields":["genre","plain"],"like":{"_id":"3"},"min_term_freq":1,"min_doc_freq":3,"minimum_should_match":"100%"}`: "1 4",
		`{"fields":["plain"],"like":"whale","min_term_freq":1,"min_doc_freq":0}`:                                           "1 4",
		`{"fields":["plain"],"like":"whale fish","unlike":"whale","min_term_freq":1,"min_doc_freq":1}`:                     "3",
		`{"fields":["plain"],"like":"whale whale"}`:                                                                        "",
		`{"fields":["plain"],"like":{"_id":"99"}}`:                                                                         "",
		`{"like":"mobiles","min_term_freq":1,"min_doc_freq":1}`:                                                            "2",
	} {
		got := sortedIDs(ids(n.must(200, "POST /books/_search", `{"query":{"more_like_this":`+request+`}}`)))
		if got != want {
			t.Errorf("%s: %q, want %q", request, got, want)
		}
	}
	for request, want := range map[string]string{
		`{"fields":["plain"]}`:                             "[like]",
		`{"like":{"doc":{"a":1}}}`:                         "[doc]",
		`{"like":{"_index":"other","_id":"1"}}`:            "[_index]",
		`{"like":"x","analyzer":"simple"}`:                 "[analyzer]",
		`{"like":"x","fields":["title^2"]}`:                "factors",
		`{"like":"x","fields":["sold"],"min_term_freq":1}`: "no terms",
		`{"like":"x","minimum_should_match":"many"}`:       "[minimum_should_match]",
	} {
		w := n.do("POST /books/_search", `{"query":{"more_like_this":`+request+`}}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d: %s\nwant 400 and %s", request, w.Code, w.Body, want)
		}
	}
}
