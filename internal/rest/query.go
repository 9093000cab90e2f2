package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// searchQuery is a query of the API: all documents, or a query of the index.
type searchQuery struct {
	all   bool
	boost float64 // of all
	node  query.Node
	mode  griffin.Mode
}

const queryNames = "match, match_all, match_phrase, query_string"

// defaultField are names of the default field, which holds all strings of a document.
var defaultField = []string{"*", "_all"}

// field maps a name to a field of the index.
func (x *Index) field(name string) (string, *Error) {
	switch {
	case slices.Contains(defaultField, name):
		return "", nil
	case x.meta().declared[name]:
		return name, nil
	}
	return "", badRequest("query_shard_exception",
		"failed to create query: field [%s] is not declared in the mapping of index [%s]; declare it when the index is made, or search the strings of all fields as [*]", name, x.name).of(x.name)
}

// single returns the only member of an object.
func single(what string, raw json.RawMessage) (string, json.RawMessage, *Error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return "", nil, badRequest(typeParsing, "[%s] query malformed, want an object", what)
	}
	if len(object) != 1 {
		return "", nil, badRequest(typeParsing, "[%s] query malformed, want one key, not %d", what, len(object))
	}
	for key, value := range object {
		return key, value, nil
	}
	return "", nil, nil
}

// parseQuery reads the value of the key "query".
func (x *Index) parseQuery(raw json.RawMessage) (q searchQuery, err *Error) {
	kind, value, err := single("query", raw)
	if err != nil {
		return q, err
	}
	switch kind {
	case "match_all":
		o, err := options(kind, value, "boost")
		if err != nil {
			return q, err
		}
		boost, err := o.boost()
		return searchQuery{all: true, boost: boost}, err
	case "match":
		return x.parseMatch(value)
	case "match_phrase":
		return x.parsePhrase(value)
	case "query_string":
		o, err := options(kind, value, "query", "default_operator", "default_field", "boost")
		if err != nil {
			return q, err
		}
		text, _ := o.text("query")
		operator, _ := o.text("default_operator")
		field, _ := o.text("default_field")
		if q, err = x.queryString(text, operator, field); err != nil {
			return q, err
		}
		if boost, err := o.boost(); boost != 1 || err != nil {
			q.node = &query.Boolean{Clauses: []query.Clause{{Node: q.node}}, Boost: boost}
			return q, err
		}
		return q, nil
	}
	return q, badRequest(typeParsing, "unknown query [%s]: there are %s", kind, queryNames)
}

// object holds the options of a query.
type object struct {
	of     string
	values map[string]json.RawMessage
}

func options(of string, raw json.RawMessage, known ...string) (o object, err *Error) {
	o.of = of
	if json.Unmarshal(raw, &o.values) != nil || o.values == nil {
		return o, badRequest(typeParsing, "[%s] query malformed, want an object", of)
	}
	for key := range o.values {
		if !slices.Contains(known, key) {
			return o, badRequest(typeParsing, "[%s] query does not support [%s]", of, key)
		}
	}
	return o, nil
}

// text returns a text, or the text of a number or a boolean.
func (o *object) text(key string) (string, bool) {
	raw, ok := o.values[key]
	if !ok {
		return "", false
	}
	return scalarText(raw)
}

func scalarText(raw json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text, true
	}
	raw = bytes.TrimSpace(raw)
	return string(raw), len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && string(raw) != "null"
}

func (o *object) boost() (float64, *Error) {
	boost := 1.0
	if raw, ok := o.values["boost"]; ok {
		if json.Unmarshal(raw, &boost) != nil || boost < query.MinBoost || boost > query.MaxBoost {
			return 0, badRequest(typeParsing, "[%s] query has [boost] %s: want a number from %g to %g", o.of, raw, query.MinBoost, float64(query.MaxBoost))
		}
	}
	return boost, nil
}

