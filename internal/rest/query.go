package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// searchQuery is a query of the API. all: it matches all documents.
type searchQuery struct {
	all   bool
	boost float64 // of all
	node  query.Node
	mode  griffin.Mode
}

// defaultField are names of the default field, which holds all strings of a document.
var defaultField = []string{"*", "_all"}

// field maps a name to a field of the index.
func (x *Index) field(name string) (string, *Error) {
	if slices.Contains(defaultField, name) {
		return "", nil
	}
	if f, ok := x.meta().fields.Field(name); ok && f.Type != mapping.Object {
		return name, nil
	}
	return "", badRequest(typeShardException,
		"failed to create query: field [%s] is not declared in the mapping of index [%s]; declare it when the index is made, or search the strings of all fields as [*]", name, x.name).of(x.name)
}

const typeShardException = "query_shard_exception"

// single returns the only member of an object.
func single(what string, raw json.RawMessage) (string, json.RawMessage, *Error) {
	var room [2]rawMember
	if members, ok := splitObject(room[:0], raw); ok && len(members) == 1 {
		return members[0].key, members[0].value, nil
	}
	object, bad := decodeObject(raw)
	if bad != nil || object == nil {
		return "", nil, badRequest(typeParsing, "[%s] query malformed, want an object", what).at(raw)
	}
	if len(object) != 1 {
		return "", nil, wantOne(what, "key", raw, object)
	}
	for key, value := range object {
		return key, value, nil
	}
	return "", nil, nil
}

// wantOne is the error of an object that has not one member.
func wantOne(what, want string, raw []byte, object map[string]json.RawMessage) *Error {
	if len(object) == 0 {
		return badRequest(typeParsing, "[%s] query malformed, want one %s, not 0", what, want).at(raw)
	}
	return badRequest(typeParsing, "[%s] query malformed, want one %s, not %d: [%s]", what, want, len(object), strings.Join(slices.Sorted(maps.Keys(object)), "], [")).at(raw)
}

// parseQuery reads the value of the key "query".
func (x *Index) parseQuery(raw json.RawMessage) (q searchQuery, err *Error) {
	p := queryParser{x: x}
	if q.node, err = p.query(raw); err != nil {
		return q, err
	}
	if bad := query.Validate(q.node); bad != nil {
		return q, badRequest(typeShardException, "failed to create query: %v", bad).of(x.name).at(raw)
	}
	if all, ok := q.node.(*query.MatchAll); ok {
		q.all, q.boost = true, all.Boost
	}
	return q, nil
}

// queryParser turns the JSON of a query into nodes.
type queryParser struct {
	x     *Index
	depth int
	check bool // that leaves can be searched
}

// maxQueryDepth bounds queries within one another.
const maxQueryDepth = 50

// queryTypes are the queries by name; init breaks the cycle through queryParser.query.
var queryTypes map[string]func(p *queryParser, raw json.RawMessage) (query.Node, *Error)

func init() {
	queryTypes = map[string]func(p *queryParser, raw json.RawMessage) (query.Node, *Error){
		"bool": (*queryParser).boolean, "boosting": (*queryParser).boosting, "combined_fields": (*queryParser).combinedFields, "constant_score": (*queryParser).constantScore,
		"dis_max": (*queryParser).disMax, "exists": (*queryParser).exists, "function_score": (*queryParser).functionScore, "fuzzy": (*queryParser).fuzzy, "ids": (*queryParser).ids,
		"geo_bounding_box": (*queryParser).geoBox, "geo_distance": (*queryParser).geoDistance, "geo_polygon": geoPolygon,
		"match": (*queryParser).match, "match_all": (*queryParser).matchAll, "match_bool_prefix": (*queryParser).matchBoolPrefix,
		"match_none": (*queryParser).matchNone, "match_phrase": (*queryParser).matchPhrase,
		"match_phrase_prefix": (*queryParser).matchPhrasePrefix, "more_like_this": (*queryParser).moreLikeThis, "multi_match": (*queryParser).multiMatch, "neural_sparse": (*queryParser).neuralSparse,
		"prefix": (*queryParser).prefix, "query_string": (*queryParser).queryString, "range": (*queryParser).rangeQuery,
		"regexp": (*queryParser).regexp, "simple_query_string": (*queryParser).simpleQueryString, "term": (*queryParser).term,
		"terms": (*queryParser).terms, "terms_set": termsSet, "wildcard": (*queryParser).wildcard,
	}
}

func (p *queryParser) query(raw json.RawMessage) (query.Node, *Error) {
	if p.depth == maxQueryDepth {
		return nil, badRequest(typeParsing, "more than %d queries within one another", maxQueryDepth).at(raw)
	}
	p.depth++
	defer func() { p.depth-- }()
	kind, value, err := single("query", raw)
	if err != nil {
		return nil, err
	}
	parse := queryTypes[kind]
	if parse == nil {
		return nil, badRequest(typeParsing, "unknown query [%s]: there are %s", kind, strings.Join(slices.Sorted(maps.Keys(queryTypes)), ", ")).at(value)
	}
	node, err := parse(p, value)
	if p.check && err == nil {
		query.EachLeaf(node, func(leaf query.Node) {
			if bad := p.x.checkLeaf(leaf); bad != nil && err == nil {
				err = badRequest(typeShardException, "%v", bad)
			}
		})
	}
	return node, err.at(value)
}

// queries reads a query or an array of them.
func (p *queryParser) queries(of string, raw json.RawMessage) ([]query.Node, *Error) {
	list := []json.RawMessage{raw}
	if len(raw) > 0 && bytes.TrimSpace(raw)[0] == '[' {
		var ok bool
		if list, ok = decodeList(raw); !ok {
			return nil, badRequest(typeParsing, "[%s] malformed, want an array of queries", of).at(raw)
		}
	}
	nodes := make([]query.Node, len(list))
	for i, raw := range list {
		n, err := p.query(raw)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	return nodes, nil
}

func allDocuments() searchQuery {
	return searchQuery{all: true, boost: 1, node: &query.MatchAll{Boost: 1}}
}

// bodyQuery reads a body whose only key is "query"; an empty one is match_all.
func (x *Index) bodyQuery(body []byte, required bool) (q searchQuery, err *Error) {
	if len(body) == 0 {
		body = []byte("{}")
	}
	o, e := decodeObject(body)
	if e != nil {
		return q, badRequest(typeParsing, "the body: %s", jsonReason(e))
	}
	q, err = x.objectQuery(o, required)
	return q, err.in(body)
}

// objectQuery is bodyQuery for a decoded object.
func (x *Index) objectQuery(o map[string]json.RawMessage, required bool) (q searchQuery, err *Error) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if key != "query" {
			return q, badRequest(typeParsing, "request does not support [%s]", key).at(o[key])
		}
	}
	if o["query"] == nil {
		if !required {
			return allDocuments(), nil
		}
		return q, &Error{Status: http.StatusBadRequest, Type: typeValidation, Reason: "Validation Failed: 1: query is missing; all documents match {\"query\":{\"match_all\":{}}}"}
	}
	return x.parseQuery(o["query"])
}
