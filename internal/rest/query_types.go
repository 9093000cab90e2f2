package rest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/query"
)

// This file has the queries of other queries, and those that match values rather than texts.

func (p *queryParser) matchAll(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("match_all", raw, "boost")
	if err != nil {
		return nil, err
	}
	return &query.MatchAll{Boost: o.boost()}, o.err
}

func (p *queryParser) matchNone(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("match_none", raw, "boost")
	if err == nil {
		o.boost()
		err = o.err
	}
	return &query.IDs{Boost: 1}, err
}

func (p *queryParser) boolean(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("bool", raw, "must", "should", "must_not", "filter", "minimum_should_match", "boost")
	if err != nil {
		return nil, err
	}
	b := &query.Boolean{Boost: o.boost(), AtLeast: o.minimum()}
	positive := false
	for _, part := range []struct {
		key   string
		occur query.Occur
	}{{"must", query.Must}, {"should", query.Should}, {"must_not", query.MustNot}, {"filter", query.Filter}} {
		if o.values[part.key] == nil {
			continue
		}
		nodes, err := p.queries(part.key, o.values[part.key])
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			b.Clauses = append(b.Clauses, query.Clause{Occur: part.occur, Node: n})
			positive = positive || part.occur != query.MustNot
		}
	}
	switch {
	case len(b.Clauses) == 0:
		return &query.MatchAll{Boost: b.Boost}, o.err
	case !positive: // as OpenSearch, with the score 0
		b.Clauses = append(b.Clauses, query.Clause{Occur: query.Filter, Node: &query.MatchAll{Boost: 1}})
	}
	return b, o.err
}

func (p *queryParser) constantScore(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("constant_score", raw, "filter", "boost")
	if err != nil {
		return nil, err
	}
	n, err := p.part(&o, "filter")
	if err != nil {
		return nil, err
	}
	return &query.Constant{Node: n, Score: o.boost()}, o.err
}

// part reads the query that is the value of a key.
func (p *queryParser) part(o *object, key string) (query.Node, *Error) {
	if o.values[key] == nil {
		return nil, badRequest(typeParsing, "[%s] query needs [%s]", o.of, key)
	}
	return p.query(o.values[key])
}

func (p *queryParser) disMax(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("dis_max", raw, "queries", "tie_breaker", "boost")
	if err != nil {
		return nil, err
	}
	if o.values["queries"] == nil {
		return nil, badRequest(typeParsing, "[dis_max] query needs [queries]")
	}
	nodes, err := p.queries("queries", o.values["queries"])
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, badRequest(typeParsing, "[dis_max] query has no [queries]")
	}
	return &query.DisMax{Nodes: nodes, TieBreaker: o.number("tie_breaker", 0, 0, 1), Boost: o.boost()}, o.err
}

func (p *queryParser) boosting(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("boosting", raw, "positive", "negative", "negative_boost", "boost")
	if err != nil {
		return nil, err
	}
	b := &query.Boosting{Boost: o.boost(), NegativeBoost: o.number("negative_boost", 0, 0, 1)}
	o.needed("negative_boost")
	if b.Positive, err = p.part(&o, "positive"); err != nil {
		return nil, err
	}
	if b.Negative, err = p.part(&o, "negative"); err != nil {
		return nil, err
	}
	return b, o.err
}

func (p *queryParser) exists(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("exists", raw, "field", "boost")
	if err != nil {
		return nil, err
	}
	e := &query.Exists{Field: o.needed("field"), Boost: o.boost()}
	if o.err != nil {
		return nil, o.err
	}
	if within := p.x.fieldsWithin(e.Field); within != nil {
		return boosted(query.AnyExists(within), e.Boost), nil
	}
	e.Field, err = p.x.field(e.Field)
	return e, err.at(o.values["field"])
}

