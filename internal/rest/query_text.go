package rest

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/query"
)

// This file has the queries of texts, which are analysed.

var similarityKeys = []string{"fuzziness", "prefix_length", "max_expansions", "fuzzy_transpositions"}

// words sets the options of match queries.
func (o *object) words(w *query.Words) {
	w.Boost, w.Occur, w.AtLeast = o.boost(), o.occur("operator"), o.minimum()
	if o.values["fuzziness"] != nil {
		s := o.similarity()
		w.Similar = &s
	}
}

func (p *queryParser) match(raw json.RawMessage) (query.Node, *Error) {
	field, text, o, err := p.termQuery("match", raw, "query", append(similarityKeys, "operator", "minimum_should_match", "lenient")...)
	if err != nil {
		return nil, err
	}
	w := &query.Words{Field: field, Text: text}
	o.words(w)
	if o.lenient(p.x.meta().fields, field, text) {
		return &query.IDs{Boost: 1}, o.err
	}
	return w, o.err
}

func (p *queryParser) matchBoolPrefix(raw json.RawMessage) (query.Node, *Error) {
	field, text, o, err := p.termQuery("match_bool_prefix", raw, "query", append(similarityKeys, "operator", "minimum_should_match")...)
	if err != nil {
		return nil, err
	}
	w := &query.Words{Field: field, Text: text, Prefix: true}
	o.words(w)
	return w, o.err
}

func (p *queryParser) matchPhrase(raw json.RawMessage) (query.Node, *Error) {
	field, text, o, err := p.termQuery("match_phrase", raw, "query", "slop")
	if err != nil {
		return nil, err
	}
	return &query.Phrase{Field: field, Text: text, Boost: o.boost(), Slop: o.whole("slop", query.MaxSlop)}, o.err
}

func (p *queryParser) matchPhrasePrefix(raw json.RawMessage) (query.Node, *Error) {
	field, text, o, err := p.termQuery("match_phrase_prefix", raw, "query", "slop", "max_expansions")
	if err != nil {
		return nil, err
	}
	return p.wholeValues(&query.Phrase{
		Field: field, Text: text, Boost: o.boost(), Slop: o.whole("slop", query.MaxSlop), Prefix: true,
		MaxExpansions: o.whole("max_expansions", query.MaxClauses),
	}), o.err
}

// wholeValues makes phrases with a prefix terms in fields that are not texts, as OpenSearch does: their value is one term,
// which is not unfinished.
func (p *queryParser) wholeValues(node query.Node) query.Node {
	query.EachLeaf(node, func(leaf query.Node) {
		if phrase, ok := leaf.(*query.Phrase); ok && phrase.Prefix {
			f, declared := p.x.meta().fields.Field(phrase.Field)
			phrase.Prefix = !declared || f.Type == mapping.Text
		}
	})
	return node
}

// fields reads names such as "title", "title^2" and "ti*".
func (p *queryParser) fields(o *object) ([]query.FieldWeight, *Error) {
	var fields []query.FieldWeight
	for _, text := range o.texts("fields") {
		name, factor, weighted := strings.Cut(text, "^")
		weight := 1.0
		if weighted {
			var err error
			if weight, err = strconv.ParseFloat(factor, 64); err != nil || !(weight >= query.MinBoost && weight <= query.MaxBoost) {
				o.refuse("fields", "[%s] query has the field [%s]: want a factor from %g to %g after ^", o.of, text, query.MinBoost, float64(query.MaxBoost))
			}
		}
		names, err := p.fieldNames(name)
		if err != nil {
			return nil, err.at(o.values["fields"])
		}
		for _, n := range names {
			fields = append(fields, query.FieldWeight{Name: n, Weight: weight})
		}
	}
	if o.err == nil && len(fields) == 0 {
		o.refuse("fields", "[%s] query has no [fields]", o.of)
	}
	return fields, o.err
}

