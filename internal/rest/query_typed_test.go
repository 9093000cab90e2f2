package rest

import (
	"fmt"
	"strings"
	"testing"
)

// Queries of typed fields find the documents that their OpenSearch documentation describes.
func TestTypedQueries(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /shop", `{"mappings":{"properties":{"name":{"type":"text","fields":{"keyword":{"type":"keyword"}}},"price":{"type":"double"},
		"stock":{"type":"integer"},"since":{"type":"date"},"new":{"type":"boolean"},"tags":{"type":"keyword"},"host":{"type":"ip"},"at":{"type":"geo_point"}}}}`)
	for i, doc := range []string{
		`{"name":"Red shoes","price":19.99,"stock":3,"since":"2024-01-15","new":false,"tags":["red","Shoe"],"host":"10.0.0.1","at":{"lat":48.85,"lon":2.35}}`,
		`{"name":"Blue shoes","price":25,"stock":0,"since":"2024-03-01T10:00:00Z","new":true,"tags":["blue"],"host":"10.0.1.7","at":"52.52,13.40"}`,
		`{"name":"Hat","price":[5,30],"stock":12,"since":"2023-12-31","tags":[],"at":[-74.0,40.7]}`,
		`{"name":"Red hat"}`,
	} {
		n.must(201, fmt.Sprintf("PUT /shop/_doc/%d?refresh=true", i+1), doc)
	}
	for query, want := range map[string]string{
		`{"range":{"price":{"gte":19.99,"lt":25}}}`:                                                           "1",
		`{"range":{"price":{"gt":19.99}}}`:                                                                    "2 3",
		`{"range":{"stock":{"gt":0.5,"lte":"3"}}}`:                                                            "1",
		`{"range":{"since":{"gte":"2024-01-15","lte":"2024-03-01"}}}`:                                         "1 2",
		`{"range":{"since":{"lt":"2024-01-15||/M"}}}`:                                                         "3",
		`{"range":{"since":{"gte":"15.01.2024","format":"dd.MM.yyyy","time_zone":"+01:00"}}}`:                 "1 2",
		`{"range":{"host":{"gte":"10.0.0.0","lte":"10.0.0.255"}}}`:                                            "1",
		`{"range":{"tags":{"gt":"blue"}}}`:                                                                    "1",
		`{"term":{"price":25}}`:                                                                               "2",
		`{"term":{"price":{"value":"30.0","boost":2}}}`:                                                       "3",
		`{"term":{"new":true}}`:                                                                               "2",
		`{"term":{"tags":"shoe"}}`:                                                                            "",
		`{"term":{"tags":"Shoe"}}`:                                                                            "1",
		`{"term":{"host":"10.0.0.0/16"}}`:                                                                     "1 2",
		`{"term":{"since":"2024-01-15"}}`:                                                                     "1",
		`{"terms":{"stock":[0,12,99]}}`:                                                                       "2 3",
		`{"terms":{"name.keyword":["Hat","Red hat","hat"]}}`:                                                  "3 4",
		`{"match":{"tags":"red"}}`:                                                                            "1",
		`{"match":{"stock":"12"}}`:                                                                            "3",
		`{"exists":{"field":"price"}}`:                                                                        "1 2 3",
		`{"exists":{"field":"tags"}}`:                                                                         "1 2",
		`{"bool":{"must":{"match":{"name":"shoes"}},"filter":{"range":{"price":{"lt":20}}}}}`:                 "1",
		`{"bool":{"must":{"match":{"name":"hat"}},"must_not":{"exists":{"field":"stock"}}}}`:                  "4",
		`{"prefix":{"name.keyword":"Red"}}`:                                                                   "1 4",
		`{"wildcard":{"tags":"*lu*"}}`:                                                                        "2",
		`{"fuzzy":{"tags":{"value":"bleu","fuzziness":1}}}`:                                                   "2",
		`{"geo_distance":{"distance":"50km","at":{"lat":48.9,"lon":2.3}}}`:                                    "1",
		`{"geo_distance":{"distance":"900","at":"52.52,13.40"}}`:                                              "2",
		`{"geo_bounding_box":{"at":{"top_left":"60,0","bottom_right":{"lat":45,"lon":20}}}}`:                  "1 2",
		`{"terms_set":{"tags":{"terms":["red","blue","shoe"],"minimum_should_match_field":"stock"}}}`:         "2",
		`{"terms_set":{"name":{"terms":["red","shoe"],"minimum_should_match_field":"price"}}}`:                "",
		`{"geo_polygon":{"at":{"points":["60,0",{"lat":45,"lon":0},[20,45],"60,20"]},"boost":2}}`:             "1 2",
		`{"geo_bounding_box":{"at":{"top":45,"left":-80,"bottom":35,"right":-70}}}`:                           "3",
		`{"geo_bounding_box":{"at":{"top_right":[-70,45],"bottom_left":[-80,35]}}}`:                           "3",
		`{"query_string":{"query":"price:[10 TO 25} AND name:shoes"}}`:                                        "1",
		`{"query_string":{"query":"tags:blue || (name:red && !tags:red)","analyze_wildcard":true}}`:           "2 4",
		`{"query_string":{"query":"since:>=2024-03-01T11\\:00 && name:blue","time_zone":"+01:00"}}`:           "2",
		`{"query_string":{"query":"[2024-03-01T11\\:00 TO *]","default_field":"since","time_zone":"+01:00"}}`: "2",
		`{"query_string":{"query":"[2024-03-01T11\\:00 TO *]","fields":["since"],"time_zone":"+01:00"}}`:      "2",
		`{"query_string":{"query":"[2024-03-01T11\\:00 TO *]","default_field":"since"}}`:                      "",
		`{"query_string":{"query":"name:blue !since:>=2024-03-01T11\\:00","time_zone":"+01:00"}}`:             "",
		`{"query_string":{"query":"name:shoes &&!tags:blue"}}`:                                                "1",
		`{"query_string":{"query":"!tags:nothing"}}`:                                                          "1 2 3 4",
		`{"query_string":{"query":"NOT name:shoes -price:30"}}`:                                               "4",
		`{"query_string":{"query":"!shoes","fields":["name","tags"],"boost":2}}`:                              "3 4",
		`{"query_string":{"query":"since:>=2024-03-01T11\\:00 && name:blue"}}`:                                "",
		`{"query_string":{"query":"price:>=25 since:>2024-01-01 -new:true"}}`:                                 "1 3",
		`{"query_string":{"query":"tags:red OR tags:blu* OR _exists_:nothing","lenient":true}}`:               "1 2",
		`{"multi_match":{"query":"red","fields":["name","tags"]}}`:                                            "1 4",
		`{"constant_score":{"filter":{"bool":{"should":[{"term":{"stock":3}},{"term":{"new":true}}]}}}}`:      "1 2",
	} {
		got := sortedIDs(ids(n.must(200, "POST /shop/_search", `{"query":`+query+`}`)))
		if got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{
		`{"range":{"price":{"gt":"cheap"}}}`:                                                  "price",
		`{"range":{"since":{"gt":"soon"}}}`:                                                   "since",
		`{"term":{"host":"10.0.0"}}`:                                                          "host",
		`{"match":{"stock":"many"}}`:                                                          "stock",
		`{"prefix":{"stock":"1"}}`:                                                            "type integer",
		`{"term":{"at":"1,2"}}`:                                                               "geo_point",
		`{"geo_distance":{"distance":"50km","name":"1,2"}}`:                                   "geo_point",
		`{"geo_distance":{"distance":"far","at":"1,2"}}`:                                      "[distance]",
		`{"geo_distance":{"distance":"1km","at":"1,2","host":"3,4"}}`:                         "[at] and [host]",
		`{"geo_distance":{"distance":"1km","at":"91,2"}}`:                                     "[at]",
		`{"geo_polygon":{"at":{"points":["60,0","1,2","60,0"]}}}`:                             "a polygon of 2 different points",
		`{"terms_set":{"tags":{"terms":["a"]}}}`:                                              "needs [minimum_should_match_field]",
		`{"terms_set":{"tags":{"terms":["a"],"minimum_should_match_script":{"source":"1"}}}}`: "a script, which is not supported",
		`{"terms_set":{"stock":{"terms":["1"],"minimum_should_match_field":"stock"}}}`:        "want a keyword or a text",
		`{"terms_set":{"tags":{"terms":["1"],"minimum_should_match_field":"name"}}}`:          "no field \"name\" of numbers",
		`{"geo_polygon":{"at":{}}}`:                                                           "want a list of [points]",
		`{"geo_polygon":{"at":{"points":["60,0","1,2","91,0"]}}}`:                             "want one point",
		`{"geo_bounding_box":{"at":{"top_left":"60,0"}}}`:                                     "bottom_right",
		`{"query_string":{"query":"red","time_zone":"Mars/Base"}}`:                            "[time_zone] Mars/Base: unknown time zone",
		`{"query_string":{"query":"name:x &&& name:y"}}`:                                      "Failed to parse query [name:x &&& name:y]: no operator \"&&\"",
		`{"query_string":{"query":"name:!y"}}`:                                                "write -name:y to exclude",
		`{"query_string":{"query":"+!red"}}`:                                                  "no operator \"!\"",
		`{"query_string":{"query":"!a && (b"}}`:                                               "Failed to parse query [!a && (b]: query syntax: byte 6: ",
		`{"geo_bounding_box":{"at":{"top_left":"40,0","bottom_right":"45,20"}}}`:              "below",
	} {
		answer := n.must(400, "POST /shop/_search", `{"query":`+query+`}`)
		if reason := fmt.Sprint(at(answer, "error.reason")); !strings.Contains(reason, want) {
			t.Errorf("%s: %q, want %q", query, reason, want)
		}
	}
	if got := sortedIDs(ids(n.must(200, "GET /shop/_search?q=NOT+name:shoes", ""))); got != "3 4" {
		t.Errorf("q=NOT name:shoes finds %q", got)
	}
	if got := sortedIDs(ids(n.must(200, "GET /shop/_search?q=price:%3E20", ""))); got != "2 3" {
		t.Errorf("q=price:>20 finds %q", got)
	}
}