// fieldsWithin returns the fields of an object, or those that a name with * matches.
func (x *Index) fieldsWithin(name string) (names []string) {
	m := x.meta().fields
	if _, declared := m.Field(name); declared && !m.IsObject(name) || slices.Contains(defaultField, name) {
		return nil
	}
	pattern := strings.Contains(name, "*")
	for i := range m.Fields() {
		f := &m.Fields()[i]
		if (strings.HasPrefix(f.Name, name+".") || pattern && matchPattern(name, f.Name)) && (f.HasTerms() || f.HasNumbers() || f.HasOrdinals()) {
			names = append(names, f.Name)
		}
	}
	return names
}

func (p *queryParser) ids(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("ids", raw, "values", "boost")
	if err != nil {
		return nil, err
	}
	return &query.IDs{IDs: o.texts("values"), Boost: o.boost()}, o.err
}

const idField = "_id"

// valueQuery reads {"field": "text"} and {"field": {key: "text", …}}. The field of "_id" is idField.
func (p *queryParser) valueQuery(of string, raw json.RawMessage, key string, known ...string) (field, text string, o object, err *Error) {
	name, value, err := single(of, raw)
	if err != nil {
		return "", "", o, err
	}
	if field = name; name != idField {
		if field, err = p.x.field(name); err != nil {
			return "", "", o, err.at(value)
		}
	}
	if !isObject(string(value)) {
		o.of = of
		o.raw, o.values = value, map[string]json.RawMessage{key: value}
	} else if o, err = options(of, value, append(known, key, "boost")...); err != nil {
		return "", "", o, err
	}
	text, ok := o.text(key)
	switch {
	case o.err != nil:
		return "", "", o, o.err
	case !ok:
		return "", "", o, badRequest(typeParsing, "[%s] query of field [%s] has no [%s]", of, name, key).at(value)
	}
	return field, text, o, nil
}

// termQuery is valueQuery of a field of terms.
func (p *queryParser) termQuery(of string, raw json.RawMessage, key string, known ...string) (field, text string, o object, err *Error) {
	field, text, o, err = p.valueQuery(of, raw, key, known...)
	if err == nil && field == idField {
		err = badRequest(typeShardException, "[%s] queries of [_id] are not supported: use [term], [terms] or [ids]", of).of(p.x.name)
	}
	return field, text, o, err
}

func (p *queryParser) term(raw json.RawMessage) (query.Node, *Error) {
	field, text, o, err := p.valueQuery("term", raw, "value", "case_insensitive")
	if err != nil {
		return nil, err
	}
	anyCased := o.boolean("case_insensitive", false)
	switch {
	case field == idField && anyCased:
		o.refuse("case_insensitive", "[term] query of [_id] has [case_insensitive] true: ids have a letter case")
		return nil, o.err
	case field == idField:
		return &query.IDs{IDs: []string{text}, Boost: o.boost()}, o.err
	case text == "":
		return &query.IDs{Boost: 1}, o.err // no term is empty
	case anyCased:
		return o.inAnyCase(field, anyCase(text)), o.err
	}
	return &query.Term{Field: field, Text: text, Boost: o.boost(), Exact: true}, o.err
}

func (p *queryParser) terms(raw json.RawMessage) (query.Node, *Error) {
	values, bad := decodeObject(raw)
	if bad != nil || values == nil {
		return nil, badRequest(typeParsing, "[terms] query malformed, want an object")
	}
	o := object{of: "terms", raw: raw, values: values}
	boost := o.boost()
	delete(values, "boost")
	if len(values) != 1 {
		return nil, wantOne("terms", "field", raw, values)
	}
	for name, raw := range values {
		if isObject(string(raw)) {
			return nil, badRequest(typeParsing, "[terms] query of field [%s] looks up the terms of a document (index, id, path), which is not supported: give an array of values", name).at(raw)
		}
		texts := o.list(name, raw)
		if o.err != nil {
			return nil, o.err
		}
		if name == idField {
			return &query.IDs{IDs: texts, Boost: boost}, nil
		}
		field, err := p.x.field(name)
		return &query.Terms{Field: field, Values: texts, Boost: boost}, err.at(raw)
	}
	return nil, nil
}