func (p *queryParser) fieldNames(name string) ([]string, *Error) {
	if !strings.Contains(name, "*") || slices.Contains(defaultField, name) {
		field, err := p.x.field(name)
		return []string{field}, err
	}
	var names []string
	for _, f := range p.x.meta().fields.Fields() {
		if ok, err := path.Match(name, f.Name); err == nil && ok && f.HasTerms() && !f.Type.Vector() {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return nil, badRequest(typeShardException, "failed to create query: no field is like [%s]", name).of(p.x.name)
	}
	return names, nil
}

func (p *queryParser) multiMatch(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("multi_match", raw, append(similarityKeys, "query", "fields", "type", "operator", "minimum_should_match", "tie_breaker", "slop", "lenient", "boost")...)
	if err != nil {
		return nil, err
	}
	fields := []query.FieldWeight{{}}
	if o.values["fields"] != nil {
		if fields, err = p.fields(&o); err != nil {
			return nil, err
		}
	}
	text, kind := o.needed("query"), "best_fields"
	if o.values["type"] != nil {
		kind, _ = o.text("type")
	}
	fields = slices.DeleteFunc(fields, func(f query.FieldWeight) bool { return o.lenient(p.x.meta().fields, f.Name, text) })
	boost := o.boost()
	tie := o.number("tie_breaker", 0, 0, 1)
	var leaf query.Node
	w := &query.Words{Text: text}
	switch kind {
	case "best_fields", "most_fields", "bool_prefix":
		o.words(w)
		w.Boost, w.Prefix, leaf = 1, kind == "bool_prefix", w
	case "cross_fields":
		leaf = acrossFields(&o, fields, text, boost)
	case "phrase", "phrase_prefix":
		leaf = &query.Phrase{
			Text: text, Boost: 1, Slop: o.whole("slop", query.MaxSlop), Prefix: kind == "phrase_prefix", MaxExpansions: o.whole("max_expansions", query.MaxClauses),
		}
	default:
		o.refuse("type", "[multi_match] query has the [type] %s: there are best_fields, most_fields, cross_fields, phrase, phrase_prefix, bool_prefix", kind)
	}
	switch {
	case o.err != nil:
		return nil, o.err
	case len(fields) == 0:
		return &query.IDs{Boost: 1}, nil
	case kind == "cross_fields":
		return leaf, nil
	}
	return p.wholeValues(inFields(leaf, fields, kind == "most_fields" || kind == "bool_prefix", tie, boost)), nil
}

// acrossFields is a multi_match over several fields as if they were one.
func acrossFields(o *object, fields []query.FieldWeight, text string, boost float64) query.Node {
	if tie := o.number("tie_breaker", 0, 0, 1); tie != 0 {
		o.refuse("tie_breaker", "[multi_match] query of type cross_fields has [tie_breaker] %g: only 0 is supported", tie)
	}
	for _, key := range append(similarityKeys, "slop") {
		if o.values[key] != nil {
			o.refuse(key, "[multi_match] query of type cross_fields does not support [%s]", key)
		}
	}
	return &query.Combined{Fields: fields, Text: text, Occur: o.occur("operator"), AtLeast: o.minimum(), Boost: boost, ByAnalyzer: true}
}

func (p *queryParser) combinedFields(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("combined_fields", raw, "query", "fields", "operator", "minimum_should_match", "boost")
	if err != nil {
		return nil, err
	}
	fields, err := p.fields(&o)
	if err != nil {
		return nil, err
	}
	return &query.Combined{Fields: fields, Text: o.needed("query"), Occur: o.occur("operator"), AtLeast: o.minimum(), Boost: o.boost()}, o.err
}

// inFields searches a leaf in each field: the scores are summed, or the best one counts.
func inFields(leaf query.Node, fields []query.FieldWeight, sum bool, tie, boost float64) query.Node {
	d, ok := query.InFields(leaf, fields, tie).(*query.DisMax)
	if !ok {
		return &query.Boolean{Clauses: []query.Clause{{Occur: query.Should, Node: query.InFields(leaf, fields, tie)}}, Boost: boost}
	}
	if d.Boost = boost; !sum {
		return d
	}
	b := query.Any(d.Nodes...)
	b.Boost = boost
	return b
}

// inZone sets the time zone of ranges of dates, also of excluded ones.
func (x *Index) inZone(node query.Node, zone string) {
	if b, ok := node.(*query.Boolean); ok {
		for _, c := range b.Clauses {
			x.inZone(c.Node, zone)
		}
		return
	}
	query.EachLeaf(node, func(leaf query.Node) {
		r, ok := leaf.(*query.Range)
		if !ok {
			return
		}
		if f, ok := x.meta().fields.Field(r.Field); ok && f.Type == mapping.Date {
			r.Zone = zone
		}
	})
}

func (p *queryParser) queryString(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("query_string", raw, "query", "default_operator", "default_field", "fields", "tie_breaker", "type", "minimum_should_match", "lenient", "time_zone", "boost")
	if err != nil {
		return nil, err
	}
	var fields []query.FieldWeight
	switch {
	case o.values["fields"] != nil && o.values["default_field"] != nil:
		o.refuse("default_field", "[query_string] query has both [default_field] and [fields]")
	case o.values["fields"] != nil:
		fields, err = p.fields(&o)
	case o.values["default_field"] != nil:
		var field string
		field, err = p.x.field(o.needed("default_field"))
		err = err.at(o.values["default_field"])
		fields = []query.FieldWeight{{Name: field}}
	}
	if err != nil {
		return nil, err
	}
	text, occur, lenient := o.needed("query"), o.occur("default_operator"), o.boolean("lenient", false)
	if o.err != nil {
		return nil, o.err
	}
	node, err := p.x.parseText(text, lenient)
	if err != nil {
		return nil, err.at(o.values["query"])
	}
	if m := o.minimum(); m != "" {
		if b, ok := node.(*query.Boolean); ok && b.AtLeast == "" && occur == query.Should {
			b.AtLeast = m
		}
	}
	node = query.WithOccur(node, occur)
	tie := o.number("tie_breaker", 0, 0, 1)
	switch kind, given := o.text("type"); {
	case given && kind == "cross_fields" && tie != 0:
		o.refuse("tie_breaker", "[query_string] query of type cross_fields has [tie_breaker] %g: only 0 is supported", tie)
	case given && kind == "cross_fields" && len(fields) == 0:
		o.fail("[query_string] query of type cross_fields needs [fields]")
	case given && kind == "cross_fields":
		node = query.Across(node, fields)
	case given && kind != "best_fields":
		o.refuse("type", "[query_string] query has the [type] %s: there are best_fields, cross_fields", kind)
	case fields != nil:
		node = query.InFields(node, fields, tie)
	}
	if zone, ok := o.text("time_zone"); ok {
		if _, err := mapping.ParseZone(zone); err != nil {
			o.refuse("time_zone", "[query_string] query has the [time_zone] %s: %v", zone, err)
		}
		p.x.inZone(node, zone)
	}
	if lenient {
		node = p.x.matchNothing(node)
	}
	return boosted(notOnlyExclusions(node), o.boost()), o.err
}

// notOnlyExclusions makes a query that only excludes match the other documents.
func notOnlyExclusions(node query.Node) query.Node {
	b, ok := node.(*query.Boolean)
	if !ok || len(b.Clauses) == 0 || slices.ContainsFunc(b.Clauses, func(c query.Clause) bool { return c.Occur != query.MustNot }) {
		return node
	}
	with := *b
	with.Clauses = append(slices.Clone(b.Clauses), query.Clause{Occur: query.Must, Node: &query.MatchAll{Boost: 1}})
	return &with
}

func boosted(node query.Node, boost float64) query.Node {
	if boost == 1 {
		return node
	}
	return &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: node}}, Boost: boost}
}