// fieldQuery reads {"field": "text"} and {"field": {"query": "text", …}}.
func (x *Index) fieldQuery(of string, raw json.RawMessage, known ...string) (field, text string, o object, err *Error) {
	name, value, err := single(of, raw)
	if err != nil {
		return "", "", o, err
	}
	if field, err = x.field(name); err != nil {
		return "", "", o, err
	}
	if !isObject(string(value)) {
		o.of = of
		o.values = map[string]json.RawMessage{"query": value}
	} else if o, err = options(of, value, known...); err != nil {
		return "", "", o, err
	}
	text, ok := o.text("query")
	if !ok {
		return "", "", o, badRequest(typeParsing, "[%s] query of field [%s] has no text", of, name)
	}
	return field, text, o, nil
}

func (x *Index) parseMatch(raw json.RawMessage) (q searchQuery, err *Error) {
	field, text, o, err := x.fieldQuery("match", raw, "query", "operator", "boost")
	if err != nil {
		return q, err
	}
	boost, err := o.boost()
	if err != nil {
		return q, err
	}
	operator, _ := o.text("operator")
	q.mode, err = modeOf(operator)
	q.node = &query.Words{Field: field, Text: text, Boost: boost}
	return q, err
}

func (x *Index) parsePhrase(raw json.RawMessage) (q searchQuery, err *Error) {
	field, text, o, err := x.fieldQuery("match_phrase", raw, "query", "slop", "boost")
	if err != nil {
		return q, err
	}
	if slop, given := o.text("slop"); given && slop != "0" {
		return q, badRequest(typeParsing, "[match_phrase] query has [slop] %s: only 0 is supported", slop)
	}
	boost, err := o.boost()
	q.node = &query.Phrase{Field: field, Text: text, Boost: boost}
	return q, err
}

func modeOf(operator string) (griffin.Mode, *Error) {
	switch strings.ToLower(operator) {
	case "", "or":
		return griffin.ModeOr, nil
	case "and":
		return griffin.ModeAnd, nil
	}
	return 0, illegal("operator needs to be either OR or AND, but not [%s]", operator)
}

// queryString parses a text in the language of package query. What only looks like an operator or a
// field is an error.
func (x *Index) queryString(text, operator, field string) (q searchQuery, err *Error) {
	if q.mode, err = modeOf(operator); err != nil {
		return q, err
	}
	if field != "" {
		if field, err = x.field(field); err != nil {
			return q, err
		}
	}
	fields := x.meta().Fields
	node, parseErr := query.Parse(text, fields)
	if parseErr != nil {
		return q, badRequest("query_shard_exception", "Failed to parse query [%s]: %v", text, parseErr).of(x.name)
	}
	if hints := query.Hints(text, fields); len(hints) > 0 {
		return q, badRequest("query_shard_exception", "Failed to parse query [%s]: %s", text, strings.Join(hints, "; ")).of(x.name)
	}
	if field != "" {
		if node, parseErr = query.Parse(fmt.Sprintf("%s:(%s)", field, text), fields); parseErr != nil {
			return q, badRequest("query_shard_exception", "Failed to parse query [%s]: %v", text, parseErr).of(x.name)
		}
	}
	q.node = node
	return q, nil
}

// bodyQuery reads a body whose only key is "query"; an empty one is match_all.
func (x *Index) bodyQuery(body []byte, required bool) (q searchQuery, err *Error) {
	if len(body) == 0 {
		body = []byte("{}")
	}
	var o map[string]json.RawMessage
	if e := json.Unmarshal(body, &o); e != nil {
		return q, badRequest(typeParsing, "the body: %s", jsonReason(e))
	}
	for key := range o {
		if key != "query" {
			return q, badRequest(typeParsing, "request does not support [%s]", key)
		}
	}
	if o["query"] == nil {
		if !required {
			return searchQuery{all: true, boost: 1}, nil
		}
		return q, &Error{Status: http.StatusBadRequest, Type: typeValidation, Reason: "Validation Failed: 1: query is missing; all documents match {\"query\":{\"match_all\":{}}}"}
	}
	return x.parseQuery(o["query"])
}