func (p *queryParser) prefix(raw json.RawMessage) (query.Node, *Error) {
	field, text, o, err := p.termQuery("prefix", raw, "value", "case_insensitive")
	if err != nil {
		return nil, err
	}
	if o.boolean("case_insensitive", false) {
		return o.inAnyCase(field, anyCase(text)+".*"), o.err
	}
	return &query.Prefix{Field: field, Text: text, Boost: o.boost(), Exact: true}, o.err
}

func (p *queryParser) wildcard(raw json.RawMessage) (query.Node, *Error) {
	key := "value"
	if _, value, err := single("wildcard", raw); err == nil {
		if o, err := decodeObject(value); err == nil && o["wildcard"] != nil {
			key = "wildcard"
		}
	}
	field, text, o, err := p.termQuery("wildcard", raw, key, "case_insensitive")
	if err != nil {
		return nil, err
	}
	if o.boolean("case_insensitive", false) {
		return o.inAnyCase(field, wildcardAnyCase(text)), o.err
	}
	return &query.Wildcard{Field: field, Pattern: text, Boost: o.boost(), Exact: true}, o.err
}

func (p *queryParser) regexp(raw json.RawMessage) (query.Node, *Error) {
	field, text, o, err := p.termQuery("regexp", raw, "value", "case_insensitive", "max_determinized_states")
	if err != nil {
		return nil, err
	}
	if o.boolean("case_insensitive", false) {
		text = regexpAnyCase(text)
	}
	states := o.whole("max_determinized_states", 10*query.DefaultStates)
	return &query.Regexp{Field: field, Pattern: text, Boost: o.boost(), Exact: true, MaxStates: states}, o.err
}

func (p *queryParser) fuzzy(raw json.RawMessage) (query.Node, *Error) {
	field, text, o, err := p.termQuery("fuzzy", raw, "value", "fuzziness", "prefix_length", "max_expansions", "transpositions")
	if err != nil {
		return nil, err
	}
	return &query.Fuzzy{Field: field, Text: text, Boost: o.boost(), Exact: true, Similarity: o.similarity()}, o.err
}

// former replaces a bound in the notation of former versions.
func (o *object) former(bound, include, inclusive, exclusive string) {
	key := inclusive
	if !o.boolean(include, true) {
		key = exclusive
	}
	raw, given := o.values[bound]
	switch {
	case !given && o.values[include] != nil:
		o.refuse(include, "[range] query has [%s] without [%s]", include, bound)
	case given && (o.values[inclusive] != nil || o.values[exclusive] != nil):
		o.refuse(bound, "[range] query has both [%s] and [%s] or [%s]", bound, inclusive, exclusive)
	case given:
		o.values[key] = raw
	}
}

func (p *queryParser) rangeQuery(raw json.RawMessage) (query.Node, *Error) {
	name, value, err := single("range", raw)
	if err != nil {
		return nil, err
	}
	o, err := options("range", value, "gt", "gte", "lt", "lte", "from", "to", "include_lower", "include_upper", "format", "time_zone", "boost")
	if err != nil {
		return nil, err
	}
	o.former("from", "include_lower", "gte", "gt")
	o.former("to", "include_upper", "lte", "lt")
	r := &query.Range{Boost: o.boost()}
	if r.Field, err = p.x.field(name); err != nil {
		return nil, err.at(value)
	}
	bound := func(inclusive, exclusive string, to *string, exclude *bool) {
		_, both := o.values[inclusive]
		if o.values[exclusive] != nil {
			if both {
				o.refuse(exclusive, "[range] query has both [%s] and [%s]", inclusive, exclusive)
			}
			inclusive, *exclude = exclusive, true
		}
		if raw := o.values[inclusive]; raw != nil && string(raw) != "null" {
			if *to = o.needed(inclusive); *to == "" {
				o.refuse(inclusive, "[range] query has an empty [%s]", inclusive)
			}
		} else {
			*exclude = false
		}
	}
	bound("gte", "gt", &r.From, &r.ExcludeFrom)
	bound("lte", "lt", &r.To, &r.ExcludeTo)
	r.Format, _ = o.text("format")
	r.Zone, _ = o.text("time_zone")
	return r, o.err
}