// fieldNames are the names that a query text may use.
func (x *Index) fieldNames() (names []string) {
	for _, f := range x.meta().fields.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// parseText parses a text in the language of package query. Unless lenient, what only looks like an operator
// or a field is an error.
func (x *Index) parseText(text string, lenient bool) (query.Node, *Error) {
	fields := x.fieldNames()
	rewritten := query.Lucene(text, fields)
	if lenient {
		node, _ := query.ParseLenient(rewritten, fields)
		return node, nil
	}
	node, remarks := query.ParseChecked(rewritten, fields, x.checkLeaf)
	if len(remarks) > 0 {
		fault := *remarks[0]
		if fault.Text != "" {
			fault.Text, fault.Offset = text, query.LuceneOffset(text, fields, fault.Offset)
		}
		return nil, badRequest(typeShardException, "Failed to parse query [%s]: %v", text, &fault).of(x.name)
	}
	if hints := query.StrictHints(rewritten, fields); len(hints) > 0 {
		return nil, badRequest(typeShardException, "Failed to parse query [%s]: %s", text, strings.Join(hints, "; ")).of(x.name)
	}
	return node, nil
}

// checkLeaf returns an error if a leaf of a query text cannot be searched.
func (x *Index) checkLeaf(leaf query.Node) error { return plan.CheckLeaf(x.meta().fields, leaf) }

// matchNothing puts a query without matches in the place of leaves that cannot be searched.
func (x *Index) matchNothing(node query.Node) query.Node {
	return query.MapLeaves(node, func(leaf query.Node) query.Node {
		if x.checkLeaf(leaf) != nil {
			return &query.IDs{Boost: 1}
		}
		return leaf
	})
}

// queryString is for the parameters q, default_operator and df of a URL.
func (x *Index) queryString(text, operator, field string) (q searchQuery, err *Error) {
	if !utf8.ValidString(text) {
		return q, illegal("[q] is not UTF-8: %.60q", text)
	}
	switch strings.ToLower(operator) {
	case "", "or":
		q.mode = griffin.ModeOr
	case "and":
		q.mode = griffin.ModeAnd
	default:
		return q, illegal("operator needs to be either OR or AND, but not [%s]", operator)
	}
	if q.node, err = x.parseText(text, false); err != nil {
		return q, err
	}
	if field != "" {
		if field, err = x.field(field); err != nil {
			return q, err
		}
		q.node = query.InFields(q.node, []query.FieldWeight{{Name: field}}, 0)
	}
	q.node = notOnlyExclusions(q.node)
	if all, ok := q.node.(*query.MatchAll); ok {
		q.all, q.boost = true, all.Boost
	}
	return q, nil
}

func (p *queryParser) simpleQueryString(raw json.RawMessage) (query.Node, *Error) {
	o, err := options("simple_query_string", raw, "query", "fields", "default_operator", "minimum_should_match", "boost")
	if err != nil {
		return nil, err
	}
	occur := o.occur("default_operator")
	node := query.ParseSimple(o.needed("query"), occur)
	if m := o.minimum(); m != "" {
		if b, ok := node.(*query.Boolean); ok {
			b.AtLeast = m
		}
	}
	if o.values["fields"] != nil {
		fields, err := p.fields(&o)
		if err != nil {
			return nil, err
		}
		node = query.InFields(node, fields, 1) // as Lucene, the sum of the fields
	}
	return boosted(node, o.boost()), o.err
}
